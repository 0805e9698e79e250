# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that ranks measure when they compile a graph that has them."""

import json
import time
import warnings

import pytest
import torch
import torch.distributed as dist
from torch import fx

from commsched.torch import Options
from commsched.torch.compiling import operator_times, prices, runs, schedule
from commsched.torch.compiling.operator_times import OperatorTimes
from commsched.torch.compiling.store import current_job
from commsched.torch.measuring.operators import is_timed, time_calls
from ranks import run_ranks

aten = torch.ops.aten


def _graph(calls):
    """A graph that calls operators on one input of 8 x 8, behind a gather where
    there is a process group; each call is (target, arguments after the input)."""
    graph = fx.Graph()
    value = torch.ones(8, 8)

    def add(target, *args, kind="call_function"):
        node = graph.create_node(kind, target, args)
        node.meta.update({} if target is aten._assert_async.msg else {"val": value})
        return node

    x = add("x", kind="placeholder")
    if dist.is_initialized():
        name = dist.group.WORLD.group_name
        add(torch.ops._c10d_functional.all_reduce.default, x, "sum", name)
    nodes = [add(target, x, *args) for target, *args in calls]
    graph.output(tuple(nodes))
    return fx.GraphModule({}, graph)


def _calls(gm):
    return [node for node in gm.graph.nodes if is_timed(node)]


# -- Calls by themselves.


@torch.library.custom_op("test_operator_times::counted", mutates_args=())
def _counted(x: torch.Tensor) -> torch.Tensor:
    raise AssertionError("an operator of the user's own was called")


def test_calls_are_timed_by_signature():
    gm = _graph([
        (aten.neg.default,), (aten.neg.default,),
        (aten._assert_async.msg, "has no value"),
        (aten.bernoulli.p, 0.5),
        (aten.mm.default, torch.ones(3, 3)),  # Its shapes do not fit.
        (torch.ops.test_operator_times.counted.default,),
    ])
    state = torch.get_rng_state()
    times = time_calls(_calls(gm), 5.0, repeats=2)
    assert set(times) == {
        "aten.neg.default(f32[8,8])", "aten.bernoulli.p(f32[8,8], 0.5)"
    }
    assert all(type(value) is int and value > 0 for value in times.values())
    # Random numbers of the program stay what they would have been.
    assert torch.equal(torch.get_rng_state(), state)
    assert time_calls(_calls(gm), -1.0) == {}


def test_what_moves_nothing_finds_its_code_in_caches(monkeypatch):
    forgotten = []
    zeros = torch.zeros

    def watched(size):
        made = zeros(size)
        made.sum = lambda: forgotten.append(True)
        return made

    monkeypatch.setattr(torch, "zeros", watched)
    for target, times in [
        (aten.neg.default, 3),
        (aten.neg_.default, 3),
        (aten.t.default, 0),
        (aten.detach.default, 0),
    ]:
        forgotten.clear()
        assert time_calls(_calls(_graph([(target,)])), 5.0, repeats=3)
        assert len(forgotten) == times, target


# -- What Inductor fuses.


CHAIN = """
func.func @forward(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %a = commsched.compute "aten.neg"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = commsched.compute "aten.exp"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  return %b : tensor<1024xf32>
}"""


def test_what_inductor_fuses_is_priced_as_one_kernel(opt_program):
    def compute(fused):
        reports = runs.schedule_text(CHAIN, Options(), fused).reports
        times = {r["forward"]["compute_time_ns"] for r in (reports.before, reports.after)}
        (time,) = times
        return time

    assert 2 * compute(True) == compute(False)


@pytest.mark.parametrize("inner, kind, measured, fused", [
    ("inductor", "forward", True, True),
    ("eager", "forward", True, False),
    ("inductor", "step", True, False),  # A framework runs it.
    ("inductor", "forward", False, False),
])
def test_where_inductor_fuses(monkeypatch, inner, kind, measured, fused):
    found = prices.Prices(operators=object() if measured else None)
    monkeypatch.setattr(Options, "prices", found)
    assert schedule._is_fused(Options(inner=inner), kind) == fused


# -- Ranks together.


STEP = [(aten.neg.default,), (aten.mm.default, torch.ones(8, 8))]


def _measured(rank, path, known, late, inductor=False):
    """What a rank knows after it compiled one graph twice, the warnings, and
    the seconds that it took. Operators are `known` before by rank; a rank is
    as many seconds late as `late` says."""
    operator_times.MEETING = 1.0
    operator_times.time_calls = lambda calls, seconds: {
        operator_times.signature(node): 100 + rank for node in calls
    }
    times = OperatorTimes(current_job(), path, known[rank], 60.0)
    time.sleep(late[rank])
    gm = _graph(STEP)
    started = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            times.measure(gm, "forward", inductor)
    seconds = time.monotonic() - started
    return times.of(gm, inductor), [str(w.message) for w in caught], seconds


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"rows": [], "operators": []}))
    return path


def _run(table, known=({}, {}), late=(0, 0), **more):
    args = (table, known, late, *more.values())
    return run_ranks(_measured, 2, args=args)


def test_ranks_measure_the_operators_of_a_graph_together(table):
    for found, warned, _ in _run(table):
        # The slower rank counts.
        assert found == {"neg_default": 101, "mm_default": 101}
        assert not warned
    kept = json.loads(table.read_text())["operators"]
    assert [entry["time_ns"] for entry in kept] == [101, 101]


def test_of_what_inductor_compiles_products_are_measured(table):
    table.write_text("[]")  # A table may be its rows alone.
    for found, *_ in _run(table, inductor=True):
        assert found == {"mm_default": 101}
    kept = json.loads(table.read_text())
    assert kept["rows"] == [] and len(kept["operators"]) == 1


def test_a_rank_that_knows_its_operators_does_not_wait(table):
    known = {"aten.neg.default(f32[8,8])": 7, "aten.mm.default(f32[8,8], f32[8,8])": 7}
    (first, *_), (other, warned, seconds) = _run(table, ({}, known), (0.5, 0))
    assert set(first.values()) == {100}
    assert set(other.values()) == {7} and not warned
    assert seconds < 0.5


def test_a_rank_that_is_late_ends_the_measuring_of_all(table):
    (found, (warning,), seconds), (other, (later,), _) = _run(table, late=(0, 3))
    assert found == other == {}
    assert "rank 1 did not take part in time" in warning
    assert "rank 0 waits no more" in later
    assert seconds < 2.5
    assert json.loads(table.read_text())["operators"] == []
