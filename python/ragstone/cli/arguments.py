"""What the command line takes; imports nothing heavy, so that `--help` and a wrong option answer at once."""

from __future__ import annotations

import argparse
from typing import Any, Final, NoReturn

from ragstone.cli.typed import parse_pair
from ragstone.engine.version import __version__

__all__ = ["build_parser"]

_EXIT_CODES: Final = """\
exit codes:
  0    all went well
  1    it failed, or some documents did
  2    wrong usage
  130  interrupted
"""

_ENVIRONMENT: Final = """\
environment:
  RAGSTONE_BASE_URL       the service, where --base-url is left out
  RAGSTONE_MODEL          the model, where --model is left out
  RAGSTONE_API_KEY        the service's key; OPENAI_API_KEY for OpenAI
"""

_PAIRS: Final = """\
KEY=TEXT is a string, KEY:=VALUE any other kind; kinds never equal each other:
  department=hr           a string
  year:=2026              a number
  draft:=false            a boolean
  updated:=2026-01-31     a date or a time, UTC unless it says otherwise
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"ragstone: {message} (see: {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; its result carries the subcommand's function as `run`."""
    parser = _Parser(
        prog="ragstone",
        description="Take documents in, find the right chunks, and ask a model about them.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"ragstone {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_ingest(commands)
    _add_search(commands)
    _add_ask(commands)
    _add_info(commands)
    return parser


def _command(commands: Any, name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary, epilog=epilog)
    parser.add_argument("--index", metavar="DIR", required=True, help="the directory of the index")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.add_argument("--verbose", action="store_true", help="show the log, with the causes of errors")
    return parser


def _add_ingest(commands: Any) -> None:
    summary = "Take in files, directories and glob patterns; skip what has not changed."
    parser = _command(commands, "ingest", summary, f"{_PAIRS}\n{_EXIT_CODES}")
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file, a directory or a glob pattern")
    parser.add_argument(
        "--tag",
        metavar="KEY=VALUE",
        dest="tags",
        type=parse_pair,
        action="append",
        default=[],
        help="metadata for every document, repeatable, to filter by",
    )
    parser.add_argument("--chunk-size", metavar="N", type=int, default=512, help="characters in a chunk (512)")
    parser.add_argument("--overlap", metavar="N", type=int, default=50, help="characters that chunks share (50)")
    parser.add_argument("--no-embed", action="store_true", help="make an index for keyword search only")
    parser.set_defaults(run=_ingest)


def _add_search(commands: Any) -> None:
    summary = "Search an index by meaning, or by keywords where it has no vectors."
    parser = _command(commands, "search", summary, f"{_PAIRS}\n{_EXIT_CODES}")
    parser.add_argument("query", metavar="QUERY", help="what to look for, in words")
    _add_retrieval(parser)
    parser.add_argument("--explain", action="store_true", help="say why each chunk came and why others did not")
    parser.set_defaults(run=_search)


def _add_ask(commands: Any) -> None:
    summary = "Ask a chat model a question about the documents of an index."
    parser = _command(commands, "ask", summary, f"{_ENVIRONMENT}\n{_PAIRS}\n{_EXIT_CODES}")
    parser.add_argument("query", metavar="QUESTION", help="what to ask, in words")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible service")
    parser.add_argument("--model", metavar="NAME", help="the model's name at the service")
    parser.add_argument("--temperature", metavar="T", type=float, help="from 0 to 2; the model's own when left out")
    parser.add_argument("--system-prompt", metavar="TEXT", help="takes the place of the usual one")
    parser.add_argument("--timeout", metavar="S", type=float, default=60.0, help="seconds to wait for the model (60)")
    _add_retrieval(parser)
    parser.set_defaults(run=_ask)


def _add_retrieval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--top-k", metavar="N", type=int, default=5, help="how many chunks at most (5)")
    parser.add_argument("--hybrid", action="store_true", help="search by meaning and by keywords, and fuse the two")
    parser.add_argument("--mmr", action="store_true", help="prefer chunks that differ from those above them")
    parser.add_argument(
        "--filter",
        metavar="KEY=VALUE",
        dest="filters",
        type=parse_pair,
        action="append",
        default=[],
        help="only chunks whose metadata equal this, repeatable",
    )
    parser.add_argument("--max-tokens", metavar="N", type=int, help="a budget for all chunks in cl100k tokens")


def _add_info(commands: Any) -> None:
    parser = _command(commands, "info", "Say what is in an index and what it was made with.", _EXIT_CODES)
    parser.set_defaults(run=_info)


def _ingest(arguments: argparse.Namespace) -> bool:
    from ragstone.cli.ingest import run

    return run(arguments)


def _search(arguments: argparse.Namespace) -> bool:
    from ragstone.cli.search import run

    return run(arguments)


def _ask(arguments: argparse.Namespace) -> bool:
    from ragstone.cli.ask import run

    return run(arguments)


def _info(arguments: argparse.Namespace) -> bool:
    from ragstone.cli.info import run

    return run(arguments)
