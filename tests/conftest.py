"""Shared by every test: hypothesis profiles, and the ledger of rows that `make rows` prints."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", max_examples=100, deadline=None)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

BEHAVIOURS = Path(__file__).parent.parent / "docs" / "behaviours.md"


def read_rows(page: str) -> tuple[list[str], list[str]]:
    """The IDs of the rows in the tables of docs/behaviours.md: those that hold now, and those under "Planned"."""
    built, _, planned = page.partition("\n## Planned\n")
    return re.findall(r"^\| ([A-Z]\d+) \|", built, re.MULTILINE), re.findall(
        r"^\| ([A-Z]\d+) \|", planned, re.MULTILINE
    )


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of a real Redis server that lives as long as the tests run."""
    from support.redis_server import running_redis

    with running_redis() as url:
        yield url


@pytest.fixture(scope="session")
def chroma_url() -> Iterator[str]:
    """The URL of a real Chroma server that lives as long as the tests run."""
    from support.chroma_server import running_chroma

    with running_chroma() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a real PostgreSQL with pgvector that lives as long as the tests run."""
    from support.postgres_server import running_postgres

    with running_postgres() as server:
        yield server.url


class Ledger:
    """Which tests claim which rows and cases, and how they ended."""

    def __init__(self) -> None:
        self.rows, self.planned = read_rows(BEHAVIOURS.read_text(encoding="utf-8"))
        self.claims: dict[str, set[str]] = defaultdict(set)
        self.cases: dict[str, set[str]] = defaultdict(set)
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for marker in item.iter_markers("row"):
                for row in marker.args:
                    if row not in self.rows and row not in self.planned:
                        raise pytest.UsageError(
                            f"{item.nodeid} proves row {row!r}, which {BEHAVIOURS.name} does not have"
                        )
                    self.claims[row].add(item.nodeid)
            for marker in item.iter_markers("case"):
                for case in marker.args:
                    self.cases[case].add(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def holds(self, tests: set[str]) -> bool:
        """Whether at least one of the tests passed and none failed."""
        return bool(tests & self.passed) and not tests & self.failed

    @property
    def unproven(self) -> list[str]:
        return [row for row in self.rows if not self.holds(self.claims[row])]


class RowReport:
    """With `--rows`: prints the ledger, and fails the run when a row that should hold has no passing test."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.ledger.unproven and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        ledger, write = self.ledger, terminalreporter.write_line
        terminalreporter.section("rows")
        proven = len(ledger.rows) - len(ledger.unproven)
        write(f"{proven} of {len(ledger.rows)} rows have a passing test; {len(ledger.planned)} are planned")
        write(f"{sum(map(ledger.holds, ledger.cases.values()))} of {len(ledger.cases)} known cases pass")
        for row in ledger.unproven:
            tests = ledger.claims[row]
            write(f"  {row}: {'no test' if not tests else f'{len(tests & ledger.failed)} of {len(tests)} tests fail'}")
        if ledger.planned:
            write(f"planned: {' '.join(ledger.planned)}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rows", action="store_true", help="print the rows of docs/behaviours.md without a passing test")


def pytest_configure(config: pytest.Config) -> None:
    ledger = Ledger()
    config.pluginmanager.register(ledger, "row-ledger")
    if config.getoption("--rows"):
        config.pluginmanager.register(RowReport(ledger), "row-report")
