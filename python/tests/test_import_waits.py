# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where waits go, also in graphs that wait oddly."""

import pytest

torch = pytest.importorskip("torch")

from graphs import build, lines  # noqa: E402

aten = torch.ops.aten
c10d = torch.ops._c10d_functional
GROUPS = {"groups": {"g": 4}}


def reduce(g, x, name="ar"):
    return g.add(name, c10d.all_reduce, (x, "sum", "g"), g.like(x))


def wait(g, x, name="w"):
    return g.add(name, c10d.wait_tensor, (x,), g.like(x))


def names(text):
    return [line.split(" =")[0] for line in lines(text)]


def test_return_of_what_nobody_waited_for(imported):
    def uses(g, x):
        a, b = reduce(g, x, "a"), reduce(g, x, "b")
        return b, a, g.add("n", aten.neg, (x,), g.like(x))

    text = imported(build([("x", (4,))], uses), **GROUPS)
    # In the order of the starts, not of the results.
    assert names(text) == ["%a", "%b", "%n", "%a_wait", "%b_wait"]
    assert '{commsched.name = "a.wait", commsched.origin = ["a"]}' in text
    assert "return %b_wait, %a_wait, %n" in text


def test_dead_collective_is_kept(imported):
    def uses(g, x):
        reduce(g, x)
        return x

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text) == ["%ar", "%ar_wait"]
    assert "return %x" in text


def test_use_that_nobody_waited_for_waits(imported):
    def uses(g, x):
        a = reduce(g, x)
        g.add("m", aten.neg, (x,), g.like(x))
        return g.add("n", aten.neg, (a,), g.like(x))

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text) == ["%ar", "%m", "%ar_wait", "%n"]


def test_second_wait_and_wait_of_nothing_in_flight(imported):
    def uses(g, x):
        a = wait(g, reduce(g, x))
        b = wait(g, a, "again")
        return b, wait(g, x, "nothing")

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text) == ["%ar", "%w"]
    assert "return %w, %x" in text


def test_two_waits_of_one_start(imported):
    def uses(g, x):
        a = reduce(g, x)
        return wait(g, a, "w1"), wait(g, a, "w2")

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text) == ["%ar", "%w1"]
    assert "return %w1, %w1" in text


def test_wait_of_a_view_of_a_start(imported):
    """The view goes after the wait, so that the wait stays where it is."""

    def uses(g, x):
        a = reduce(g, x)
        view = g.add("v", aten.view, (a, [2, 2]), a.meta["val"].view(2, 2))
        g.add("n", aten.neg, (x,), g.like(x))
        return g.add("w", c10d.wait_tensor, (view,), g.like(view))

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text) == ["%ar", "%n", "%ar_wait", "%v"]
    assert "return %v : tensor<2x2xf32>" in text


def test_size_of_a_start_does_not_wait(imported):
    def uses(g, x):
        a = reduce(g, x)
        g.add("size", aten.sym_size.int, (a, 0), 4)
        g.add("n", aten.neg, (x,), g.like(x))
        return wait(g, a)

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text) == ["%ar", "%n", "%w"]


def test_chained_collectives(imported):
    def uses(g, x):
        return wait(g, reduce(g, wait(g, reduce(g, x), "w0"), "ar1"), "w1")

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text) == ["%ar", "%w0", "%ar1", "%w1"]


def test_collective_of_what_is_in_flight_waits_first(imported):
    def uses(g, x):
        return wait(g, reduce(g, reduce(g, x), "ar1"))

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text) == ["%ar", "%ar_wait", "%ar1", "%w"]


def test_long_chain_of_views_of_a_start(imported):
    """Longer than the interpreter's stack is deep."""
    length = 3000

    def uses(g, x):
        a = view = reduce(g, x)
        for index in range(length):
            view = g.add(f"v{index}", aten.view, (view, [4]), view)
        return wait(g, a), view

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text)[:3] == ["%ar", "%w", "%v0"]
    assert len(lines(text)) == length + 2
