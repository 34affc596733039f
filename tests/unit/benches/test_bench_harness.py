"""The benchmarks' own arithmetic and machinery: a wrong ratio would be a wrong claim."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path

import pytest
from benches import corpus, report
from benches.figures import Check, Measurement, overlap, percentile, rate, ratio, same_ranking
from benches.harness import PeerError, Round, Session, Settings, Worker, in_turn
from benches.worker import built, seconds_each
from hypothesis import given
from hypothesis import strategies as st


def figure(peer: str, *rounds: float, more_is_better: bool = False, disturbed: int = 0) -> Measurement:
    return Measurement(
        task="tokens",
        peer=peer,
        metric="pages",
        unit="ms",
        rounds=rounds,
        more_is_better=more_is_better,
        disturbed=disturbed,
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
        measured = figure("ragstone", 1.23456789, 20.0, disturbed=1)
        again = Measurement.from_json(json.loads(json.dumps(measured.to_json())))
        assert again == figure("ragstone", 1.2346, 20.0, disturbed=1)


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
        documents=10,
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
        chunks = list(corpus.chunks_of(" ".join(words), size))
        assert all(0 < len(chunk) <= size for chunk in chunks)
        assert "".join(chunks).replace(" ", "") == "".join(words)
        if all(len(word) <= size for word in words):
            assert " ".join(chunks).split() == words


class TestReport:
    RUN = report.Run(
        {
            "command": "python -m benches.run tokens",
            "date": "2026-01-02",
            "machine": {"processor": "abacus"},
            "versions": {"ragstone": "0.1.0"},
            "corpus": {"handbook": "7"},
            "documents": 1000,
            "repeats": 2,
            "budget": 0.5,
            "patience": 0.0,
            "tries": 1,
        },
        [
            figure("peer", 6.0, 8.0, disturbed=1),
            figure("ragstone", 2.0, 2.0),
        ],
        [Check(task="tokens", peer="peer", what="counts", result="all equal")],
    )

    def test_tables_put_ours_first_and_state_ratio_range_and_disturbance(self) -> None:
        printed = report.tables(self.RUN)
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if "|" in line]
        assert rows[2] == ["pages, ms", "ragstone", "2.00", "2.00 – 2.00", ""]
        assert rows[3] == ["", "peer", "7.00†", "6.00 – 8.00", "**3.50×**"]
        assert "- Checked against peer, counts: all equal." in printed

    def test_the_page_says_where_its_figures_come_from(self) -> None:
        page = report.page(self.RUN)
        assert "`python -m benches.run tokens`" in page
        assert "handbook 7" in page
        assert "abacus" in page
        assert "peer **3.50×**" in page
        assert "A round during which other programs used a fifth of a core or more is marked †." in page
