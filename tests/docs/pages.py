"""The pages of the documentation: where they are, what they link to, which of their blocks run."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import nephoscope

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r"^(?P<ticks>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)[ ]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
_RUNS = re.compile(
    r"<!-- runs in (?P<place>[^,>]+?)(?P<varies>, output varies)? -->\n```console\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_STUDY = re.compile(
    r"<!-- a study(?:, saved as (?P<name>[\w.-]+))? -->\n```toml\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
_GENERATED = re.compile(
    r"(?P<head><!-- generated: (?P<name>[a-z0-9-]+) -->\n)(?P<body>.*?)(?P<tail><!-- end of generated -->)", re.DOTALL
)


@dataclass(frozen=True)
class Command:
    """One command of a block, with the output that stands below it."""

    text: str
    output: str


@dataclass(frozen=True)
class Session:
    """A block of commands that runs: `<!-- runs in PLACE -->` above a `console` block."""

    place: str
    varies: bool
    """True: only that each command ends with 0 is held, as its output holds times or facts of the machine."""
    commands: tuple[Command, ...]


def name_of(page: Path) -> str:
    """A page as links write it."""
    return page.relative_to(ROOT).as_posix()


def without_code(text: str) -> str:
    """The text without fenced and inline code."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))


def links(text: str) -> list[str]:
    """Targets of all links and pictures, code left out; a link's words may hold code."""
    return [match["target"] for match in _LINK.finditer(_FENCE.sub("", text))]


def anchors(text: str) -> set[str]:
    """Anchors of all headings, as GitHub makes them."""
    found = (match["text"].strip().lower() for match in _HEADING.finditer(_FENCE.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "")).replace(" ", "-") for heading in found}


def blocks(text: str, language: str) -> list[str]:
    """Bodies of all fenced blocks of a language."""
    return [match["body"] for match in _FENCE.finditer(text) if match["info"].strip() == language]


def sessions(text: str) -> list[Session]:
    """Every block that runs, in order."""
    return [
        Session(match["place"], bool(match["varies"]), tuple(_commands(match["body"])))
        for match in _RUNS.finditer(text)
    ]


def _commands(body: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        length = 1
        while length < len(lines) and lines[length].startswith("> "):
            length += 1
        text = "".join([lines[0], *(line[2:] for line in lines[1:length])])
        yield Command(text.rstrip("\n"), "".join(lines[length:]))


def with_outputs(text: str, outputs: Mapping[str, str]) -> str:
    """The page with new outputs below its commands (command -> output); others keep theirs."""

    def replaced(match: re.Match[str]) -> str:
        body = "".join(
            f"$ {shown}\n{outputs.get(command.text, command.output)}"
            for command in _commands(match["body"])
            for shown in [command.text.replace("\n", "\n> ")]
        )
        return match[0].replace(match["body"], body)

    return _RUNS.sub(replaced, text)


def generated_names(text: str) -> list[str]:
    """Names of the generated parts of a page."""
    return [match["name"] for match in _GENERATED.finditer(text)]


def with_generated(text: str, parts: Mapping[str, str]) -> str:
    """The page with its generated parts made anew."""
    return _GENERATED.sub(lambda match: match["head"] + parts[match["name"]] + match["tail"], text)


def studies(text: str) -> list[tuple[str | None, str]]:
    """Every study a page shows, with the name it says to save it under."""
    return [(match["name"], match["body"]) for match in _STUDY.finditer(text)]


def place(session: Session, text: str, folder: Path) -> Path:
    """The folder a session of the page `text` runs in, below `folder`: sessions of one page share it.

    A new folder holds the studies that the page says to save. A folder of the repository is copied.
    """
    if session.place == "a new folder":
        made = folder / "new"
        if not made.exists():
            made.mkdir(parents=True)
            for name, study in studies(text):
                if name is not None:
                    (made / name).write_text(study, encoding="utf-8")
        return made
    copy = folder / session.place
    if not copy.exists():
        shutil.copytree(ROOT / session.place, copy)
    return copy


def environment(programs: Path) -> dict[str, str]:
    """What commands of a page run in; puts a `nephoscope` of this Python into the folder `programs`."""
    programs.mkdir(parents=True, exist_ok=True)
    script = programs / "nephoscope"
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom nephoscope.app.cli import main\nsys.exit(main())\n")
    script.chmod(0o755)
    beside_python = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(programs), beside_python, os.environ.get("PATH", "")]),
        "PYTHONPATH": str(Path(nephoscope.__file__).parents[1]),
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
    }


def run(command: Command, folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs one command in a shell; stderr and stdout together, as a reader sees them."""
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{command.text}"],
        cwd=folder,
        env=dict(variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
