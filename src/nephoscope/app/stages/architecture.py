"""What a plan checks of architectures: that each machine's image starts on it, and that a load generator runs there."""

from collections.abc import Iterator
from pathlib import Path

from nephoscope.app.wiring import load_program
from nephoscope.machines.remote import build_for
from nephoscope.model.errors import EnvironmentProblem, InputError
from nephoscope.prices.catalogue.index import architectures
from nephoscope.providers.cloud.check import architecture_of_image
from nephoscope.study.managed import study_as_provided
from nephoscope.study.model import Configuration, Machine, Study

_CALLED = {"amd64": "x86", "arm64": "Arm"}
_UNAME = {"amd64": "x86_64", "arm64": "aarch64"}


def require_images(study: Study) -> None:
    """Checks that the image of each cloud machine is for its type's architecture, as far as both are known.

    Raises:
        InputError: it would not start.
    """
    for configuration in study.configurations:
        starts: dict[str, tuple[str, Machine, str]] = {}
        for role, machine, architecture in _known(configuration):
            image = machine.image or (configuration.cloud.image if configuration.cloud else None)
            if image is None:
                continue
            said = architecture_of_image(image)
            if said is not None and said != architecture:
                raise InputError(
                    f"configuration {configuration.name!r}: the {role} machine {machine.type} is "
                    f"{_CALLED[architecture]} ({architecture}), but its image is for {_CALLED[said]} ({said}): {image}",
                    hint=f"name an image for {architecture}, in `cloud` or as `{role}_machine.image`",
                )
            first_role, first, other = starts.setdefault(image, (role, machine, architecture))
            if other != architecture:
                raise InputError(
                    f"configuration {configuration.name!r}: one image cannot start both the {first_role} machine "
                    f"{first.type} ({other}) and the {role} machine {machine.type} ({architecture}): {image}",
                    hint=f"set `{role}_machine.image` to an image for {architecture}",
                )


def require_builds(study: Study, program: Path | None = None) -> None:
    """Checks that there is a load generator for every cloud machine, because it also records their telemetry.

    Args:
        study: what is to be measured.
        program: the load generator of this installation; default: where it is.

    Raises:
        EnvironmentProblem: one is missing.
    """
    program = program or Path(load_program())
    for configuration in study_as_provided(study).configurations:
        for role, machine, architecture in _known(configuration):
            try:
                build_for(program, _UNAME[architecture])
            except EnvironmentProblem as error:
                raise EnvironmentProblem(
                    f"configuration {configuration.name!r}, {role} machine {machine.type}: {error.message}",
                    hint=error.hint,
                ) from error


def missing_build(study: Study) -> EnvironmentProblem | None:
    """What `require_builds` finds missing, for callers that say more before they end with it."""
    try:
        require_builds(study)
    except EnvironmentProblem as error:
        return error
    return None


def _known(configuration: Configuration) -> Iterator[tuple[str, Machine, str]]:
    """Each role whose machine type is in the catalogue, with its architecture."""
    for role, machine in (("database", configuration.database_machine), ("load", configuration.load_machine)):
        if machine is not None and machine.type is not None:
            architecture = architectures().get((configuration.provider, machine.type))
            if architecture is not None:
                yield role, machine, architecture
