"""Markdown from a run's results: tables for the terminal, and the page `docs/performance.md`.

python -m benches.report .bench/results/RUN.jsonl …                                # the tables of one run or more
python -m benches.report .bench/results/RUN.jsonl --output docs/performance.md     # the page
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benches.figures import Absence, Check, Measurement, ratio
from benches.harness import OURS

__all__ = ["Run", "page", "tables"]

_DISTURBED = "†"

_INTRODUCTION = """\
What Ragstone's parts cost beside what a Python programmer would take instead, measured side by side. `make bench`
prints the same tables for your machine. This page is made by `python -m benches.report` from the results of the
commands below; no figure in it is typed by hand."""

_GLANCE = """\
What was asked of the engines beside what was reached: how many times better Ragstone's figure is than a peer's, or its
own figure where that has a bound. The tables further down have everything that was measured."""

_METHOD = """\
Every peer runs in a process of its own. The processes are asked for one round at a time, in turn and in a new order
each time, so that no two ever run at once and whatever drifts drifts for all. {quiet} A time is wall time of one call
as a user makes it, Python objects in and out, everything else as each package has it by default. Answers are compared
before anything is timed: what has the same definition must give the same result, or the run fails.

*Median* is that of the rounds, each the median or the rate of its calls; *range* is the lowest and the highest round.
*Ragstone is* says how many times better Ragstone's figure is, the median over the rounds; below 1 it is worse.
Absolute figures say as much about the machine as about the software: compare within a table."""


@dataclass(frozen=True, slots=True)
class Run:
    """What runs found: the circumstances of each, their figures, the checks before them, the peers left out."""

    about: list[dict[str, Any]]
    figures: list[Measurement] = field(default_factory=list[Measurement])
    checks: list[Check] = field(default_factory=list[Check])
    absences: list[Absence] = field(default_factory=list[Absence])

    @classmethod
    def load(cls, *paths: Path) -> Run:
        """Read files of results as one run; what a later one measured again replaces what an earlier one has."""
        lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
        figures = [Measurement.from_json(line["figure"]) for line in lines if "figure" in line]
        checks = [Check(**line["check"]) for line in lines if "check" in line]
        absences = [Absence(**line["absence"]) for line in lines if "absence" in line]
        return cls(
            [line["run"] for line in lines if "run" in line],
            list({(figure.task, figure.metric, figure.peer): figure for figure in figures}.values()),
            list({(check.task, check.what, check.peer): check for check in checks}.values()),
            list({(absence.task, absence.peer): absence for absence in absences}.values()),
        )

    @property
    def tasks(self) -> list[str]:
        """The tasks that have figures, in the order in which they ran."""
        return list(dict.fromkeys(figure.task for figure in self.figures))

    def by_metric(self, task: str) -> dict[str, list[Measurement]]:
        """Return the figures of a task under what they measure, Ragstone's first."""
        found: dict[str, list[Measurement]] = {}
        for figure in self.figures:
            if figure.task == task:
                found.setdefault(figure.metric, []).append(figure)
        return {metric: sorted(figures, key=lambda figure: figure.peer != OURS) for metric, figures in found.items()}


def tables(run: Run) -> str:
    """Return every task's checks and figures."""
    return "\n".join(line for task in run.tasks for line in ("", f"## {_script(task).TITLE}", "", *_task(run, task)))


def page(run: Run) -> str:
    """Return the page for the documentation."""
    first, *_ = run.about
    lines = [
        "# Performance",
        "",
        _INTRODUCTION,
        "",
        "## At a glance",
        "",
        _GLANCE,
        "",
        *_glance(run),
        "",
        "## How it is measured",
        "",
        _METHOD.format(quiet=_quiet(first)),
        "",
        *_table(("", ""), ((f"**{name}**", value) for name, value in first["machine"].items())),
        "",
        f"Versions: {_named(first['versions'])}.",
        "",
        *map(_command, run.about),
        *(f"\n{documents}" for documents in dict.fromkeys(map(_documents, run.about))),
    ]
    for task in run.tasks:
        script = _script(task)
        lines += ["", f"## {script.TITLE}", "", script.ABOUT, "", *_task(run, task)]
    return "\n".join(lines) + "\n"


def _command(about: dict[str, Any]) -> str:
    """Say what one run was."""
    return (
        f"- `{about['command']}` on {about['date']}: rounds a figure {about['repeats']}, seconds a round "
        f"{about['budget']:g}."
    )


def _documents(about: dict[str, Any]) -> str:
    """Say on which documents one run measured."""
    texts = (
        f"the lines of a file, {about['corpus']}"
        if about["corpus"]
        else f"pieces, at most 512 characters long, of the documentation in {_named(about['sources'])}"
    )
    return f"The {about['documents']:,} documents are {texts}; the questions are made from their words."


def _quiet(about: dict[str, Any]) -> str:
    """Say what was done about other programs on the machine."""
    patience, tries = about["patience"], about["tries"]
    waited = f"Before a round the harness waits up to {patience:g} s for a quiet machine. " if patience else ""
    repeated = f"measured again, up to {tries} times in all, and marked {_DISTURBED} where that did not help"
    done = repeated if tries > 1 else f"marked {_DISTURBED}"
    return f"{waited}A round during which other programs used a fifth of a core or more is {done}."


def _named(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _script(task: str) -> Any:
    return importlib.import_module(f"benches.{task}")


def _task(run: Run, task: str) -> Iterator[str]:
    for check in run.checks:
        if check.task == task:
            yield f"- Checked against {check.peer}, {check.what}: {check.result}."
    for absence in run.absences:
        if absence.task == task:
            yield f"- Not measured: {absence.peer} ({absence.reason})."
    yield ""
    rows = (row for figures in run.by_metric(task).values() for row in _rows(figures))
    yield from _table(("measured", "peer", "median", "range", "Ragstone is"), rows, right=3)


def _rows(figures: list[Measurement]) -> Iterator[tuple[str, ...]]:
    ours = figures[0]
    for figure in figures:
        label = f"{figure.metric}, {figure.unit}" if figure is ours else ""
        median = _number(figure.median) + (_DISTURBED if figure.disturbed else "")
        spread = f"{_number(min(figure.rounds))} – {_number(max(figure.rounds))}" if len(figure.rounds) > 1 else ""
        yield label, _labelled(figure), median, spread, "" if figure is ours else _times(ours, figure)


def _glance(run: Run) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    for task in run.tasks:
        title = _script(task).TITLE
        for metric, figures in run.by_metric(task).items():
            label = metric
            for figure in figures:
                if figure.goal is not None:
                    rows.append((title, label, *_against_goal(figures[0], figure, figure.goal)))
                    title = label = ""
    return _table(("", "measured", "beside", "Ragstone is", "goal", ""), rows)


def _against_goal(ours: Measurement, figure: Measurement, goal: float) -> tuple[str, str, str, str]:
    """Return what Ragstone is compared with, how it does, what is asked for, and whether that is missed."""
    if figure is ours:
        bound, met = ("≥", ours.median >= goal) if ours.more_is_better else ("≤", ours.median <= goal)
        unit = ours.unit if ours.unit == "×" else f" {ours.unit}"
        return "", f"**{_number(ours.median)}{unit}**", f"{bound} {_plain(goal)}{unit}", "" if met else "missed"
    met = ratio(ours, figure) >= goal
    return _labelled(figure), _times(ours, figure), f"{_plain(goal)}×", "" if met else "missed"


def _labelled(figure: Measurement) -> str:
    return f"{figure.peer} ({figure.note})" if figure.note else figure.peer


def _times(ours: Measurement, theirs: Measurement) -> str:
    return f"**{_number(ratio(ours, theirs))}×**" if ours.peer == OURS else ""


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, right: int = 0) -> Iterator[str]:
    """Yield a Markdown table with columns of even width, the last `right` of them flush right."""
    cells = [header, *rows]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(header))]
    left = len(header) - right
    for place, row in enumerate(cells):
        padded = (
            text.ljust(width) if column < left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield f"| {' | '.join(padded)} |"
        if place == 0:
            rule = ("-" * width if column < left else "-" * (width - 1) + ":" for column, width in enumerate(widths))
            yield f"| {' | '.join(rule)} |"


def _plain(goal: float) -> str:
    return f"{goal:,.2f}".rstrip("0").rstrip(".")


def _number(value: float) -> str:
    """Write a figure with about three significant digits."""
    digits = next((digits for least, digits in ((100, 0), (10, 1), (1, 2)) if value >= least), 3)
    return f"{value:,.{digits}f}"


def main() -> None:
    """Print the tables of a run, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, help="write the documentation page here")
    arguments = parser.parse_args()
    run = Run.load(*arguments.results)
    if arguments.output:
        arguments.output.write_text(page(run), encoding="utf-8", newline="\n")
    else:
        print(tables(run))


if __name__ == "__main__":
    main()
