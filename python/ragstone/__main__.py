"""`python -m ragstone`: the command line."""

import sys

from ragstone.cli import main

if __name__ == "__main__":
    sys.exit(main())
