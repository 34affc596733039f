"""The command's entry point: runs a subcommand and turns what it raises into one line and an exit code."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from typing import Final

from ragstone.cli.arguments import build_parser
from ragstone.errors import ConfigurationError, InvalidInputError, MissingDependencyError, RagError

__all__ = ["main"]

_OK: Final = 0
_FAILED: Final = 1
_WRONG_USAGE: Final = 2
_INTERRUPTED: Final = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: The arguments; those of the process when left out.

    Returns:
        The exit code: 0, 1 for a failure, 2 for wrong usage, 130 for Ctrl-C.
    """
    arguments = build_parser().parse_args(argv)
    from ragstone.cli import output

    # What a user should know is printed as one line; the log, with its stack traces, is for --verbose.
    logging.basicConfig(level=logging.INFO if arguments.verbose else logging.CRITICAL + 1)
    try:
        return _FAILED if arguments.run(arguments) else _OK
    except KeyboardInterrupt:
        output.complain("interrupted; nothing is half done: repeat the command to go on")
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output, such as `head`, has seen enough; a flush at exit must not complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except RagError as error:
        output.complain(str(error))
        wrong_usage = isinstance(error, (ConfigurationError, InvalidInputError))
        return _WRONG_USAGE if wrong_usage and not isinstance(error, MissingDependencyError) else _FAILED
