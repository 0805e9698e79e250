# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every collective of PyTorch's functional namespaces."""

import pytest
import torch
import torch.distributed.tensor  # registers _dtensor
from commsched.torch import GraphImportError
from graphs import build, fake_trace, gather, lines, reduce, scatter

c10d = torch.ops._c10d_functional


def trace_collective(function, *shapes, dtype=torch.float32):
    return fake_trace(function, *[torch.empty(s, dtype=dtype) for s in shapes])


def test_all_gather_becomes_start_and_wait(fake_world, imported):
    name = fake_world(8)

    text = imported(trace_collective(lambda x: gather(x, name, 8) + 1, (4, 16)))
    assert "commsched.group @pg_0 size(8) ranks_per_node(8)\n" in text
    start, wait, add = lines(text)
    assert start == (
        "%all_gather_into_tensor = commsched.all_gather %x_1 on @pg_0 dim(0) "
        '{commsched.name = "all_gather_into_tensor"} : tensor<4x16xf32> -> '
        "!commsched.future<tensor<32x16xf32>>"
    )
    assert wait == (
        "%wait_tensor = commsched.wait %all_gather_into_tensor "
        '{commsched.name = "wait_tensor"} : '
        "!commsched.future<tensor<32x16xf32>>"
    )
    assert '"aten.add.Tensor"(%wait_tensor)' in add


@pytest.mark.parametrize(
    "torch_name, name", [("sum", "sum"), ("AVG", "avg"), ("product", "prod")]
)
def test_reductions(fake_world, imported, torch_name, name):
    group = fake_world(8)

    def f(x):
        return scatter(reduce(x, group, torch_name), group, torch_name, 8)

    text = imported(trace_collective(f, (16, 4)))
    assert f"all_reduce %x_1 on @pg_0 reduction({name}) {{" in text
    assert f"on @pg_0 reduction({name}) dim(0) {{" in text
    assert "!commsched.future<tensor<2x4xf32>>" in text


def test_results_in_a_given_buffer(fake_world, imported):
    group = fake_world(4)

    def f(x):
        out = x.new_empty((16, 2))
        y = c10d.all_gather_into_tensor_out(x, 4, group, out=out)
        part = torch.empty((4, 2), device=x.device)
        y = c10d.reduce_scatter_tensor_out(
            c10d.wait_tensor(y), "sum", 4, group, out=part
        )
        return c10d.wait_tensor(y)

    text = imported(trace_collective(f, (4, 2)))
    assert "dim(0) into %new_empty {" in text
    assert ": tensor<4x2xf32> into tensor<16x2xf32> -> " in text
    assert "reduction(sum) dim(0) into %empty {" in text


@pytest.mark.parametrize("op, extra, result", [
    ("all_gather_into_tensor_coalesced", (4,), ("16x2xf32", "32xf32")),
    ("all_reduce_coalesced", ("sum",), ("4x2xf32", "8xf32")),
    ("reduce_scatter_tensor_coalesced", ("avg", 4), ("1x2xf32", "2xf32")),
])
def test_coalesced_is_one_start_and_one_wait(fake_world, imported, op, extra, result):
    group = fake_world(4)

    def f(a, b):
        x, y = getattr(c10d, op)([a, b], *extra, group)
        return c10d.wait_tensor(x) + 1, c10d.wait_tensor(y)

    text = imported(trace_collective(f, (4, 2), (8,)))
    start, wait, add = lines(text)
    types = ", ".join(f"tensor<{t}>" for t in result)
    assert " %a_1, %b_1 on @pg_0 " in start
    assert start.endswith(f"-> !commsched.future<{types}>")
    assert wait.startswith("%wait_tensor, %wait_tensor_1 = commsched.wait")
    assert '"aten.add.Tensor"(%wait_tensor)' in add
    assert "return %add, %wait_tensor_1" in text


def test_wait_of_a_coalesced_start_is_at_the_first_wait(fake_world, imported):
    group = fake_world(4)

    def f(a, b):
        x, y = c10d.all_reduce_coalesced([a, b], "sum", group)
        c = a * 2
        y = c10d.wait_tensor(y)
        d = y * 3
        return c10d.wait_tensor(x), c, d

    text = imported(trace_collective(f, (4,), (8,)))
    kinds = [line.split(" = ")[1].split()[0] for line in lines(text)]
    assert kinds == [
        "commsched.all_reduce",
        "commsched.compute",
        "commsched.wait",
        "commsched.compute",
    ]
    # The wait is called after the first wait; each value after its own.
    assert '%wait_tensor_1, %wait_tensor = commsched.wait' in text
    assert '{commsched.name = "wait_tensor"}' in text


def test_all_to_all_even_and_uneven(fake_world, imported):
    group = fake_world(2)

    def f(x, y):
        a = c10d.all_to_all_single(x, [2, 2], [2, 2], group)
        b = c10d.all_to_all_single(y, [5, 7], [3, 7], group)
        return c10d.wait_tensor(a), c10d.wait_tensor(b)

    text = imported(trace_collective(f, (4, 2), (10, 16)))
    even, uneven = [line for line in lines(text) if "all_to_all %" in line]
    assert "split_dim(0) concat_dim(0) {" in even
    assert "input_splits([3, 7]) output_splits([5, 7])" in uneven
    assert "!commsched.future<tensor<12x16xf32>>" in uneven


aten = torch.ops.aten
GROUPS = {"groups": {"g": 4}}
#: Graphs, and texts that are in the function of each, in this order.
GRAPHS = []


def graph(*texts, **shapes):
    """Adds the graph of a function of tensors of these shapes."""
    return lambda uses: GRAPHS.append((uses, shapes, texts))


@graph("into %x {", "tensor<8x2xf32> into tensor<8x2xf32> -> ",
       "%w = commsched.wait %ar ", '"aten.neg"(%w)', x=(8, 2))
def in_place_all_reduce(g, x):
    start = g.add("ar", c10d.all_reduce_, (x, "sum", "g"), x)
    g.add("w", c10d.wait_tensor, (start,), x)
    # Reads the buffer and not the wait: has to see what was reduced.
    return g.add("y", aten.neg, (x,), x)


@graph("into %a, %b {", "%w, %ar_wait = commsched.wait %ar", '"aten.neg"(%ar_wait)',
       a=(4,), b=(8,))
def in_place_coalesced(g, a, b):
    both = g.add("ar", c10d.all_reduce_coalesced_, ([a, b], "sum", "g"), [a, b])
    g.add("w", c10d.wait_tensor, (g.item("i0", both, 0),), a)
    return g.add("n", aten.neg, (b,), b)


# Nothing waits for it in the graph.
@graph("split_dim(0) concat_dim(1)", "!commsched.future<tensor<2x16xf32>>",
       '%s_wait = commsched.wait %s {commsched.name = "s.wait", ', x=(8, 4))
def shard_dim_all_to_all(g, x):
    return g.add("s", torch.ops._dtensor.shard_dim_alltoall, (x, 1, 0, "g"),
                 g.like(x, (2, 16)))


@graph("commsched.broadcast %x on @pg_g root(3) {",
       "commsched.broadcast %x on @pg_g root(0) into %x {", x=(8, 4))
def broadcast_and_its_in_place_form(g, x):
    a = g.wait("w", g.add("b", c10d.broadcast, (x, 3, "g"), g.like(x)))
    b = g.add("c", c10d.broadcast_, (x, 0, "g"), x)
    return a, g.add("w2", c10d.wait_tensor, (b,), x)


@graph("commsched.send %x on @pg_g to(1) tag(7) {", "-> !commsched.future\n",
       "commsched.recv on @pg_g from(2) tag(8) into %buf {", "commsched.wait %s {",
       "%wr = commsched.wait %r {", x=(8, 4))
def send_and_receive(g, x):
    buffer = g.add("buf", aten.empty_like, (x,), g.like(x))
    s = g.add("s", c10d.isend, (x, 1, 7, "g"), g.like(x, (0,)))
    r = g.add("r", c10d.irecv, (buffer, 2, 8, "g"), buffer)
    g.add("ws", c10d.wait_tensor, (s,), g.like(x))
    return g.add("wr", c10d.wait_tensor, (r,), g.like(x))


@graph("commsched.send %x on @pg_g to(1) tag(0) ",
       "commsched.recv on @pg_g from(3) tag(0) into %y ", 'commsched.name = "p2p.1"',
       "return %w1", x=(8,), y=(8,))
def batched_point_to_point(g, x, y):
    ops = (["isend", "irecv"], [1, 3], [0, 0], [x, y], "g")
    ops = g.add("p2p", c10d.batch_p2p_ops, ops, [g.like(x, (0,)), y])
    g.add("w0", c10d.wait_tensor, (g.item("i0", ops, 0),), x)
    return g.add("w1", c10d.wait_tensor, (g.item("i1", ops, 1),), y)


@graph("@pg_ranks_0_to_24_by_8 size(4) ranks_per_node(1) stride(8)",
       "size(3) ranks_per_node(3) ranks(dense<[[0, 1, 5]]>", x=(4,))
def legacy_collectives_name_their_ranks(g, x):
    legacy, whole = torch.ops.c10d_functional, g.like(x, (12,))
    a = g.add("ar", legacy.all_reduce, (x, "sum", "", [0, 8, 16, 24], 4), g.like(x))
    a = g.add("w", legacy.wait_tensor, (a,), g.like(x))
    b = g.add("ag", legacy.all_gather_into_tensor, (a, "", [0, 1, 5], 3), whole)
    return g.add("w2", legacy.wait_tensor, (b,), whole)


# The wait is of a wrapper of the start.
@graph("%ag = commsched.all_gather %x on @pg_g", "= commsched.wait %ag", x=(8,))
def autograd_forms(g, x):
    gather = torch.ops._c10d_functional_autograd.all_gather_into_tensor
    a = g.add("ag", gather, (x, 4, "g"), g.like(x, (32,)))
    return g.wait("w", g.add("wrap", c10d._wrap_tensor_autograd, (a,), g.like(a)))


@graph("alias = 0", "tensor<1xf32>", ": tensor<1xf32> -> !commsched.future<tensor<4xf32>>",
       x=())
def gather_of_a_scalar(g, x):
    args = (x, 4, "g")
    return g.wait("w", g.add("ag", c10d.all_gather_into_tensor, args, g.like(x, (4,))))


@pytest.mark.parametrize("uses, shapes, texts", GRAPHS, ids=[u.__name__ for u, *_ in GRAPHS])
def test_graphs(imported, uses, shapes, texts):
    text, place = imported(build([*shapes.items()], uses), **GROUPS), 0
    for part in texts:
        assert part in text[place:], text
        place = text.index(part, place) + len(part)


@pytest.mark.parametrize(
    "reduction, dtype",
    [("bor", torch.bool), ("max", torch.bool), ("avg", torch.complex64),
     ("min", torch.float8_e5m2), ("prod", torch.int64), ("band", torch.int64),
     ("bxor", torch.int64)],
)
def test_reduction_that_the_type_has(imported, reduction, dtype):
    given = {"prod": "product"}.get(reduction, reduction)
    args = (given, "g")
    graph = build([("x", (8,), dtype)], lambda g, x: g.add(
        "ar", c10d.all_reduce, (x, *args), g.like(x)))
    assert f"reduction({reduction})" in imported(graph, groups={"g": 4})


@pytest.mark.parametrize("op, arguments, message", [
    (c10d.all_reduce, ("x", "premul_sum", "g"), "premul_sum"),
    (c10d.all_to_all_single, ("x", "x", "x", "g"), "input splits are not"),
    (c10d.all_to_all_single, ("x", [2, 2, 2, 2], [3, 5], "g"),
     "2 input splits.*size 4"),
    (c10d.all_to_all_single, ("x", [2, 2, 2, 2], [3, 1, 1, 1], "g"),
     r"\[3, 1, 1, 1\].*8"),
    (c10d.all_gather_into_tensor_out, ("x", 4, "g"), "into.*bf16.*32xf32"),
    (c10d.reduce_scatter_tensor, ("uneven", "sum", 4, "g"), "size 10 dim.*size 4"),
    (c10d.batch_p2p_ops,
     (["isend", "irecv"], [1], [0, 0], ["x", "x"], "g"),
     "2 operations, 1 peers"),
    (c10d.wait_tensor, (None,), "waits for None"),
    (torch.ops._dtensor.shard_dim_alltoall, ("x", 5, 0, "g"), "no dimension 5"),
    (c10d.broadcast, ("x",), "lacks its argument 'src'"),
    (c10d.broadcast, ("x", 4, "g"), "rank 4.*size 4"),
    (c10d.all_reduce, ("x", "sum", "g", 4), "more than its arguments input"),
    # What the node gives is like x.
    (c10d.all_reduce, ("uneven", "sum", "g"), "8xf32.*10xf32"),
    (c10d.all_reduce, ("ints", "avg", "g"), "'avg' is not.*type i32"),
    (c10d.all_reduce, ("bytes", "avg", "g"), "'avg' is not.*type ui8"),
    (c10d.all_reduce, ("x", "band", "g"), "'band' is not.*type f32"),
    (c10d.all_reduce, ("complex", "max", "g"), "'max' is not.*type complex<f32>"),
    (torch.ops.symm_mem.one_shot_all_reduce, ("x", "sum", "g"),
     "unknown collective 'symm_mem"),
])
def test_malformed_collectives_name_the_node(imported, op, arguments, message):
    inputs = [("x", (8,)), ("buffer", (32,), torch.bfloat16), ("uneven", (10,)),
              ("ints", (8,), torch.int32), ("bytes", (8,), torch.uint8),
              ("complex", (8,), torch.complex64)]

    def uses(g, *nodes):
        known = dict(zip([name for name, *_ in inputs], nodes))
        args = torch.utils._pytree.tree_map(
            lambda item: known.get(item, item) if isinstance(item, str) else item,
            arguments,
        )
        is_out = op is c10d.all_gather_into_tensor_out
        kwargs = {"out": known["buffer"]} if is_out else {}
        first = arguments[0] if isinstance(arguments[0], str) else "x"
        value = g.like(known[first], (32,) if is_out else (8,))
        return g.add("odd", op, args, value, kwargs)

    with pytest.raises(GraphImportError, match=f"node 'odd'.*{message}") as caught:
        imported(build(inputs, uses), groups={"g": 4})
    assert caught.value.node_name == "odd"


# -- Where waits go, also in graphs that wait oddly.


def names(text):
    return [line.split(" =")[0] for line in lines(text)]


def test_return_of_what_nobody_waited_for(imported):
    def uses(g, x):
        a, b = g.reduce("a", x), g.reduce("b", x)
        return b, a, neg(g, x)

    text = imported(build([("x", (4,))], uses), **GROUPS)
    # In the order of the starts, not of the results.
    assert names(text) == ["%a", "%b", "%n", "%a_wait", "%b_wait"]
    assert '{commsched.name = "a.wait", commsched.origin = ["a"]}' in text
    assert "return %b_wait, %a_wait, %n" in text


def neg(g, x, name="n"):
    return g.add(name, aten.neg, (x,), g.like(x))


def dead(g, x):
    g.reduce("ar", x)
    return x


def unwaited_use(g, x):
    a = g.reduce("ar", x)
    neg(g, x, "m")
    return neg(g, a)


def two_waits(g, x):
    a = g.reduce("ar", x)
    return g.wait("w1", a), g.wait("w2", a)


def wait_of_a_view(g, x):
    a = g.reduce("ar", x)
    view = g.add("v", aten.view, (a, [2, 2]), a.meta["val"].view(2, 2))
    neg(g, x)
    return g.wait("w", view)


def size_of_a_start(g, x):
    a = g.reduce("ar", x)
    g.add("size", aten.sym_size.int, (a, 0), 4)
    neg(g, x)
    return g.wait("w", a)


def second_wait(g, x):
    again = g.wait("again", g.wait("w", g.reduce("ar", x)))
    return again, g.wait("nothing", x)


def chained(g, x):
    return g.wait("w1", g.reduce("ar1", g.wait("w0", g.reduce("ar", x))))


def of_what_is_in_flight(g, x):
    return g.wait("w", g.reduce("ar1", g.reduce("ar", x)))


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
        a = view = g.reduce("ar", x)
        for index in range(length):
            view = g.add(f"v{index}", aten.view, (view, [4]), view)
        return g.wait("w", a), view

    text = imported(build([("x", (4,))], uses), **GROUPS)
    assert names(text)[:3] == ["%ar", "%w", "%v0"]
    assert len(lines(text)) == length + 2
