"""The benchmarks' own arithmetic and machinery: a wrong ratio would be a wrong claim."""

from __future__ import annotations

import json
import sys
import zipfile
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest
from benches import corpus, extraction, report
from benches.figures import Absence, Check, Measurement, overlap, percentile, rate, ratio, same_ranking
from benches.harness import PeerError, Round, Session, Settings, Worker, in_turn
from benches.worker import built, seconds_each
from hypothesis import given
from hypothesis import strategies as st


def figure(
    peer: str, *rounds: float, more_is_better: bool = False, disturbed: int = 0, goal: float | None = None
) -> Measurement:
    return Measurement(
        task="tokens",
        peer=peer,
        metric="pages",
        unit="ms",
        rounds=rounds,
        more_is_better=more_is_better,
        disturbed=disturbed,
        goal=goal,
    )


class TestFigures:
    def test_a_percentile_is_one_of_the_values(self) -> None:
        assert percentile([5.0, 1.0, 3.0], 50) == 3.0
        assert percentile([1.0, 2.0, 3.0, 4.0], 50) == 2.0
        assert percentile(list(map(float, range(1, 101))), 99) == 99.0
        assert percentile([7.0], 99) == 7.0

    def test_a_rate_counts_the_time_of_all_calls(self) -> None:
        assert rate([0.1, 0.3]) == pytest.approx(5.0)

    def test_a_ratio_says_how_many_times_better_ours_is(self) -> None:
        assert ratio(figure("ragstone", 2.0), figure("peer", 6.0)) == 3.0
        rates = figure("ragstone", 2.0, more_is_better=True), figure("peer", 6.0, more_is_better=True)
        assert ratio(*rates) == pytest.approx(1 / 3)

    def test_a_ratio_pairs_the_rounds_that_were_measured_side_by_side(self) -> None:
        # The machine was twice as slow in the second round, for both.
        assert ratio(figure("ragstone", 1.0, 2.0, 1.0), figure("peer", 3.0, 6.0, 3.0)) == 3.0

    def test_with_other_numbers_of_rounds_the_medians_are_compared(self) -> None:
        assert ratio(figure("ragstone", 1.0), figure("peer", 2.0, 4.0, 9.0)) == 4.0

    def test_an_overlap_is_the_mean_share_of_common_ids(self) -> None:
        assert overlap([[1, 2], [3, 4]], [[2, 1], [4, 9]]) == 0.75
        assert overlap([[1]], [[1, 2, 3, 4]]) == 0.25
        assert overlap([[]], [[]]) == 1.0

    def test_a_measurement_survives_json(self) -> None:
        measured = figure("ragstone", 1.23456789, 20.0, disturbed=1, goal=3.0)
        again = Measurement.from_json(json.loads(json.dumps(measured.to_json())))
        assert again == figure("ragstone", 1.2346, 20.0, disturbed=1, goal=3.0)


class TestSameRanking:
    OURS = ((1, 3.0), (2, 2.0), (3, 1.0))

    def test_equal_within_the_tolerance(self) -> None:
        assert same_ranking(self.OURS, [(1, 3.00001), (2, 2.0), (3, 1.0)], tolerance=1e-5)

    def test_another_score_is_another_ranking(self) -> None:
        assert not same_ranking(self.OURS, [(1, 3.1), (2, 2.0), (3, 1.0)], tolerance=1e-5)

    def test_another_document_is_another_ranking(self) -> None:
        assert not same_ranking(self.OURS, [(9, 3.0), (2, 2.0), (3, 1.0)], tolerance=1e-5)

    def test_a_missing_hit_is_another_ranking(self) -> None:
        assert not same_ranking(self.OURS, self.OURS[:2], tolerance=1e-5)

    def test_ties_may_change_places_and_be_cut_differently(self) -> None:
        tied = [(1, 2.0), (2, 2.0), (3, 1.0)]
        assert same_ranking(tied, [(2, 2.0), (1, 2.0), (4, 1.0)], tolerance=1e-5)

    def test_a_swap_of_different_scores_is_another_ranking(self) -> None:
        assert not same_ranking(self.OURS, [(2, 3.0), (1, 2.0), (3, 1.0)], tolerance=1e-5)


class StubWorker:
    """Answers rounds with the foreign loads that it was given, or fails."""

    def __init__(self, *foreign: float, fails: bool = False) -> None:
        self.rounds = [Round(number, load) for number, load in enumerate(foreign)]
        self.fails = fails

    def call(self, method: str, **arguments: object) -> Round:
        if self.fails:
            raise PeerError(method)
        return self.rounds.pop(0)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    settings = Settings(
        python=sys.executable,
        data=tmp_path,
        corpus="",
        documents=10,
        vectors=10,
        chunks=5,
        repeats=2,
        budget=0.01,
        threads=1,
        patience=0.0,
        tries=3,
        quick=True,
    )
    lines: list[dict[str, object]] = []
    made = Session("fusion", settings, lines.append)
    made.lines = lines
    return made


class TestSession:
    def test_a_quiet_round_is_measured_once(self, session: Session) -> None:
        worker = StubWorker(0.0, 0.0)
        assert session.measure(worker, "time") == Round(0, 0.0)
        assert len(worker.rounds) == 1

    def test_of_disturbed_rounds_the_least_disturbed_counts(self, session: Session) -> None:
        assert session.measure(StubWorker(0.9, 0.3, 0.7), "time") == Round(1, 0.3)

    def test_a_disturbed_round_is_measured_until_it_is_quiet(self, session: Session) -> None:
        worker = StubWorker(0.9, 0.0, 0.9)
        assert session.measure(worker, "time") == Round(1, 0.0)
        assert len(worker.rounds) == 1

    def test_a_peer_that_fails_is_left_out_and_named(
        self, session: Session, capsys: pytest.CaptureFixture[str]
    ) -> None:
        taken = session.rounds({"good": StubWorker(0.0, 0.0), "bad": StubWorker(fails=True)}, "time_add")
        assert list(taken) == ["good"]
        assert len(taken["good"]) == 2
        assert "time_add" in capsys.readouterr().err

    def test_a_figure_records_its_disturbed_rounds(self, session: Session) -> None:
        session.record("pages", "ms", {"ragstone": [Round(1.0, 0.0), Round(3.0, 0.5)]}, float)
        (line,) = session.lines
        measured = Measurement.from_json(line["figure"])
        assert (measured.median, measured.disturbed) == (2.0, 1)

    def test_figures_of_other_documents_are_named_after_them(self, session: Session) -> None:
        session.settings = replace(session.settings, corpus="summaries")
        session.record("pages", "ms", {"ragstone": [Round(1.0, 0.0)]}, float, goals={"ragstone": 2.0})
        session.check("peer", "ten hits", "all equal")
        figured, checked = session.lines
        assert Measurement.from_json(figured["figure"]).metric == "summaries: pages"
        assert figured["figure"]["goal"] == 2.0
        assert checked["check"]["what"] == "summaries: ten hits"

    def test_equal_rankings_are_written_and_others_end_the_task(self, session: Session) -> None:
        ours, other = [[(1, 2.0), (2, 1.0)]], [[(1, 2.0), (3, 0.5)]]
        session.check_rankings("ten hits", {"ragstone": ours, "peer": ours})
        assert [line["check"]["peer"] for line in session.lines] == ["peer"]
        with pytest.raises(PeerError, match="only 0 of 1 rankings equal those of peer: ten hits"):
            session.check_rankings("ten hits", {"ragstone": ours, "peer": other})

    def test_a_peer_that_does_not_load_is_left_out_and_recorded(
        self, session: Session, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with session:
            workers = session.loaded(["rrf/a dictionary", "mmr/numpy by hand"], length=3)
            assert list(workers) == ["rrf/a dictionary"]
        (line,) = session.lines
        assert line["absence"]["peer"] == "mmr/numpy by hand"
        assert "length" in line["absence"]["reason"]
        assert "left out" in capsys.readouterr().err

    def test_a_peer_that_does_not_build_is_left_out_and_ragstone_never(
        self, session: Session, capsys: pytest.CaptureFixture[str]
    ) -> None:
        class Failing(StubWorker):
            def close(self) -> None:
                pass

        workers = {"ragstone": StubWorker(0.0), "peer": Failing(fails=True)}
        assert list(session.built(workers)) == list(workers) == ["ragstone"]
        assert "peer is left out: time_build" in capsys.readouterr().err
        with pytest.raises(PeerError, match="time_build"):
            session.built({"ragstone": StubWorker(fails=True)})

    def test_every_repeat_has_an_order_of_its_own_and_every_run_the_same(self) -> None:
        peers = ["a", "b", "c", "d"]
        orders = [in_turn(peers, repeat) for repeat in range(8)]
        assert orders == [in_turn(peers, repeat) for repeat in range(8)]
        assert all(sorted(order) == peers for order in orders)
        assert len(set(map(tuple, orders))) > 1

    def test_a_worker_answers_from_a_process_of_its_own(self, session: Session) -> None:
        with session, session.start("rrf/a dictionary") as worker:
            worker.call("load", length=3)
            assert len(worker.call("order").result) >= 3
            with pytest.raises(PeerError, match="no_such_method"):
                worker.call("no_such_method")

    def test_a_worker_that_ended_is_an_error(self, session: Session) -> None:
        worker = Worker(session.settings.python, "fusion", "no such peer", threads=1)
        with worker, pytest.raises(PeerError, match="ended with code 1"):
            worker.call("load", length=3)


class TestTiming:
    def test_the_first_input_is_warmed_up_and_each_input_timed_once(self) -> None:
        seen: list[int] = []
        assert len(seconds_each(seen.append, [0, 1, 2], budget=60.0)) == 3
        assert seen == [0, 0, 1, 2]

    def test_the_budget_ends_a_round_after_the_least_calls(self) -> None:
        assert len(seconds_each(lambda _: None, count(), budget=0.0, least=5)) == 5

    def test_building_is_run_once(self) -> None:
        calls: list[int] = []
        assert built(lambda: calls.append(1))["seconds"] >= 0
        assert calls == [1]


class TestCorpus:
    @given(st.lists(st.text("abc", min_size=1, max_size=30)), st.integers(5, 60))
    def test_chunks_fit_and_lose_nothing_but_the_spaces_between(self, words: list[str], size: int) -> None:
        chunks = list(extraction.chunks_of(" ".join(words), size))
        assert all(0 < len(chunk) <= size for chunk in chunks)
        assert "".join(chunks).replace(" ", "") == "".join(words)
        if all(len(word) <= size for word in words):
            assert " ".join(chunks).split() == words

    def test_a_docstring_gives_its_paragraphs_and_fields_without_what_a_generator_says(self, tmp_path: Path) -> None:
        source = '''
            def total_bytes(self):
                """
                **[Required]** Gets the total_bytes of this Image. How large the
                image is in all.

                :param str total_bytes: The value to assign to the total_bytes property of this Image.
                :param bool exact: Whether <b>no</b> rounding is wanted.
                """
        '''
        with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
            archive.writestr("image.py", source)
        with zipfile.ZipFile(tmp_path / "a.whl") as archive:
            texts = list(extraction.descriptions(archive, "image.py"))
        assert texts == ["How large the image is in all.", "Whether no rounding is wanted."]

    def test_each_text_is_taken_once(self, tmp_path: Path) -> None:
        sentence = "A sentence about the size of an image, long enough to be a document of its own. " * 2
        with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
            archive.writestr("first.py", f'"""{sentence}"""')
            archive.writestr("second.py", f'"""{sentence}"""')
        with zipfile.ZipFile(tmp_path / "a.whl") as archive:
            assert extraction.packed([archive]) == {sentence.strip()}

    def test_other_documents_are_shuffled_and_questions_made_of_their_words(self, tmp_path: Path) -> None:
        lines = [f"package{letter} reads {letter * 5} files quickly without much memory" for letter in "abcdefgh"]
        file = tmp_path / "summaries.txt"
        file.write_text("\n".join([*lines, "", "  "]), encoding="utf-8")
        folder = tmp_path / "corpus"
        corpus.prepare_from(file, folder)
        assert corpus.size(folder) == 8
        assert sorted(corpus.documents(folder, 8)) == lines
        assert corpus.documents(folder, 8) != lines
        assert len(corpus.questions(folder)) == 1000
        with pytest.raises(ValueError, match="8 documents, not 9"):
            corpus.documents(folder, 9)


class TestReport:
    ABOUT: ClassVar[dict[str, Any]] = {
        "command": "python -m benches.run tokens",
        "date": "2026-01-02",
        "machine": {"processor": "abacus"},
        "versions": {"ragstone": "0.1.0"},
        "sources": {"handbook": "7"},
        "corpus": "",
        "documents": 1000,
        "repeats": 2,
        "budget": 0.5,
        "patience": 0.0,
        "tries": 1,
    }
    RUN = report.Run(
        [ABOUT, {**ABOUT, "command": "python -m benches.run --corpus summaries.txt", "corpus": "summaries"}],
        [
            figure("peer", 6.0, 8.0, disturbed=1, goal=3.0),
            figure("slow", 9.0, 9.0, goal=5.0),
            figure("ragstone", 2.0, 2.0, goal=2.5),
        ],
        [Check(task="tokens", peer="peer", what="counts", result="all equal")],
        [Absence(task="tokens", peer="rare", reason="no wheel")],
    )

    def test_tables_put_ours_first_and_state_ratio_range_and_disturbance(self) -> None:
        rows = cells(report.tables(self.RUN))
        assert rows[2] == ["pages, ms", "ragstone", "2.00", "2.00 – 2.00", ""]
        assert rows[3] == ["", "peer", "7.00†", "6.00 – 8.00", "**3.50×**"]

    def test_tables_say_what_was_checked_and_who_is_missing(self) -> None:
        printed = report.tables(self.RUN)
        assert "- Checked against peer, counts: all equal." in printed
        assert "- Not measured: rare (no wheel)." in printed

    def test_the_glance_puts_each_goal_beside_what_was_reached(self) -> None:
        rows = cells(report.page(self.RUN).partition("## How")[0])
        assert rows[2:] == [
            ["Tokens", "pages", "", "**2.00 ms**", "≤ 2.5 ms", ""],
            ["", "", "peer", "**3.50×**", "3×", ""],
            ["", "", "slow", "**4.50×**", "5×", "missed"],
        ]

    def test_the_page_says_where_its_figures_come_from(self) -> None:
        page = report.page(self.RUN)
        assert "`python -m benches.run tokens` on 2026-01-02: rounds a figure 2, seconds a round 0.5." in page
        assert "The 1,000 documents" in page
        assert "handbook 7" in page
        assert "the lines of a file, summaries" in page
        assert "abacus" in page
        assert "A round during which other programs used a fifth of a core or more is marked †." in page

    def test_a_later_file_replaces_what_it_measured_again(self, tmp_path: Path) -> None:
        for name, value in (("first", 1.0), ("second", 5.0)):
            lines = [{"run": self.ABOUT}, {"figure": figure("ragstone", value).to_json()}]
            tmp_path.joinpath(name).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        run = report.Run.load(tmp_path / "first", tmp_path / "second")
        assert run.figures == [figure("ragstone", 5.0)]
        assert len(run.about) == 2


def cells(markdown: str) -> list[list[str]]:
    """Return the cells of the tables' rows."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines() if "|" in line]
