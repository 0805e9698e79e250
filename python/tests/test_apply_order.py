# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Putting an order back into a graph."""

import pytest

torch = pytest.importorskip("torch")

from graphs import build  # noqa: E402

from commsched.torch.rewriting import Plan, PlanError, apply_plan  # noqa: E402

aten = torch.ops.aten
c10d = torch.ops._c10d_functional


def names(gm):
    return [node.name for node in gm.graph.nodes]


def gather(b, name, source):
    value = b.like(source, (2 * source.meta["val"].shape[0],))
    return b.add(name, c10d.all_gather_into_tensor, (source, 2, "dp"), value)


def wait(b, name, source):
    return b.add(name, c10d.wait_tensor, (source,), b.like(source))


def two_gathers():
    def body(b, x, y):
        start = gather(b, "start", x)
        first = wait(b, "first", start)
        sin = b.add("sin", aten.sin, (first,), b.like(first))
        again = gather(b, "again", y)
        second = wait(b, "second", again)
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


def test_a_write_keeps_its_place():
    def body(b, x, y):
        sin = b.add("sin", aten.sin, (x,), b.like(x))
        write = b.add("write", aten.copy_, (x, y), x)
        cos = b.add("cos", aten.cos, (x,), b.like(x))
        return [sin, write, cos]

    gm = build([("x", (4,)), ("y", (4,))], body)
    apply_plan(gm, Plan(("cos", "write", "sin")))
    assert names(gm) == ["x", "y", "sin", "write", "cos", "output"]


def test_a_collective_reads_until_it_is_waited_for():
    def body(b, x, y):
        start = gather(b, "start", x)
        first = wait(b, "first", start)
        write = b.add("write", aten.copy_, (x, y), x)
        return [first, write]

    gm = build([("x", (4,)), ("y", (4,))], body)
    apply_plan(gm, Plan(("start", "write", "first")))
    assert names(gm) == ["x", "y", "start", "first", "write", "output"]


def test_random_numbers_are_drawn_in_order():
    def body(b, x):
        one = b.add("one", aten.bernoulli, (x,), b.like(x))
        two = b.add("two", aten.bernoulli, (x,), b.like(x))
        return [one, two]

    gm = build([("x", (4,))], body)
    apply_plan(gm, Plan(("two", "one")))
    assert names(gm) == ["x", "one", "two", "output"]


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
    assert names(gm) == [
        "x", "y", "sin", "parts", "part", "cast", "cos", "output"
    ]


def test_later_waits_come_behind_the_first():
    def body(b, x, y):
        both = b.add(
            "both", c10d.all_gather_into_tensor_coalesced, ([x, y], 2, "dp")
        )
        both.meta["val"] = [b.tensor((8,)), b.tensor((8,))]
        items = [b.item(f"item_{i}", both, i) for i in range(2)]
        waits = [wait(b, f"wait_{i}", item) for i, item in enumerate(items)]
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
