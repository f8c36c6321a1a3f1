"""`python -m nephoscope`."""

import sys

from nephoscope.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
