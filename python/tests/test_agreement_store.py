# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ranks publish, follow and compare; the ranks are threads here."""

import math
import re
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.distributed as dist
from graphs import build, calls
from torch._higher_order_ops.cond import cond_op

from commsched.torch import CommSchedWarning, Options
from commsched.torch.compiling import agreement, confirmation, guards, store
from commsched.torch.compiling.confirmation import Outdated, RanksDiffer, RanksSilent
from commsched.torch.compiling.launches import Launches
from commsched.torch.compiling.publishing import pack, unpack
from commsched.torch.compiling.store import Job
from commsched.torch.private import names
from commsched.torch.rewriting import Plan, apply_plan
from commsched.torch.rewriting.plan import Bucket

c10d = torch.ops._c10d_functional


class Ranks:
    """The threads that take part, each with its own place in one job."""

    def __init__(self):
        self.store = dist.HashStore()
        self.local = threading.local()
        self.jobs = {}

    def start(self, rank):
        """Makes this thread rank `rank`."""
        if rank not in self.jobs:
            self.jobs[rank] = Job(self.store, rank, "test/", 30.0)
        self.local.job = self.jobs[rank]

    def job(self):
        return getattr(self.local, "job", None)

    def both(self, function):
        """Returns what `function(rank)` returns or raises on both ranks,
        which run at the same time."""

        def run(rank):
            self.start(rank)
            try:
                return function(rank)
            except Exception as error:
                return error

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(run, (0, 1)))


@pytest.fixture
def ranks(monkeypatch):
    ranks = Ranks()
    monkeypatch.setattr(agreement, "current_job", ranks.job)
    monkeypatch.setattr(confirmation, "current_job", ranks.job)
    return ranks


def _graph(rows=8, group="g", padded=False, count=3):
    """`count` gathers of one group, each of a sum."""

    def body(b, *inputs):
        values = []
        for i, x in enumerate(inputs):
            if padded:
                pad = torch.ops.aten.constant_pad_nd
                x = b.add(f"pad_{i}", pad, (x, [0, 0]), b.like(x))
            values.append(b.wait(f"wait_{i}", b.gather(f"gather_{i}", x, 2, group)))
        return tuple(values)

    return build([(f"x{i}", (rows, 4)) for i in range(count)], body)


def _plan(*order):
    return Plan(order=tuple(f"{w}_{i}" for w in ("gather", "wait") for i in order))


def _agree(gm, plan, options=Options(timeout=5), reason=""):
    launches = Launches.of(gm.graph, roles={"x0": "parameter", "x1": "parameter"})
    return agreement.agree(launches, "forward", "0/0", plan, options, reason)


def _compile(gm, plan, options=Options(timeout=5)):
    """Does to `gm` what the ranks decide, and returns what to run."""
    decision = _agree(gm, plan, options)
    if decision.plan is not None:
        apply_plan(gm, decision.plan)
    agreement.seal(gm, "forward", "0/0", decision, options)
    gm.recompile()
    return _confirm(gm)


def _confirm(gm):
    (node,) = calls(gm, torch.ops.commsched.confirm.default)
    return lambda: confirmation.confirm(node.args[0])


def test_the_first_plan_holds_for_all_and_for_good(ranks):
    ranks.start(1)
    assert _agree(_graph(), _plan(2, 1, 0)).how == "agreed"
    for rank, rows, plan in ((0, 3, _plan(0, 1, 2)), (1, 16, _plan(1, 0, 2)),
                             # Without a plan of its own.
                             (0, 8, None)):
        ranks.start(rank)
        decision = _agree(_graph(rows=rows), plan, reason="no program")
        assert (decision.how, decision.plan) == ("followed", _plan(2, 1, 0))


@pytest.mark.parametrize(
    "plan, longest, reason",
    [(None, 10**6, "no program"), (_plan(2, 1, 0), 10, "10 bytes")],
)
def test_a_first_without_a_plan_decides_too(ranks, monkeypatch, plan, longest, reason):
    ranks.start(0)
    with monkeypatch.context() as patch:
        patch.setattr(agreement, "LONGEST", longest)
        first = _agree(_graph(), plan, reason="no program")
    assert first.plan is None and reason in first.reason
    ranks.start(1)
    decision = _agree(_graph(), _plan(2, 1, 0))
    assert (decision.how, decision.plan) == ("followed", None)
    assert "rank 0" in decision.reason and reason in decision.reason


def test_a_rank_keeps_its_own_plan_if_it_launches_alike(ranks):
    ranks.start(0)
    _agree(_graph(), _plan(2, 1, 0))
    ranks.start(1)
    own = Plan(order=("gather_2", "wait_2", "gather_1", "gather_0"))
    decision = _agree(_graph(), own)
    assert (decision.how, decision.plan) == ("agreed", own)


@pytest.mark.parametrize("mode", ["copy", "coalesced"])
def test_buckets_are_part_of_what_is_launched(ranks, mode):
    def merged(mode):
        one = Bucket("all_gather", mode, ("gather_0", "gather_1"), ("wait_0", "wait_1"))
        order = ((0, "start"), "gather_2", (0, "wait"), "wait_2")
        return Plan(order=order, buckets=(one,))

    ranks.start(0)
    _agree(_graph(), merged("copy"))
    ranks.start(1)
    decision = _agree(_graph(), merged(mode))
    assert decision.plan == merged("copy")
    assert decision.how == ("agreed" if mode == "copy" else "followed")


def test_what_ranks_have_in_common():
    digest = Launches.of(_graph().graph).digest("forward")
    for same in (_graph(rows=3), _graph(group="another"), _graph(padded=True)):
        assert Launches.of(same.graph).digest("forward") == digest
    assert Launches.of(_graph(count=2).graph).digest("forward") != digest
    assert Launches.of(_graph().graph).digest("backward") != digest


def test_launches_in_graphs_that_a_graph_calls_count():
    inner = _graph(count=1)

    def body(b, x):
        branches = [b.graph.get_attr(name) for name in ("yes", "no")]
        called = b.add("cond", cond_op, (True, *branches, (x,)), (x,))
        return (b.item("item", called, 0),)

    gm = build([("x", (4,))], body, yes=inner, no=inner)
    assert Launches.of(gm.graph).names == ("cond",)


def test_sends_keep_their_order(ranks):
    def body(b, x):
        one = b.add("isend", c10d.isend, (x, 1, 0, "g"), b.like(x))
        other = b.add("gather", c10d.all_gather_into_tensor, (x, 2, "g"), b.like(x))
        return one, other

    gm = build([("x", (4,))], body)
    ranks.start(0)
    assert _agree(gm, Plan(order=("isend", "gather"))).plan is not None
    decision = _agree(gm, Plan(order=("gather", "isend")))
    assert decision.plan is None and "'isend'" in decision.reason


def test_every_start_of_a_job_is_a_job_of_its_own(monkeypatch):
    def start():
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

    monkeypatch.setattr(store.distributed, "get_world_size", lambda: 2)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    try:
        start()
        job = store.current_job()
        assert store.current_job() is job
        job.set("key", "value")
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
        assert store._open().get("key") is None
        dist.destroy_process_group()
        start()
        assert store.current_job() is not job
    finally:
        dist.destroy_process_group()


def test_without_other_ranks_there_is_no_job(fake_world):
    fake_world(4)
    assert store.current_job() is None
    dist.destroy_process_group()
    assert store.current_job() is None


# -- before the first run ----------------------------------------------------


def test_equal_launches_are_confirmed(ranks):
    """With a limit, and without."""
    for rows, timeout in ((8, 5), (6, math.inf)):

        def rank(number, rows=rows, options=Options(timeout=timeout)):
            plan = _plan(2, number, 1 - number)
            run = _compile(_graph(rows=rows - number), plan, options)
            run()
            run()

        assert ranks.both(rank) == [None, None]


def test_different_launches_stop_both_ranks(ranks, monkeypatch):
    # As if the second rank's plan could not be applied to its graph.
    def rank(number):
        gm = _graph()
        decision = _agree(gm, _plan(2, 1, 0))
        if number == 0:
            apply_plan(gm, decision.plan)
        agreement.seal(gm, "forward", "0/0", decision, Options(timeout=20))
        gm.recompile()
        _confirm(gm)()

    started = time.monotonic()
    errors = ranks.both(rank)
    assert time.monotonic() - started < 10
    for error in errors:
        assert isinstance(error, RanksDiffer)
        text = str(error)
        assert "rank 0" in text and "rank 1" in text
        assert "forward graph 0/0" in text
        assert "number 0 is" in text and "gather_2" in text


def test_ranks_that_wait_before_different_graphs_are_told(ranks, monkeypatch):
    contract, groups = agreement.Contract, [["g", [0, 1], 2]]
    monkeypatch.setattr(
        agreement, "Contract", lambda **facts: contract(**{**facts, "groups": groups})
    )
    monkeypatch.setattr(confirmation, "NOTICE", 0.1)

    def rank(number):
        _compile(_graph(count=2 + number), None, Options(timeout=20))()

    message = "forward graph 0/0: there are [23] on rank [01] and [32] on rank [10]$"
    for error in ranks.both(rank):
        assert re.search(message, str(error)) and isinstance(error, RanksDiffer)


def test_a_rank_that_compiles_again_alone_does_not_wait(ranks):
    ranks.both(lambda rank: _compile(_graph(), _plan(2, 1, 0))())
    ranks.start(0)
    _compile(_graph(rows=5), _plan(0, 1, 2))()


def test_all_obey_the_first_that_waits_no_longer(ranks):
    ranks.start(0)
    run = _compile(_graph(), _plan(2, 1, 0), Options(timeout=0.2))
    with pytest.raises(RanksSilent, match="waited 0.2 s .* for 1 of 2 ranks"):
        run()
    ranks.start(1)
    with pytest.raises(RanksSilent, match="rank 0 waited 0.2 s"):
        _compile(_graph(), _plan(2, 1, 0))()


def test_different_options_are_named(ranks, tmp_path):
    def rank(number):
        profile = tmp_path / f"{number}.json"
        profile.write_text(f'{{"rank": {number}}}')
        _compile(_graph(), _plan(2, 1, 0), Options(timeout=20, profile=profile))()

    for error in ranks.both(rank):
        assert isinstance(error, RanksDiffer)
        assert "different settings: profile is " in str(error)


@pytest.fixture
def obstacle(ranks, monkeypatch):
    """Returns a function that asks a rank what is in its way."""
    monkeypatch.setattr(guards, "current_job", ranks.job)

    def find(rank, **options):
        ranks.start(rank)
        return guards.find_obstacle(Options(**{"timeout": 5, **options}))

    return find


def _rename(monkeypatch):
    monkeypatch.setitem(names.IMPORTED["graphs"], "OpOverload", "torch._ops.Renamed")


def _update(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.15.7")


@pytest.mark.parametrize("change, error", [
    (_update, "PyTorch is 2.13.0 on rank 0 and 2.15.7 on rank 1"),
    (_rename, "no torch._ops.Renamed on rank 1"),
])
def test_ranks_that_differ_are_named(obstacle, monkeypatch, change, error):
    """Before anything is compiled."""
    monkeypatch.setattr(torch, "__version__", "2.13.0")
    assert obstacle(0) == obstacle(0) == ""
    change(monkeypatch)
    for _ in range(2):
        with pytest.raises(RanksDiffer, match=error):
            obstacle(1)
    if change is _update:
        assert obstacle(1, agree=False) == ""


def test_no_rank_can_schedule(obstacle, monkeypatch):
    """They train as without the package."""
    _rename(monkeypatch)
    assert all("Renamed" in obstacle(rank) for rank in (0, 1))


def test_a_rank_that_waits_hears_of_another_version(ranks, obstacle, monkeypatch):
    obstacle(0, timeout=20)
    run = _compile(_graph(), _plan(2, 1, 0), Options(timeout=20))
    _update(monkeypatch)
    with pytest.raises(RanksDiffer):
        obstacle(1)
    ranks.start(0)
    started = time.monotonic()
    with pytest.raises(RanksDiffer, match="2.15.7 on rank 1"):
        run()
    assert time.monotonic() - started < 10


def _run(target, layer):
    gm = _graph()
    for node in gm.graph.nodes:
        node.meta["nn_module_stack"] = {"": (f"layers.{layer}", torch.nn.Linear)}
    _compile(gm, _plan(2, 1, 0), Options(timeout=20, target=target))()


def test_one_graph_may_run_with_several_options_and_modules(ranks):
    def rank(number):
        for target, layer in (("h100", 0), ("a100", 0), ("h100", 1)):
            _run(target, layer)

    assert ranks.both(rank) == [None, None]


def test_gathers_for_other_modules_are_named(ranks):
    for error in ranks.both(lambda rank: _run("h100", rank)):
        assert isinstance(error, RanksDiffer) and "of layers.1 on rank 1" in str(error)


# -- a store that does not answer --------------------------------------------


class Stopped:
    """A store whose requests do not end."""

    def __getattr__(self, name):
        if name == "clone":
            raise AttributeError(name)
        return lambda *args: threading.Event().wait(60)


def test_without_a_store_graphs_keep_their_order(ranks):
    ranks.local.job = Job(Stopped(), 0, "test/", 30.0)
    with pytest.warns(CommSchedWarning, match="store did not answer in 0.2"):
        run = _compile(_graph(), _plan(2, 1, 0), Options(timeout=0.2))
    with pytest.warns(CommSchedWarning, match="cannot compare"):
        run()


def test_a_schedule_does_not_run_if_the_store_is_gone(ranks):
    ranks.start(0)
    run = _compile(_graph(), _plan(2, 1, 0), Options(timeout=0.2))
    ranks.local.job = Job(Stopped(), 0, "test/", 30.0)
    what = "cannot be known: .* in 0.2 s when rank 0 asked for 'run/"
    with pytest.raises(RanksSilent, match=what):
        run()


def test_without_the_option_the_limit_is_that_of_collectives(ranks):
    ranks.jobs[0] = ranks.local.job = Job(ranks.store, 0, "test/", 0.3)
    run = _compile(_graph(), _plan(2, 1, 0), Options())
    for _ in range(2):  # It does not run if it is tried again either.
        with pytest.raises(RanksSilent, match="waited 0.3 s .* for 1 of 2"):
            run()


def test_what_was_decided_holds_without_the_store(ranks):
    ranks.both(lambda rank: _compile(_graph(), _plan(2, 1, 0))())
    ranks.start(0)
    ranks.jobs[0]._own = Stopped()
    gm = _graph(rows=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _compile(gm, _plan(0, 1, 2))()
    assert next(iter(Launches.of(gm.graph).names)) == "gather_2"


def test_without_a_store_no_other_order_is_run(ranks):
    """A rank compiles a graph again, which it cannot schedule as before."""
    ranks.both(lambda rank: _compile(_graph(), _plan(2, 1, 0))())
    ranks.start(0)
    ranks.jobs[0]._own = Stopped()
    gm = _graph()
    decision = _agree(gm, _plan(2, 1, 0))
    agreement.seal(gm, "forward", "0/1", decision, Options(timeout=5))
    with pytest.raises(RanksDiffer, match="number 0 is 'gather_2"):
        _confirm(gm)()


# -- code from caches --------------------------------------------------------


def _carried(ranks, plan):
    """What code in a cache carries that rank 0 of another job compiled."""
    ranks.start(0)
    gm = _graph()
    _compile(gm, plan)
    (node,) = calls(gm, torch.ops.commsched.confirm.default)
    line = confirmation.carried(node.args[0])
    ranks.jobs.clear()
    ranks.store = dist.HashStore()
    return line


def test_code_from_a_cache_decides_if_it_is_first(ranks):
    line = _carried(ranks, _plan(2, 1, 0))
    ranks.start(1)
    eval(line)
    ranks.start(0)
    decision = _agree(_graph(), _plan(0, 1, 2))
    assert (decision.how, decision.plan) == ("followed", _plan(2, 1, 0))
    # It is outdated where another plan was first.
    line = _carried(ranks, _plan(2, 1, 0))
    ranks.start(0)
    _agree(_graph(), _plan(0, 1, 2))
    ranks.start(1)
    with pytest.raises(Outdated, match="rank 0 decided on another plan"):
        eval(line)


def test_packed_text_is_as_it_was():
    text = "collective'\"\\\n" * 1000
    assert unpack(pack(text)) == text
    assert len(pack(text)) < 200
