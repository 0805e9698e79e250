# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules by which imported operators can be computed in chunks."""

import dataclasses
import re

import pytest
import torch
from commsched.options import ScheduleOptions
from commsched.torch import Options
from commsched.torch.importer.aliases import Operand, operands_of
from commsched.torch.importer.environment import Bound, bind_structure
from commsched.torch.importer.split_rules import SplitRules
from commsched.torch.importer.split_views import reshape_axes
from commsched.torch.importer.targets import operator_name
from commsched.torch.importer.types import Values, leaves
from graphs import fake_trace, lines
from test_import_sizes import scalar_graph
from torch_step import StepOptions, trace_module


@pytest.mark.parametrize("operand, result, text", [
    ((8, 1024, 64), (1, 8192, 64), "a b c -> _ (a b) c"),
    ((8192, 64), (8, 1024, 64), "(a b) c -> a b c"),
    ((4, 6), (4, 6), "a b -> a b"),
    ((4, 1, 6), (4, 6, 1, 1), "a _ b -> a b _ _"),
    ((6, 4), (4, 6), "(a 3) _ -> (a 2) _"),
    ((6, 4, 5), (4, 6, 5), "(a 3) _ b -> (a 2) _ b"),
    ((3, 5), (5, 3), None),
    ((12, 2), (4, 6), "(a b) c -> a (b c)"),
    ((), (1, 1), None),
])
def test_reshapes_keep_the_row_major_order(operand, result, text):
    assert reshape_axes(operand, result).text() == text


def attention(dropout):
    def run(q, k, v):
        found = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, dropout)
        return found[0], found[1], found[6]

    return fake_trace(run, *[torch.empty(2, 4, 16, 8).bfloat16()] * 3)


def test_states_of_attention_without_dropout_are_apart(imported):
    """No chunk gives a part of them."""
    text = imported(attention(0.0))
    rule = "a b _ _, a b _ _, a b _ _ -> a b _ _, a b _"
    assert f'split = "{rule}"' in text
    (state,) = [l for l in lines(text) if "attention.state" in l]
    assert state.endswith(": () -> (tensor<2xui64>, tensor<ui64>, "
                          "tensor<0xbf16>)")
    text = imported(attention(0.5))
    assert "split = " not in text and ".state" not in text


def test_rules_can_be_left_out(imported):
    graph = fake_trace(torch.mm, torch.empty(4, 8), torch.empty(8, 6))
    assert "split" not in imported(graph, split=False)


def test_frontends_do_not_split():
    """Their ways back know no chunks."""
    for options in (ScheduleOptions(), Options()):
        assert "split=off" in options.pipeline_flag()


def test_dimensions_of_unknown_size_are_whole(imported):
    def f(x, y):
        n = x.item()
        torch._check(n >= 0)
        return torch.mm(y.new_zeros(n, 8), y).view(-1, 2, 2)

    text = imported(scalar_graph(f))
    rules = re.findall(r'split = "([^"]*)"', text)
    assert rules == ["_ a, a b -> _ b"]


# -- An operator that is computed in chunks, as its rule says, gives what it
# gives as a whole: bit for bit, or for a sum with numbers that add up exactly.


aten = torch.ops.aten


def node_of(function, operands, results):
    """Returns the node of the operator that `function` calls."""
    shapes = [list(result.shape) for result in results]
    gm = fake_trace(lambda *xs: function(xs, shapes), *operands)
    (node,) = [
        node
        for node in gm.graph.nodes
        if node.op == "call_function" and "getitem" not in node.name
    ]
    return node


def rule_of(node):
    values = Values()

    def environment(source):
        return bind_structure(values.of(source), lambda f: Bound(None, f))

    tensors = [
        Operand(operand.node, operand.facts, operand.argument)
        for operand, _ in operands_of(node, environment)
    ]
    return SplitRules(values).of(node, tensors, leaves(values.of(node)))


def reals(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(7))


def whole_numbers(*shape):
    """Numbers whose products and sums have no rounding."""
    generator = torch.Generator().manual_seed(7)
    return torch.randint(-4, 5, shape, generator=generator).double()


def indices(limit, *shape):
    generator = torch.Generator().manual_seed(7)
    return torch.randint(0, limit, shape, generator=generator)


def call(op, *after, **named):
    """An operator of the operands alone, or with constants behind them."""
    return lambda *xs: op(*xs, *after, **named)


R, W, I = reals, whole_numbers, indices
offsets = torch.tensor([2, 2, 5, 8], dtype=torch.int32)
grouped_mm = lambda x, y, offs: aten._grouped_mm(x, y, offs=offs)  # noqa: E731
attention_on_cpu = aten._scaled_dot_product_flash_attention_for_cpu
attention_of_gradients = call(
    aten._scaled_dot_product_flash_attention_for_cpu_backward, 0.0, True
)

#: The function of an operator, its operands, and its axes: (p)arts of results and
#: (s)ums.
CASES = {
    "mm": (aten.mm, [W(8, 12), W(12, 4)], "pps"),
    "grouped_mm": (
        grouped_mm, [W(8, 32).bfloat16(), W(4, 32, 32).bfloat16(), offsets], "ps"
    ),
    "grouped_mm_of_gradients": (
        grouped_mm, [W(32, 8).bfloat16(), W(8, 32).bfloat16(), offsets], "pp"
    ),
    "addmm": (aten.addmm, [W(4), W(8, 12), W(12, 4)], "pp"),
    "bmm": (aten.bmm, [W(4, 8, 12), W(4, 12, 4)], "ppps"),
    "t": (aten.t, [R(8, 4)], "pp"),
    "transpose": (call(aten.transpose.int, 1, 2), [R(4, 8, 12)], "ppp"),
    "permute": (call(aten.permute, [2, 0, 1]), [R(4, 8, 12)], "ppp"),
    "cat": (lambda *xs: aten.cat(xs, 1), [R(4, 8)] * 3, "pp"),
    "cat_other": (lambda *xs: aten.cat(xs, 1), [R(4, 8), R(4, 4)], "p"),
    "stack": (lambda *xs: aten.stack(xs, 1), [R(4, 8)] * 2, "pp"),
    "unbind": (call(aten.unbind, 1), [R(4, 2, 8)], "pp"),
    "select": (call(aten.select, 1, 1), [R(4, 2, 8)], "pp"),
    "slice": (call(aten.slice, 1, 1, 5), [R(4, 8)], "p"),
    "unsqueeze": (call(aten.unsqueeze, 1), [R(4, 8)], "pp"),
    "squeeze": (call(aten.squeeze.dim, 1), [R(4, 1, 8)], "pp"),
    "to_copy": (call(aten._to_copy, dtype=torch.bfloat16), [R(4, 8)], "pp"),
    "mul": (aten.mul.Tensor, [R(4, 8, 4), R(8, 1)], "ppp"),
    **{
        name: (getattr(aten, name).Tensor, [R(4, 8), R(4, 1)], "pp")
        for name in ("add", "sub", "div")
    },
    **{
        name: (call(operator, 3), [R(4, 8)], "pp")
        for name, operator in (
            ("mul_scalar", aten.mul.Scalar),
            ("div_scalar", aten.div.Scalar),
            ("pow", aten.pow.Tensor_Scalar),
            ("ge", aten.ge.Scalar),
            ("lt", aten.lt.Scalar),
        )
    },
    # Chunks are whole vectors of any processor: what is left may be rounded otherwise.
    **{
        name: (getattr(aten, name), [R(4, 64).abs()], "pp")
        for name in "rsqrt neg silu sigmoid gelu exp log clone zeros_like ones_like".split()
    },
    "silu_backward": (aten.silu_backward, [R(4, 8), R(4, 8)], "pp"),
    "ne": (call(aten.ne.Scalar, 2), [I(4, 4, 8)], "pp"),
    "bitwise_or": (aten.bitwise_or.Tensor, [R(4, 8) > 0, R(4, 8) < 1], "pp"),
    "where": (aten.where.self, [R(4, 8) > 0, R(8), R()], "pp"),
    "masked_fill": (call(aten.masked_fill.Scalar, 0.0), [R(4, 8), R(4, 8) > 0], "pp"),
    "sum": (call(aten.sum.dim_IntList, [0], True), [W(4, 8)], "ps"),
    "sum_all": (aten.sum, [W(4, 8)], "ss"),
    "mean": (call(aten.mean.dim, [-1], True), [R(4, 8)], "p"),
    "amax": (call(aten.amax, [1]), [R(4, 8)], "p"),
    **{
        name: (call(getattr(aten, f"_{name}"), -1, False), [R(4, 8)], "p")
        for name in ("softmax", "log_softmax")
    },
    **{
        f"{name}_backward": (
            call(getattr(aten, f"_{name}_backward_data"), -1, torch.float32),
            [R(4, 8), getattr(R(4, 8), name)(-1)],
            "p",
        )
        for name in ("softmax", "log_softmax")
    },
    "nll_loss_backward": (
        lambda g, x, target, total: aten.nll_loss_backward(
            g, x, target, None, 1, -100, total
        ),
        [R(), R(4, 8), I(8, 4), torch.tensor(4.0)],
        "p",
    ),
    "embedding": (aten.embedding, [R(6, 8), I(6, 4, 4)], "ppp"),
    "embedding_backward": (
        call(aten.embedding_dense_backward, 6, -1, False),
        [W(4, 4, 8), I(6, 4, 4)],
        "pss",
    ),
    "gather": (lambda x, at: aten.gather(x, 1, at), [R(4, 8), I(8, 4, 4)], "pp"),
    "index": (lambda x, at: aten.index(x, [at]), [R(8, 4), I(8, 12)], "pp"),
    "index_put": (
        lambda x, at, y: aten.index_put(x, [at], y, True),
        [W(8, 4), I(8, 12), W(12, 4)],
        "p",
    ),
    "index_select": (
        lambda x, at: aten.index_select(x, 0, at), [R(8, 4), I(8, 12)], "pp"
    ),
    "scatter": (
        lambda x, at, y: aten.scatter.src(x, 1, at, y),
        [R(4, 8), I(8, 4, 2), R(4, 2)],
        "p",
    ),
    "scatter_add": (
        lambda x, at, y: aten.scatter_add(x, 0, at, y),
        [W(8, 4), I(8, 12, 4), W(12, 4)],
        "p",
    ),
    "topk": (call(aten.topk, 2), [R(4, 8)], "p"),
    "sort": (call(aten.sort.stable, stable=True, dim=1), [R(4, 8)], "p"),
    "cumsum": (call(aten.cumsum, 0), [W(4, 8)], "p"),
    "layer_norm": (
        lambda x, w, b: aten.native_layer_norm(x, [8], w, b, 1e-5),
        [R(4, 8), R(8), R(8)],
        "p",
    ),
    "attention": (call(attention_on_cpu, 0.0, True), [R(4, 4, 16, 8)] * 3, "pp"),
    "grouped_attention": (
        call(attention_on_cpu, 0.0, True), [R(1, 8, 16, 8), *[R(1, 4, 16, 8)] * 2], "p"
    ),
    "attention_backward": (
        attention_of_gradients,
        [R(4, 4, 16, 8)] * 4 + list(attention_on_cpu(*[R(4, 4, 16, 8)] * 3, 0.0, True)),
        "pp",
    ),
    # The shapes of these results, which are given in the end, are operands.
    "view": (lambda x, s: x.view(s[0]), [R(8, 4, 12)], "pppp", [R(32, 2, 6)]),
    "unsafe_view": (
        lambda x, s: aten._unsafe_view(x, s[0]), [R(8, 12)], "ppp", [R(2, 4, 12)]
    ),
    "split": (lambda x, s: aten.split(x, s[0][0]), [R(12, 8)], "pp", [R(4, 8)] * 3),
    "split_with_sizes": (
        lambda x, s: aten.split_with_sizes(x, [a[1] for a in s], 1),
        [R(4, 12)],
        "p",
        [R(4, 8), R(4, 4)],
    ),
    "expand": (lambda x, s: aten.expand(x, s[0]), [R(4, 1)], "ppp", [R(2, 4, 8)]),
    "slice_backward": (
        lambda x, s: aten.slice_backward(x, s[0], 1, 2, 6, 1), [R(4, 4)], "p", [R(4, 8)]
    ),
    "select_backward": (
        lambda x, s: aten.select_backward(x, s[0], 1, 2), [R(4, 8)], "pp", [R(4, 3, 8)]
    ),
}


def case(name):
    """The function, which takes operands and the shapes of results, the operands,
    the results, and the kinds of axes."""
    function, operands, kinds, *shaped = CASES[name]

    def run(xs, shapes):
        results = function(*xs, shapes) if shaped else function(*xs)
        return [results] if isinstance(results, torch.Tensor) else list(results)

    shapes = [list(result.shape) for result in (shaped or [()])[0]]
    return run, operands, run(operands, shapes), kinds


@pytest.mark.parametrize("name", CASES)
def test_chunks_give_the_same(name):
    function, operands, expected, kinds = case(name)
    text = rule_of(node_of(function, operands, expected))
    assert text is not None
    axes = read_rule(text, operands, expected)
    found = sorted("p" if axis.results else "s" for axis in axes.values())
    assert "".join(found) == kinds, text
    for axis in axes.values():
        splits = [(1, 2)] if axis.size % 2 == 0 else [(1, axis.size)]
        splits += [(2, 2)] if axis.size % 4 == 0 else []
        for blocks, count in splits:
            made = in_chunks(function, operands, expected, axis, blocks, count)
            for ours, theirs in zip(made, expected):
                assert ours.dtype == theirs.dtype
                assert torch.equal(ours, theirs), (text, axis)


#: Run on GPUs alone; DTensor's rule is that of the CPU's operator above.
ON_GPUS = {
    f"aten._scaled_dot_product_{kernel}_attention{way}"
    for kernel in ("cudnn", "flash")
    for way in ("", "_backward")
}


def test_operators_of_traced_steps_are_tested():
    known = {operator_name(node_of(*case(name)[:3])) for name in CASES}
    for options in (
        StepOptions("llama3-tiny", 2, sequence=64, layers=1, tensor=2),
        StepOptions("experts-tiny", 2, sequence=64, experts=2),
    ):
        text = str(trace_module(options))
        seen = set(re.findall(r'compute "([^"]*)"[^\n]* split = "', text))
        assert len(seen) > 30
        assert seen <= known | ON_GPUS


# -- Runs an operator in chunks, as its rule says.


@dataclasses.dataclass
class Axis:
    """Where an axis is: (value, dimension, outer) of operands and results."""

    size: int
    operands: list
    results: list


def read_rule(text, operands, results):
    """Returns the axes of the rule of an operator of these tensors."""
    left, right = text.split("->")
    parts = {}
    for side, tensors in (("operands", operands), ("results", results)):
        values = (left if side == "operands" else right).split(",")
        assert len(values) == len(tensors), text
        for index, (value, tensor) in enumerate(zip(values, tensors)):
            dims = re.findall(r"\([^)]*\)|\S+", value)
            assert len(dims) == tensor.dim(), text
            for dim, names in enumerate(dims):
                parts[side, index, dim] = names.strip("()").split()
    sides = {"operands": operands, "results": results}
    shapes = {
        (side, index, dim): sides[side][index].shape[dim]
        for side, index, dim in parts
    }
    sizes = _sizes(parts, shapes)
    axes = {name: Axis(sizes[name], [], []) for name in sizes}
    for (side, index, dim), names in parts.items():
        outer = 1
        for name in names:
            if name in axes:
                getattr(axes[name], side).append((index, dim, outer))
                outer *= axes[name].size
            elif name != "_":
                outer *= int(name)
    return axes


def _sizes(parts, shapes):
    sizes = {}
    while True:
        found = {}
        for key, names in parts.items():
            known = [sizes.get(n, n.isdigit() and int(n)) for n in names]
            missing = [n for n, size in zip(names, known) if not size]
            if len(missing) == 1 and missing[0] != "_":
                size = shapes[key]
                for number in filter(None, known):
                    assert size % number == 0
                    size //= number
                found[missing[0]] = size
        if not found:
            return sizes
        sizes.update(found)


def part(tensor, dim, outer, count, index):
    """Returns chunk `index` of `count` of a tensor."""
    shape = list(tensor.shape)
    rest = shape[dim] // (outer * count)
    view = tensor.reshape(*shape[:dim], outer, count, rest, *shape[dim + 1 :])
    shape[dim] = outer * rest
    return view.select(dim + 1, index).reshape(shape)


def whole(chunks, dim, outer):
    """Returns the tensor whose chunks these are."""
    shape = list(chunks[0].shape)
    rest = shape[dim] // outer
    views = [
        chunk.reshape(*shape[:dim], outer, 1, rest, *shape[dim + 1 :])
        for chunk in chunks
    ]
    shape[dim] *= len(chunks)
    return torch.cat(views, dim + 1).reshape(shape)


def in_chunks(function, operands, results, axis, blocks, count):
    """Computes `results` in chunks of `axis`, each of which has a part of each
    of its `blocks`. `function` takes the operands and the results' shapes."""
    made = []
    shapes = [list(result.shape) for result in results]
    for index, dim, _ in axis.results:
        shapes[index][dim] //= count
    for chunk in range(count):
        given = list(operands)
        for index, dim, outer in axis.operands:
            given[index] = part(
                given[index], dim, outer * blocks, count, chunk
            ).contiguous()
        outputs = function(given, shapes)
        made.append(outputs)
        assert [list(output.shape) for output in outputs] == shapes
    if not axis.results:
        return [sum(parts[1:], parts[0]) for parts in zip(*made)]
    return [
        whole([outputs[index] for outputs in made], dim, outer * blocks)
        for index, dim, outer in axis.results
    ]
