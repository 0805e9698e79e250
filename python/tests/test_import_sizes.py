# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic sizes: hints, and what has none."""

import re

import pytest
import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv
import torch.distributed._functional_collectives as funcol
from commsched.torch import GraphImportError
from graphs import fake_trace, gather, lines, node_of

def test_symbolic_sizes_become_their_hints(imported):
    def f(x, w):
        n = x.shape[0] * 2
        return torch.mm(x, w).view(n, -1), x.new_zeros(n + 1)

    graph = fake_trace(f, torch.empty(6, 8), torch.empty(8, 4), tracing_mode="symbolic")
    assert any("sym_size" in node.name for node in graph.graph.nodes)
    text = imported(graph)
    assert "sym_size" not in text and "mul" not in text
    assert "-> tensor<6x4xf32>" in text and "-> tensor<12x2xf32>" in text
    assert f"flops = {2.0 * 6 * 8 * 4} : f64" in text
    assert "-> tensor<13xf32>" in text


def unbacked():
    def f(mask, x):
        rows = torch.nonzero(mask)
        return rows.float() @ x

    mode = torch._subclasses.FakeTensorMode(
        shape_env=ShapeEnv(allow_dynamic_output_shape_ops=True)
    )
    with mode:
        inputs = torch.empty(8, dtype=torch.bool), torch.empty(1, 4)
    return fake_trace(f, *inputs)


def test_size_without_a_hint_is_at_most_its_upper_bound(imported):
    nonzero, *_ = lines(imported(unbacked()))
    assert "commsched.size_hints = array<i64: 8>" in nonzero
    assert nonzero.endswith("-> tensor<?x1xi64>")


@pytest.mark.parametrize("name", ["u0", "nonzero_rows"])
def test_user_gives_a_hint(imported, name):
    graph = unbacked()
    if name != "u0":
        nonzero = node_of(graph, "nonzero")
        with graph.graph.inserting_after(nonzero):
            size = graph.graph.call_function(
                torch.ops.aten.sym_size.int, (nonzero, 0), name=name
            )
        size.meta["val"] = nonzero.meta["val"].shape[0]
    text = imported(graph, hints={name: 5})
    assert "commsched.size_hints = array<i64: 5>" in text
    assert f"flops = {2.0 * 5 * 4} : f64" in text


def scalar_graph(function, size=()):
    mode = torch._subclasses.FakeTensorMode(
        shape_env=ShapeEnv(allow_scalar_outputs=True)
    )
    with mode:
        x = torch.empty(size, dtype=torch.int64)
        y = torch.empty(8, 4)
    return fake_trace(function, x, y)


def test_item_that_nobody_uses_is_kept(imported):
    graph = scalar_graph(lambda x, y: (x.item(), y + 1)[1])
    item, add = lines(imported(graph))
    assert "_local_scalar_dense" in item and item.endswith(": (tensor<i64>) -> ()")
    assert '"aten.add.Tensor"(%y_1)' in add


def test_what_is_computed_from_an_item_depends_on_it(imported):
    def f(x, y):
        n = x.item()
        torch._check(n >= 0)
        return y.new_zeros(n + 1)

    item, zeros = lines(imported(scalar_graph(f), hints={"u0": 5}))
    assert zeros.endswith("-> tensor<?xf32>")
    assert "commsched.size_hints = array<i64: 6>" in zeros
    assert item.startswith("%_local_scalar_dense = ")
    assert item.endswith("(tensor<i64>) -> tensor<i64>")
    assert '"aten.new_zeros"(%y_1, %_local_scalar_dense)' in zeros
    assert "bytes = 24 : i64" in zeros


def test_exchange_after_its_splits_are_known(fake_world, imported):
    """The rows to exchange are themselves exchanged first; the order of the
    two must be in the module and not only in the text."""
    group = fake_world(2)
    c10d = torch.ops._c10d_functional

    def f(x, y):
        counts = c10d.wait_tensor(c10d.all_to_all_single(x, [1, 1], [1, 1], group))
        received = counts.tolist()
        for n in received:
            torch._check(n >= 0)
        y = c10d.all_to_all_single(y, received, [3, 5], group)
        return c10d.wait_tensor(y)

    text = imported(scalar_graph(f, (2,)), hints={"u0": 6, "u1": 1})
    sizes = next(line for line in lines(text) if '"commsched.splits"' in line)
    assert "(%_local_scalar_dense, %_local_scalar_dense_1)" in sizes
    exchange = lines(text)[-2]
    assert (
        "input_splits([3, 5]) output_splits(%all_to_all_single_1_received : "
        "tensor<2xi64>)"
    ) in exchange
    assert "commsched.size_hints = array<i64: 7>" in exchange
    assert exchange.endswith("!commsched.future<tensor<?x4xf32>>")


def test_splits_that_are_symbolic(fake_world, imported):
    group = fake_world(2)

    def f(x, y):
        sizes = [y.shape[0], x.shape[0] - y.shape[0]]
        out = torch.ops._c10d_functional.all_to_all_single(x, sizes, sizes, group)
        return torch.ops._c10d_functional.wait_tensor(out)

    graph = fake_trace(f, torch.empty(10, 4), torch.empty(3), tracing_mode="symbolic")
    text = imported(graph)
    assert "input_splits([3, 7]) output_splits([3, 7])" in text


def test_splits_from_a_list_of_a_tensor_as_dynamo_has_them(fake_world, imported):
    """Dynamo does not describe the elements of which it takes the items."""
    fake_world(2)
    group = torch.distributed.group.WORLD

    def f(x, counts):
        sizes = counts.tolist()
        return funcol.all_to_all_single(x, sizes, sizes, group) * 2

    graphs = []

    def keep(graph, _):
        graphs.append(graph)
        return graph

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        torch.compile(f, backend=keep, fullgraph=True)(
            torch.empty(4, 8), torch.tensor([2, 2])
        )
    text = imported(*graphs, hints={"u0": 3, "u1": 1})
    assert text.count("-> tensor<i64>") == 4
    assert re.search(r"input_splits\(%\w+_sent : tensor<2xi64>\)", text)
    assert re.search(r"output_splits\(%\w+_received : tensor<2xi64>\)", text)


def counts_graph(function, group):
    """A graph that routes rows: how many, it reads from `counts`."""
    c10d = torch.ops._c10d_functional

    def f(counts, y):
        numbers = counts.tolist()
        for number in numbers:
            torch._check(number >= 0)
        function(numbers, y)
        sent, received = numbers[:2], numbers[2:]
        there = c10d.all_to_all_single(y, received, sent, group)
        return c10d.wait_tensor(there) + 1

    return scalar_graph(f, (4,))


def expected_sizes(text):
    """Returns what is expected of the dynamic sizes, in program order."""
    found = re.findall(r"size_hints = array<i64: (\d+)>", text)
    return [int(number) for number in found]


def test_size_of_which_nothing_is_known(imported):
    def f(x, y):
        n = x.item()
        torch._check(n >= 0)
        return y.new_zeros(n)

    text = imported(scalar_graph(f))
    assert "-> tensor<?xf32>" in text and "size_hints" not in text
    text = imported(scalar_graph(f), default_size=100)
    assert expected_sizes(text) == [100]


@pytest.mark.parametrize(
    "check, hints, expected",
    [
        # As many rows are received as are sent, of the eight there are.
        (lambda numbers, y: None, {}, 8),
        (lambda n, y: torch._check(n[2] + n[3] == 5), {}, 5),
        # What is given need not add up.
        (lambda numbers, y: None, {"u2": 7, "u3": 6}, 13),
    ],
    ids=["sent", "asserted", "given"],
)
def test_rows_of_an_exchange(fake_world, imported, check, hints, expected):
    text = imported(counts_graph(check, fake_world(2)), hints=hints)
    assert "-> !commsched.future<tensor<?x4xf32>>" in text
    assert expected_sizes(text) == [expected] * 2


# -- Times that are given for nodes.


def graph(group):
    def f(x, y):
        return torch.mm(gather(x, group), y)

    return fake_trace(f, torch.empty(4, 8), torch.empty(8, 4))


def test_times_by_node(fake_world, imported):
    times = {"all_gather_into_tensor": 7000, "wait_tensor": 5, "mm": 0, "other": 1}
    gather, wait, mm = lines(imported(graph(fake_world(2)), runtimes=times))
    assert "commsched.runtime_ns = 7000 : i64" in gather
    assert "runtime_ns" not in wait
    assert "commsched.runtime_ns = 0 : i64" in mm


@pytest.mark.parametrize("time", [-1, 2.5, None])
def test_time_that_is_none(fake_world, imported, time):
    with pytest.raises(GraphImportError, match="runtime of 'mm' is"):
        imported(graph(fake_world(2)), runtimes={"mm": time})
