# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives that are not known: no other communication crosses them, and the
rest of the graph is scheduled."""

import random

import pytest

torch = pytest.importorskip("torch")

from commsched.torch import (  # noqa: E402
    CommSchedWarning,
    GraphImportError,
    GraphSpec,
    ImportOptions,
    RewriteError,
    ScheduleError,
    explain,
    import_graphs,
)
from commsched.torch.compiling.options import Options  # noqa: E402
from commsched.torch.compiling.schedule import optimize_graph  # noqa: E402
from commsched.torch.rewriting import dependences, rewriter  # noqa: E402
from commsched.torch.rewriting.apply import apply_plan  # noqa: E402
from commsched.torch.rewriting.dependences import communications  # noqa: E402
from commsched.torch.rewriting.plan import Plan  # noqa: E402
from graphs import fake_trace  # noqa: E402
from ranks import run_ranks  # noqa: E402
import seeds  # noqa: E402
import unknown_collectives as steps  # noqa: E402

c10d = torch.ops._c10d_functional
NAME = "sum_ranks"
WIDTH = 256


def gather(shard, group):
    return c10d.wait_tensor(c10d.all_gather_into_tensor(shard, 8, group))


def trace(world, layers):
    """A graph of products with what gathers deliver; where `layers` has True, an
    unknown collective comes first."""

    def forward(x, *shards):
        for shard, is_unknown in zip(shards, layers):
            if is_unknown:
                x = steps.sum_ranks(x, world)
            x = x @ gather(shard, world)
        return x

    shards = [torch.randn(WIDTH // 8, WIDTH) for _ in layers]
    return fake_trace(forward, torch.randn(4096, WIDTH), *shards)


@pytest.fixture
def gm(fake_world):
    return trace(fake_world(8), [False, True, False, False])


def names(gm):
    return [node.name for node in gm.graph.nodes]


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
    enter, call, leave = (
        line for line in text.splitlines() if f'"{NAME}' in line
    )
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
    assert {n.name for n in found[unknown]} == {
        "all_gather_into_tensor", "wait_tensor"
    }
    for name in ("all_gather_into_tensor_2", "wait_tensor_3"):
        assert unknown in found[by_name[name]]


@pytest.mark.parametrize("inner, partition, kinds", seeds.turns([
    ("eager", "auto", {"forward", "backward"}),
    ("eager", "min-cut", {"joint", "forward", "backward"}),
    ("inductor", "auto", {"forward", "backward"}),
], 1))
def test_two_ranks(opt_program, inner, partition, kinds):
    arguments = inner, partition
    for outcome in run_ranks(steps.compare, 2, args=arguments, timeout=300):
        assert outcome["equal"]
        assert outcome["statuses"] == dict.fromkeys(kinds, "scheduled")
        assert outcome["unchanged"] == [False, False]
        assert len(outcome["notes"]) == 6
        assert len(outcome["warnings"]) == 1
