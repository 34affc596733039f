"""The command line: `ragstone ingest`, `ragstone search`, `ragstone info`.

Results go to standard output, everything else to standard error. Exit codes: 0 all went well, 1 it failed or some
documents did, 2 the command was used wrongly, 130 interrupted by Ctrl-C.
"""

from ragstone.cli.main import main

__all__ = ["main"]
