"""Which build of the load generator runs on a machine: builds of another architecture lie beside the program."""

import platform
from pathlib import Path

from nephoscope.model.errors import EnvironmentProblem


def build_for(program: Path, machine: str) -> Path:
    """The build for a machine whose `uname -m` is `machine`: one without libraries, if there is one.

    `make static` puts `nephoscope-load-static` beside the program, and `make static ARCH=aarch64`
    `nephoscope-load-static-aarch64`.

    Raises:
        EnvironmentProblem: there is none for that architecture.
    """
    own = platform.machine()
    static = program.with_name(f"{program.name}-static" if machine == own else f"{program.name}-static-{machine}")
    if static.exists():
        return static
    if machine == own:
        return program
    raise EnvironmentProblem(
        f"there is no build of {program.name} for {machine}, only for {own}",
        hint=f"run `make static ARCH={machine}` in the checkout: it writes {static}",
    )
