"""Compares what the lock files pin with published advisories, and lists licences: `make audit`.

Python packages are looked up by pip-audit, crates in a copy of RustSec's advisory database, which is fetched to
build/audit and never committed. Without a network the last copy counts, with its age; without a copy that is told, and
the audit fails: nothing known is not the same as nothing wrong.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUSTSEC = "https://github.com/RustSec/advisory-db"
OLD_DAYS = 14
CRATES = ("load", "load/fuzz")
"""Folders with a Cargo.lock."""
_FRONT = re.compile(r"\s*```toml\n(.*?)\n```", re.DOTALL)
_PART = re.compile(r"(>=|<=|>|<|=|\^|~)?\s*(\d[^\s,]*)")


@dataclass(frozen=True, order=True)
class Crate:
    """A crate of Cargo.lock."""

    name: str
    version: str


@dataclass(frozen=True)
class Advisory:
    """What RustSec says about a crate."""

    id: str
    crate: str
    about: str
    """'unmaintained', 'unsound' or 'notice'; empty: a vulnerability."""
    unharmed: tuple[str, ...]
    """Requirements of versions that have the mending, or never had the defect."""


def crates(lock: str) -> list[Crate]:
    """All crates of a Cargo.lock that come from a registry."""
    packages: list[dict[str, Any]] = tomllib.loads(lock)["package"]
    return [Crate(one["name"], one["version"]) for one in packages if "source" in one]


def advisory(text: str) -> Advisory | None:
    """Of one file of RustSec's database; None if it was withdrawn."""
    found = _FRONT.match(text)
    if found is None:
        raise ValueError("an advisory begins with ```toml")
    document = tomllib.loads(found[1])
    one, versions = document["advisory"], document["versions"]
    if "withdrawn" in one:
        return None
    unharmed = (*versions.get("patched", ()), *versions.get("unaffected", ()))
    return Advisory(one["id"], one["package"], one.get("informational", ""), unharmed)


def harmed(pinned: Sequence[Crate], advisories: Sequence[Advisory]) -> Iterator[tuple[Crate, Advisory]]:
    """Crates of a version that an advisory is about."""
    for crate in pinned:
        for one in advisories:
            if one.crate == crate.name and not any(fits(crate.version, wanted) for wanted in one.unharmed):
                yield crate, one


def fits(version: str, requirement: str) -> bool:
    """Whether a version fulfils a requirement as Cargo writes it ('>= 1.2, < 2'), all parts of it."""
    return all(_fits_part(_key(version), sign or "^", wanted) for sign, wanted in _PART.findall(requirement))


def _fits_part(version: tuple[Any, ...], sign: str, wanted: str) -> bool:
    bound = _key(wanted)
    match sign:
        case ">=":
            return version >= bound
        case "<=":
            return version <= bound
        case ">":
            return version > bound
        case "<":
            return version < bound
        case "=":
            return version == bound
    given = wanted.split("-", maxsplit=1)[0].count(".") + 1
    place = min(given, 2) - 1 if sign == "~" else next((i for i in range(given) if bound[i]), given - 1)
    above = (*bound[:place], bound[place] + 1)
    return version >= bound and version[: place + 1] < above


def _key(version: str) -> tuple[Any, ...]:
    """Three numbers, then whether it is a release, then the parts of a pre-release: (1, 2, 0, False, 'rc', 1)."""
    release, _, pre = version.partition("+")[0].partition("-")
    numbers = [int(part) for part in release.split(".")]
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split(".")] if pre else []
    return (*numbers, *[0] * (3 - len(numbers)), not pre, *parts)


def fetched(source: str, copy: Path) -> str:
    """Gets a new copy of the database; returns why that was not possible, or an empty text."""
    new = copy.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    command = ["git", "clone", "--quiet", "--depth", "1", source, str(new)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return (done.stderr.strip() or f"git ended with {done.returncode}").splitlines()[-1]
    shutil.rmtree(copy, ignore_errors=True)
    new.rename(copy)
    return ""


def audit_crates(locks: Sequence[Path], source: str, copy: Path, now_unix_s: float) -> tuple[bool, list[str]]:
    """Crates against RustSec's advisories.

    Returns:
        Whether all is well: there is a copy that is not old, and no crate has a vulnerability; and lines to print.
    """
    why = fetched(source, copy)
    if not copy.exists():
        return False, [f"crates: there is no copy of the advisories, and none could be fetched: {why}"]
    log = ["git", "-C", str(copy), "log", "-1", "--format=%ct"]
    days = (now_unix_s - int(subprocess.run(log, capture_output=True, text=True, check=True).stdout)) / 86_400
    lines = [f"crates: not fetched anew: {why}"] if why else []
    if days > OLD_DAYS:
        lines.append(f"crates: the copy of the advisories is {days:.0f} days old; what came since is not in it")
    files = sorted((copy / "crates").glob("*/RUSTSEC-*.md"))
    advisories = [one for file in files if (one := advisory(file.read_text(encoding="utf-8"))) is not None]
    pinned = sorted({crate for lock in locks for crate in crates(lock.read_text(encoding="utf-8"))})
    found = list(harmed(pinned, advisories))
    lines += [f"crates: {crate.name} {crate.version}: {one.id} {one.about}".rstrip() for crate, one in found]
    bad = sum(not one.about for _, one in found)
    lines.append(f"crates: {len(pinned)} compared with {len(advisories):,} advisories: {bad} vulnerable")
    return not bad and days <= OLD_DAYS, lines


def audit_python(program: Sequence[str], lock: Path) -> tuple[bool, list[str]]:
    """Python packages as pip-audit judges them; the same pair."""
    command = [*program, "--disable-pip", "--require-hashes", "--format", "json", "--requirement", str(lock)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        packages = json.loads(done.stdout)["dependencies"]
    except FileNotFoundError as error:
        return False, [f"{lock.name}: pip-audit is missing: {error}"]
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return False, [f"{lock.name}: pip-audit could not compare the packages with advisories: {last[:300]}"]
    lines = [
        f"{lock.name}: {one['name']} {one['version']}: {found['id']}, fixed in {', '.join(found['fix_versions'])}"
        for one in packages
        for found in one.get("vulns", ())
    ]
    skipped = [one["skip_reason"] for one in packages if "skip_reason" in one]
    if skipped:
        lines.append(f"{lock.name}: {len(skipped)} packages could not be compared; the first: {skipped[0]}")
    bad = sum(bool(one.get("vulns")) for one in packages)
    lines.append(f"{lock.name}: {len(packages) - len(skipped)} packages compared: {bad} vulnerable")
    return not bad and not skipped, lines


def licences(lock: Path, cargo: Path) -> list[tuple[str, str]]:
    """Each Python package and crate with its licence as its own metadata says."""
    names = re.findall(r"^([A-Za-z0-9_.-]+)==", lock.read_text(encoding="utf-8"), re.MULTILINE)
    found = [(name, _licence(name)) for name in names]
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", str(cargo)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [*found, ("crates", f"not listed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")]
    packages = json.loads(done.stdout)["packages"]
    return found + [(f"{one['name']} (crate)", one["license"] or "not stated") for one in packages]


def _licence(name: str) -> str:
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return "not installed here"
    classified = [one.rpartition(" :: ")[2] for one in said.get_all("Classifier") or () if one.startswith("License ::")]
    stated = [*(said.get_all("License-Expression") or ()), "; ".join(classified), *(said.get_all("License") or ())]
    return next((line.strip()[:80] for one in stated for line in one.splitlines() if line.strip()), "not stated")


def main() -> int:
    """Prints what was found; 1 if something is vulnerable or could not be compared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pip-audit", default="pip-audit", help="the program")
    parser.add_argument("--advisories", default=RUSTSEC, help="where RustSec's database is cloned from")
    asked = parser.parse_args()
    place = ROOT / "build" / "audit"
    place.mkdir(parents=True, exist_ok=True)
    results = [
        audit_python([asked.pip_audit], ROOT / "requirements.lock"),
        audit_crates(
            [ROOT / one / "Cargo.lock" for one in CRATES], asked.advisories, place / "advisory-db", time.time()
        ),
    ]
    listed = licences(ROOT / "requirements.lock", ROOT / "load" / "Cargo.toml")
    (place / "licences.tsv").write_text("".join(f"{name}\t{said}\n" for name, said in listed), encoding="utf-8")
    for _, lines in results:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    counts = Counter(said for _, said in listed).most_common()
    sys.stdout.write("licences (each package in build/audit/licences.tsv):\n")
    sys.stdout.write("".join(f"  {count:4} {said}\n" for said, count in counts))
    return 0 if all(well for well, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
