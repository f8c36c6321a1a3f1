"""Writes generated parts and outputs of commands into the pages: `python -m tests.docs.regenerate`, in the repository.

Outputs are made anew for every block that runs and whose output does not vary.
"""

import sys
import tempfile
from pathlib import Path

from tests.docs import pages
from tests.docs.generated import parts


def main() -> int:
    """Rewrites every page that changed and says which."""
    made = parts()
    with tempfile.TemporaryDirectory() as temporary:
        variables = pages.environment(Path(temporary) / "programs")
        for number, page in enumerate(pages.PAGES):
            old = page.read_text(encoding="utf-8")
            outputs: dict[str, str] = {}
            for session in pages.sessions(old):
                folder = pages.place(session, old, Path(temporary) / str(number))
                for command in session.commands:
                    said = pages.run(command, folder, variables).stdout
                    if not session.varies:
                        outputs[command.text] = said
            new = pages.with_outputs(pages.with_generated(old, made), outputs)
            if new != old:
                page.write_text(new, encoding="utf-8")
                sys.stdout.write(f"wrote {pages.name_of(page)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
