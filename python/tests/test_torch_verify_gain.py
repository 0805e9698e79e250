# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph as it was and as it was scheduled, of which the faster is kept."""

import threading
import time

import pytest
import torch
import commsched.torch as cs
import seeds
from commsched.torch import Options, OptionsError, RanksSilent
from commsched.torch.compiling import contest
from commsched.torch.compiling.records import Record
from commsched.torch.compiling.store import current_job
from compiled_steps import explained
from ranks import run_ranks


@pytest.mark.parametrize("options, words", [
    ({"verify_gain": 3}, "'verify_gain' is 3; it takes an even number"),
    ({"verify_gain": -2}, "'verify_gain' is -2; it takes"),
    ({"verify_gain": True}, "'verify_gain' is True; it takes"),
    ({"verify_gain": 4, "agree": False}, "is 4, and 'agree' is False"),
])
def test_runs_are_an_even_number_of_ranks_that_agree(options, words):
    with pytest.raises(OptionsError, match=words):
        Options(**options)


@pytest.mark.parametrize("way", [cs.schedule_pass, cs.inductor_options])
def test_only_the_backend_runs_graphs(way):
    with pytest.raises(OptionsError, match=f"{way.__name__} cannot do"):
        way(verify_gain=2)


class Clock:
    """A clock by which runs take `seconds` in turn: scheduled, original. Of
    each step there are as many graphs."""

    def __init__(self, *seconds, graphs=1):
        self._seconds, self._graphs = seconds, graphs
        self._now, self._calls = 0.0, 0
        self.monotonic, self.sleep = time.monotonic, time.sleep

    def perf_counter(self):
        if self._calls % 2:
            run = self._calls // 2 // self._graphs
            self._now += self._seconds[run % 2]
        self._calls += 1
        return self._now


@pytest.fixture
def entrant(fake_world, monkeypatch):
    """A graph of a process without other ranks, whose runs are counted."""
    fake_world(4)
    monkeypatch.setattr(contest, "_alone", {})
    gm = torch.fx.symbolic_trace(lambda x: torch.sin(x))
    return contest.Entrant(gm, "forward", Options(verify_gain=4))


@pytest.mark.parametrize("seconds, kept, words", [
    ((1.0, 2.0), "s", "the schedule is kept: a run took 1e+03 ms with"),
    ((2.0, 1.0), "o", "the original order is kept: a run took 2e+03 ms"),
    ((1.0, 1.0), "s", "medians of 4 runs in turn, slowest of 1 ranks"),
])
def test_the_faster_one_is_kept(entrant, monkeypatch, seconds, kept, words):
    monkeypatch.setattr(contest, "time", Clock(*seconds))
    ran, record = [], Record("forward")
    graphs = (lambda args: ran.append("o"), lambda args: ran.append("s"))
    run = entrant.against(*graphs, record)
    for _ in range(7):
        run([])
    assert "".join(ran) == "soso" + 3 * kept
    assert len(record.notes) == 1 and words in record.notes[0]
    # What is compiled again does not begin anew, but says what was decided.
    again = Record("forward")
    entrant.against(*graphs, again)([])
    assert ran[-1] == kept and again.notes == record.notes


class Store:
    """A job's store in one process."""

    def __init__(self, values, rank):
        self._values, self.rank = values, rank

    def set(self, key, value):
        self._values[key] = value

    def get(self, key):
        return self._values.get(key)

    def limit(self, timeout):
        return timeout


def decided(seconds, ranks, timeout=60.0):
    """What each of `ranks` decides, by its number; `seconds` are its times of
    the original and the schedule, and its groups those of a 2 x 2 mesh."""
    values, found = {}, {}

    def decide(rank):
        peers = {rank, rank ^ 1, rank ^ 2}
        options = Options(verify_gain=2, timeout=timeout)
        held = contest._Contest(Store(values, rank), "key", peers, options)
        held._seconds = {False: [seconds[rank][0]], True: [seconds[rank][1]]}
        try:
            for held.runs in (1, 2):
                if held.winner is None:
                    held.proceed(seconds[rank][0] is not None)
            found[rank] = held.winner
        except RanksSilent as error:
            found[rank] = str(error)

    threads = [threading.Thread(target=decide, args=(r,)) for r in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_all_ranks_that_depend_on_each_other_decide_alike():
    times = [(2.0, 1.0)] * 4
    assert decided(times, range(4)) == dict.fromkeys(range(4), True)
    # Rank 3 shares no group with rank 0.
    times[3] = (2.0, 5.0)
    assert decided(times, range(4)) == dict.fromkeys(range(4), False)


    # All keep the schedule that one has nothing against.
    times = [(1.0, 2.0)] * 4
    assert decided(times, range(4)) == dict.fromkeys(range(4), False)
    times[3] = (None, 2.0)
    assert decided(times, range(4)) == dict.fromkeys(range(4), True)


def test_a_rank_that_does_not_come_is_named():
    found = decided([(2.0, 1.0)] * 4, range(3), timeout=0.5)
    assert set(found) == {0, 1, 2}
    assert all("but rank 3 did not in 0.5 s" in text for text in found.values())


def _trained(rank, inner, seconds):
    """The notes of a step that runs with both graphs, and which was kept."""
    contest.time = Clock(*seconds[rank], graphs=2)
    plain = {"inductor": "inductor", "eager": "aot_eager"}[inner]
    options = {"inner": inner, "verify_gain": 4, "buckets": "off", "strict": True}
    said = explained(rank, 2, options, plain, steps=6)
    held = current_job().state["contests"].values()
    return said, [(c.winner, c.runs) for c in held]


@pytest.mark.parametrize("inner, kept", [
    ("eager", True), *seeds.turns([("eager", False), ("inductor", False)], 1)
])
def test_ranks_keep_one_graph_and_all_bits(inner, kept):
    # Rank 1 alone would decide otherwise.
    seconds = [(4.0, 9.0), (2.0, 1.0)] if kept else [(9.0, 4.0), (1.0, 2.0)]
    for said, held in run_ranks(_trained, 2, timeout=500, args=(inner, seconds)):
        assert held == [(kept, 4)] * 2
        what = "schedule" if kept else "original order"
        assert said.count(f"the {what} is kept: a run took ") == 2
        assert "slowest of 2 ranks" in said
