# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step that raises while collectives are in flight leaves nothing behind that the
next step finds, and a job in which one rank raises ends."""

import atexit
import ctypes
import hashlib
import random
import sys
import threading
import time

import pytest
import torch
import raising_steps as steps
import seeds
from commsched.torch import (
    CommSchedWarning,
    GraphImportError,
    GraphSpec,
    ImportOptions,
    RewriteError,
    ScheduleError,
    explain,
    import_graphs,
)
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.schedule import optimize_graph
from commsched.torch.private import gloo
from commsched.torch.rewriting import dependences, rewriter
from commsched.torch.rewriting.apply import apply_plan
from commsched.torch.rewriting.dependences import communications
from commsched.torch.rewriting.plan import Plan
from graphs import fake_trace, gather, names
from ranks import RanksFailed, run_ranks

pytestmark = pytest.mark.usefixtures("opt_program")


#: What is said of the rank's first step that raises, in the forward and the
#: backward.
NOTES = {
    "eager": (
        "CommSched: raised on rank {} in the forward graph 0/0, node 'check' of "
        "the module '0'",
        "CommSched: raised on rank {} in the backward graph 0/0, node 'check_3' of "
        "the module '2'",
    ),
    "inductor": ("CommSched: raised on rank {} in the forward of graph 0/0",),
}


@pytest.mark.parametrize("inner", seeds.turns([*NOTES], 1))
def test_ranks_that_raise_alike_go_on(inner):
    ranks = run_ranks(steps.goes_on, 2, args=(inner,), timeout=300)
    for number, rank in enumerate(ranks):
        assert rank["errors"] == 4
        if sys.version_info >= (3, 11):
            assert rank["notes"] == 2 * [note.format(number) for note in NOTES[inner]]
        assert rank["equal"] == [True] * 6
        assert min(rank["in flight"]) > 0


def test_a_rank_that_raises_alone_ends_the_job():
    started = time.monotonic()
    with pytest.raises(RanksFailed) as failed:
        run_ranks(steps.one_raises, 2, args=("eager",), timeout=300)
    assert "the step has failed" in str(failed.value)
    assert time.monotonic() - started < 200


# -- Gloo's threads are at rest before the interpreter ends.


_SET_NAME = 15


def _work(name, seconds, began, ended):
    """Computes under the name of one of gloo's threads, mostly without the
    interpreter."""
    ctypes.CDLL(None).prctl(_SET_NAME, name, 0, 0, 0)
    began.set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        hashlib.sha256(bytes(10_000_000))
    ended.set()


@pytest.mark.parametrize(
    "name, waited", [(b"pt_gloo_runloop", True), (b"another", False)]
)
def test_a_thread_that_works_is_waited_for(name, waited, monkeypatch):
    monkeypatch.setattr(gloo, "_REST", 60.0)
    began, ended = threading.Event(), threading.Event()
    seconds = 0.5 if waited else 2.0
    thread = threading.Thread(
        target=_work, args=(name, seconds, began, ended), daemon=True
    )
    thread.start()
    began.wait()
    gloo._rest()
    assert ended.is_set() == waited


def test_a_thread_that_does_not_rest_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(gloo, "_REST", 0.1)
    monkeypatch.setattr(gloo, "_is_any_awake", lambda: True)
    started = time.monotonic()
    gloo._rest()
    assert time.monotonic() - started >= 0.1


def test_it_happens_once_at_the_end(monkeypatch):
    registered = []
    monkeypatch.setattr(atexit, "register", registered.append)
    gloo.rest_at_exit.cache_clear()
    gloo.rest_at_exit()
    gloo.rest_at_exit()
    assert registered == [gloo._rest]
    gloo.rest_at_exit.cache_clear()


# -- Collectives that are not known: no other communication crosses them, and the
# rest of the graph is scheduled.


NAME = "sum_ranks"
WIDTH = 256


def trace(world, layers):
    """A graph of products with what gathers deliver; where `layers` has True, an
    unknown collective comes first."""

    def forward(x, *shards):
        for shard, is_unknown in zip(shards, layers):
            if is_unknown:
                x = steps.sum_ranks(x, world)
            x = x @ gather(shard, world, 8)
        return x

    shards = [torch.randn(WIDTH // 8, WIDTH) for _ in layers]
    return fake_trace(forward, torch.randn(4096, WIDTH), *shards)


@pytest.fixture
def gm(fake_world):
    return trace(fake_world(8), [False, True, False, False])


def sides(gm):
    """How many unknown collectives come before each communication."""
    found, passed = {}, 0
    for node in communications(gm.graph.nodes):
        found[node.name] = passed
        passed += NAME in node.name
    return found


def test_import_between_fences(gm):
    text = str(import_graphs([GraphSpec("f", gm)], ImportOptions(fences=True)))
    assert text.count("func.func private @commsched.fence()") == 1
    enter, call, leave = (line for line in text.splitlines() if f'"{NAME}' in line)
    assert "func.call" in enter and "func.call" in leave
    assert 'compute "commsched_test.sum_ranks"' in call and "random" in call


def test_import_alone_is_an_error(gm):
    with pytest.raises(GraphImportError, match=f"'{NAME}'.*unknown collective"):
        import_graphs([GraphSpec("f", gm)])


def test_the_rest_is_scheduled(gm, opt_program):
    before, order = sides(gm), names(gm)
    with pytest.warns(CommSchedWarning, match="commsched_test.sum_ranks") as seen:
        options = Options(memory_budget="400%", buckets="off")
        assert optimize_graph(gm, "inference", options)
    assert len(seen) == 1
    assert names(gm) != order and sides(gm) == before
    last = "all_gather_into_tensor_3"
    assert names(gm).index(last) < names(gm).index("mm_2")
    assert order.index(last) > order.index("mm_2")
    assert f"moves nothing across '{NAME}'" in str(explain())


def test_strict_refuses_it(gm, opt_program):
    with pytest.raises(ScheduleError, match="unknown collective"):
        optimize_graph(gm, "inference", Options(strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(fake_world, opt_program, seed):
    """Buckets do not cross them either."""
    draw = random.Random(seed)
    layers = [draw.random() < 0.4 for _ in range(8)]
    gm = trace(fake_world(8), layers)
    before = sides(gm)
    options = Options(memory_budget="400%", buckets="auto")
    with pytest.warns(CommSchedWarning):
        assert optimize_graph(gm, "inference", options)
    after = sides(gm)
    kept = {name: after[name] for name in after if name in before}
    assert kept.items() <= before.items()
    assert max(after.values()) == max(before.values())
    for bucket in explain().records[0].plan.buckets:
        assert len({before[name] for name in bucket.starts}) == 1


def crossing(gm):
    """A plan by which a gather starts before the unknown collective."""
    order = [n.name for n in gm.graph.nodes if n.op == "call_function"]
    order.remove("all_gather_into_tensor_2")
    order.insert(0, "all_gather_into_tensor_2")
    return Plan(order=tuple(order))


def test_no_plan_crosses_one(gm):
    before = names(gm)
    with pytest.raises(RewriteError, match="cannot start before"):
        apply_plan(gm, crossing(gm))
    assert names(gm) == before


def test_the_check_of_the_result(gm, monkeypatch):
    """What was rewritten is looked at without regard to how."""
    monkeypatch.setattr(rewriter, "memory_dependences", lambda nodes: {})
    with pytest.raises(RewriteError, match="crosses a collective"):
        apply_plan(gm, crossing(gm))


def test_dependences_hold_all_communication(gm):
    """In both directions, and between two of them."""
    nodes = list(gm.graph.nodes)
    found = dependences.memory_dependences(nodes)
    by_name = {node.name: node for node in nodes}
    unknown = by_name[NAME]
    assert {n.name for n in found[unknown]} == {"all_gather_into_tensor", "wait_tensor"}
    for name in ("all_gather_into_tensor_2", "wait_tensor_3"):
        assert unknown in found[by_name[name]]


@pytest.mark.parametrize("inner, partition, kinds", seeds.turns([
    ("eager", "auto", {"forward", "backward"}),
    ("eager", "min-cut", {"joint", "forward", "backward"}),
    ("inductor", "auto", {"forward", "backward"}),
], 1))
def test_two_ranks(opt_program, inner, partition, kinds):
    arguments = inner, partition
    for outcome in run_ranks(steps.compare_unknown, 2, args=arguments, timeout=300):
        assert outcome["equal"]
        assert outcome["statuses"] == dict.fromkeys(kinds, "scheduled")
        assert outcome["unchanged"] == [False, False]
        assert len(outcome["notes"]) == 6
        assert len(outcome["warnings"]) == 1
