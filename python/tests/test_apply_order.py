# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Putting an order back into a graph."""

import pytest
import torch
from commsched import opt
from commsched.torch import ImportOptions, import_graph_module
from commsched.torch.compiling.schedule import has_collectives
from commsched.torch.rewriting import Plan, PlanError, apply_plan, make_plan
from graphs import build, names
from test_import_inline import with_region

aten = torch.ops.aten
c10d = torch.ops._c10d_functional


def two_gathers():
    def body(b, x, y):
        first = b.wait("first", b.gather("start", x))
        sin = b.add("sin", aten.sin, (first,), b.like(first))
        second = b.wait("second", b.gather("again", y))
        return b.add("total", aten.add.Tensor, (sin, second), b.like(second))

    return build([("x", (4,)), ("y", (4,))], body)


def test_nodes_move_to_their_places():
    gm = two_gathers()
    apply_plan(gm, Plan(("start", "again", "first", "sin", "second", "total")))
    assert names(gm) == [
        "x", "y", "start", "again", "first", "sin", "second", "total", "output"
    ]
    gm.graph.lint()
    assert gm.code.index("again =") < gm.code.index("first =")


def test_unknown_names_are_skipped_and_illegal_places_corrected():
    gm = two_gathers()
    apply_plan(gm, Plan(("other", "second", "total", "start")))
    assert names(gm) == [
        "x", "y", "again", "second", "start", "first", "sin", "total", "output"
    ]


def write(b, x, y):
    sin = b.add("sin", aten.sin, (x,), b.like(x))
    done = b.add("write", aten.copy_, (x, y), x)
    return [sin, done, b.add("cos", aten.cos, (x,), b.like(x))]


def write_behind_a_wait(b, x, y):
    """A collective reads until it is waited for."""
    first = b.wait("first", b.gather("start", x))
    return [first, b.add("write", aten.copy_, (x, y), x)]


def draws(b, x, y):
    return [b.add(name, aten.bernoulli, (x,), b.like(x)) for name in ("one", "two")]


@pytest.mark.parametrize("body, order, kept", [
    (write, "cos write sin", "sin write cos"),
    (write_behind_a_wait, "start write first", "start first write"),
    (draws, "two one", "one two"),
])
def test_what_has_effects_keeps_its_place(body, order, kept):
    gm = build([("x", (4,)), ("y", (4,))], body)
    apply_plan(gm, Plan(tuple(order.split())))
    assert names(gm) == ["x", "y", *kept.split(), "output"]


def test_what_the_order_does_not_name_holds_no_memory():
    def body(b, x, y):
        cast = b.add("cast", aten.view, (x, [2, 2]), x)
        parts = b.add("parts", aten.split.Tensor, (y, 2), y)
        parts.meta["val"] = [b.tensor((2,)), b.tensor((2,))]
        part = b.item("part", parts, 0)
        sin = b.add("sin", aten.sin, (y,), b.like(y))
        cos = b.add("cos", aten.cos, (cast,), b.like(cast))
        return [cos, sin, part]

    gm = build([("x", (4,)), ("y", (4,))], body)
    apply_plan(gm, Plan(("sin", "parts", "cos")))
    assert names(gm) == ["x", "y", "sin", "parts", "part", "cast", "cos", "output"]


def test_later_waits_come_behind_the_first():
    def body(b, x, y):
        both = b.add("both", c10d.all_gather_into_tensor_coalesced, ([x, y], 2, "dp"))
        both.meta["val"] = [b.tensor((8,)), b.tensor((8,))]
        items = [b.item(f"item_{i}", both, i) for i in range(2)]
        waits = [b.wait(f"wait_{i}", item) for i, item in enumerate(items)]
        return [b.add("sin", aten.sin, (x,), b.like(x)), *waits]

    gm = build([("x", (4,)), ("y", (4,))], body)
    apply_plan(gm, Plan(("both", "sin", "wait_0")))
    assert names(gm) == [
        "x", "y", "both", "item_0", "item_1", "sin", "wait_0", "wait_1",
        "output",
    ]


def test_an_unchanged_plan_changes_nothing():
    gm = two_gathers()
    before = names(gm)
    apply_plan(gm, Plan(("total", "start"), unchanged=True))
    assert names(gm) == before


def test_a_plan_is_text():
    plan = Plan(("a", (0, "start")), unchanged=True)
    assert Plan.from_json(plan.to_json()) == plan
    with pytest.raises(PlanError, match="not a plan"):
        Plan.from_json("{}")
    with pytest.raises(PlanError, match="version 9"):
        Plan.from_json('{"version": 9}')


# -- Schedules of graphs that call other graphs.


def test_calls_that_communicate_become_what_they_run(opt_program):
    gm = with_region()
    graph = gm.graph
    module = import_graph_module(gm, options=ImportOptions({"g": 4}))
    run = opt.run_programs(module, "--commsched-schedule")
    plan = make_plan(run.before, run.after, "main")
    apply_plan(gm, Plan(plan.order, plan.buckets))
    assert gm.graph is graph
    assert names(gm) == [
        "x", "one_mm", "one_ar", "one_w", "two_mm", "two_ar", "two_w", "output"
    ]
    gm.graph.lint()


def test_a_failure_leaves_the_calls(opt_program):
    gm = with_region()
    before = str(gm.graph)
    with pytest.raises(RuntimeError, match="the graph has no 'nothing'"):
        apply_plan(gm, Plan(replacements=(("one_mm", "nothing"),)))
    assert str(gm.graph) == before


def test_other_calls_stay_whole():
    def body(g, x):
        sin = g.add("sin", aten.sin, (x,), g.like(x))
        return (g.add("cos", aten.cos, (sin,), g.like(x)),)

    def uses(g, x):
        call = g.invoke("call", "region", x, value=(g.like(x),))
        item = g.item("item", call, 0)
        exp = g.add("exp", aten.exp, (x,), g.like(x))
        log = g.add("log", aten.log, (x,), g.like(x))
        return item, exp, log

    gm = build([("x", (4, 4))], uses, region=build([("a", (4, 4))], body))
    apply_plan(gm, Plan(("call_sin", "log", "call_cos", "exp")))
    assert names(gm) == ["x", "log", "region", "call", "item", "exp", "output"]


def test_collectives_of_called_graphs_are_found():
    assert has_collectives(with_region())
    assert not has_collectives(build([("x", (4, 4))], lambda g, x: (x,)))
