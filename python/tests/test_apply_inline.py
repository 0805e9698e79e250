# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of graphs that call other graphs."""

import pytest

torch = pytest.importorskip("torch")

from commsched import opt  # noqa: E402
from commsched.torch import ImportOptions, import_graph_module  # noqa: E402
from commsched.torch.compiling.schedule import has_collectives  # noqa: E402
from commsched.torch.rewriting import Plan, apply_plan, make_plan  # noqa: E402
from graphs import build  # noqa: E402
from test_import_inline import with_region  # noqa: E402

aten = torch.ops.aten


def names(gm):
    return [node.name for node in gm.graph.nodes]


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

    root = torch.nn.Module()
    root.region = build([("a", (4, 4))], body)

    def uses(g, x):
        op = torch.ops.higher_order.invoke_subgraph
        held = g.graph.get_attr("region")
        call = g.add("call", op, (held, "region", x), (g.like(x),))
        item = g.item("item", call, 0)
        exp = g.add("exp", aten.exp, (x,), g.like(x))
        log = g.add("log", aten.log, (x,), g.like(x))
        return item, exp, log

    gm = build([("x", (4, 4))], uses, root)
    apply_plan(gm, Plan(("call_sin", "log", "call_cos", "exp")))
    assert names(gm) == [
        "x", "log", "region", "call", "item", "exp", "output"
    ]


def test_collectives_of_called_graphs_are_found():
    assert has_collectives(with_region())
    assert not has_collectives(build([("x", (4, 4))], lambda g, x: (x,)))
