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


def neg(g, x, name="n"):
    return g.add(name, aten.neg, (x,), g.like(x))


def dead(g, x):
    reduce(g, x)
    return x


def unwaited_use(g, x):
    a = reduce(g, x)
    neg(g, x, "m")
    return neg(g, a)


def two_waits(g, x):
    a = reduce(g, x)
    return wait(g, a, "w1"), wait(g, a, "w2")


def wait_of_a_view(g, x):
    a = reduce(g, x)
    view = g.add("v", aten.view, (a, [2, 2]), a.meta["val"].view(2, 2))
    neg(g, x)
    return wait(g, view)


def size_of_a_start(g, x):
    a = reduce(g, x)
    g.add("size", aten.sym_size.int, (a, 0), 4)
    neg(g, x)
    return wait(g, a)


def second_wait(g, x):
    return wait(g, wait(g, reduce(g, x)), "again"), wait(g, x, "nothing")


def chained(g, x):
    return wait(g, reduce(g, wait(g, reduce(g, x), "w0"), "ar1"), "w1")


def of_what_is_in_flight(g, x):
    return wait(g, reduce(g, reduce(g, x), "ar1"))


@pytest.mark.parametrize("uses, expected, returned", [
    (dead, "%ar %ar_wait", "%x"),
    (unwaited_use, "%ar %m %ar_wait %n", "%n"),
    (second_wait, "%ar %w", "%w, %x"),
    (two_waits, "%ar %w1", "%w1, %w1"),
    # The view goes after the wait, so that the wait stays where it is.
    (wait_of_a_view, "%ar %n %ar_wait %v", "%v : tensor<2x2xf32>"),
    (size_of_a_start, "%ar %n %w", "%w"),
    (chained, "%ar %w0 %ar1 %w1", "%w1"),
    (of_what_is_in_flight, "%ar %ar_wait %ar1 %w", "%w"),
])
def test_place_of_the_wait(imported, uses, expected, returned):
    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text) == expected.split()
    assert f"return {returned}" in text


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
