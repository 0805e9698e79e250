# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An operator that is computed in chunks, as its rule says, gives what it
gives as a whole: bit for bit, or for a sum with numbers that add up exactly.
"""

import re

import pytest

torch = pytest.importorskip("torch")

from graphs import fake_trace
from split_chunks import in_chunks, read_rule

from commsched.torch.importer.aliases import Operand
from commsched.torch.importer.calls import operands_of
from commsched.torch.importer.split_rules import SplitRules
from commsched.torch.importer.targets import operator_name
from commsched.torch.importer.types import Values, leaves

aten = torch.ops.aten


def node_of(function, operands, results):
    """Returns the node of the operator that `function` calls."""
    shapes = [list(result.shape) for result in results]
    gm = fake_trace(lambda *xs: function(list(xs), shapes), *operands)
    (node,) = [
        node
        for node in gm.graph.nodes
        if node.op == "call_function" and "getitem" not in node.name
    ]
    return node


def rule_of(node):
    values = Values()
    tensors = [
        Operand(source, facts, argument)
        for source, facts, argument in _operands(node, values)
    ]
    return SplitRules(values).of(node, tensors, leaves(values.of(node)))


def _operands(node, values):
    from commsched.torch.importer.environment import Bound, bind_structure

    def environment(source):
        return bind_structure(values.of(source), lambda f: Bound(None, f))

    for operand, _ in operands_of(node, environment):
        yield operand.node, operand.facts, operand.argument


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
    return lambda xs, _: op(*xs, *after, **named)


CASES = {
    "mm": (call(aten.mm), [whole_numbers(8, 12), whole_numbers(12, 4)], "pps"),
    "grouped_mm": (
        lambda xs, _: aten._grouped_mm(xs[0], xs[1], offs=xs[2]),
        [
            whole_numbers(8, 32).bfloat16(),
            whole_numbers(4, 32, 32).bfloat16(),
            torch.tensor([2, 2, 5, 8], dtype=torch.int32),
        ],
        "ps",
    ),
    "grouped_mm_of_gradients": (
        lambda xs, _: aten._grouped_mm(xs[0], xs[1], offs=xs[2]),
        [
            whole_numbers(32, 8).bfloat16(),
            whole_numbers(8, 32).bfloat16(),
            torch.tensor([2, 2, 5, 8], dtype=torch.int32),
        ],
        "pp",
    ),
    "addmm": (
        call(aten.addmm),
        [whole_numbers(4), whole_numbers(8, 12), whole_numbers(12, 4)],
        "pp",
    ),
    "bmm": (
        call(aten.bmm),
        [whole_numbers(4, 8, 12), whole_numbers(4, 12, 4)],
        "ppps",
    ),
    "t": (call(aten.t), [reals(8, 4)], "pp"),
    "transpose": (call(aten.transpose.int, 1, 2), [reals(4, 8, 12)], "ppp"),
    "permute": (call(aten.permute, [2, 0, 1]), [reals(4, 8, 12)], "ppp"),
    "view": (lambda xs, s: xs[0].view(s[0]), [reals(8, 4, 12)], "pppp"),
    "unsafe_view": (
        lambda xs, s: aten._unsafe_view(xs[0], s[0]), [reals(8, 12)], "ppp"
    ),
    "split": (
        lambda xs, s: aten.split(xs[0], s[0][0]), [reals(12, 8)], "pp"
    ),
    "split_with_sizes": (
        lambda xs, s: aten.split_with_sizes(xs[0], [a[1] for a in s], 1),
        [reals(4, 12)],
        "p",
    ),
    "cat": (lambda xs, _: aten.cat(xs, 1), [reals(4, 8)] * 3, "pp"),
    "cat_other": (
        lambda xs, _: aten.cat(xs, 1), [reals(4, 8), reals(4, 4)], "p"
    ),
    "stack": (lambda xs, _: aten.stack(xs, 1), [reals(4, 8)] * 2, "pp"),
    "unbind": (call(aten.unbind, 1), [reals(4, 2, 8)], "pp"),
    "select": (call(aten.select, 1, 1), [reals(4, 2, 8)], "pp"),
    "slice": (call(aten.slice, 1, 1, 5), [reals(4, 8)], "p"),
    "unsqueeze": (call(aten.unsqueeze, 1), [reals(4, 8)], "pp"),
    "squeeze": (call(aten.squeeze.dim, 1), [reals(4, 1, 8)], "pp"),
    "expand": (
        lambda xs, s: aten.expand(xs[0], s[0]), [reals(4, 1)], "ppp"
    ),
    "clone": (call(aten.clone), [reals(4, 8)], "pp"),
    "to_copy": (
        call(aten._to_copy, dtype=torch.bfloat16), [reals(4, 8)], "pp"
    ),
    "mul": (call(aten.mul.Tensor), [reals(4, 8, 4), reals(8, 1)], "ppp"),
    "mul_scalar": (call(aten.mul.Scalar, 3), [reals(4, 8)], "pp"),
    "add": (call(aten.add.Tensor), [reals(4, 8), reals(8)], "pp"),
    "sub": (call(aten.sub.Tensor), [reals(4, 8), reals(4, 8)], "pp"),
    "div": (call(aten.div.Tensor), [reals(4, 8), reals(4, 1)], "pp"),
    "div_scalar": (call(aten.div.Scalar, 3), [reals(4, 8)], "pp"),
    "pow": (call(aten.pow.Tensor_Scalar, 2), [reals(4, 8)], "pp"),
    "rsqrt": (call(aten.rsqrt), [reals(4, 8).abs()], "pp"),
    "neg": (call(aten.neg), [reals(4, 8)], "pp"),
    "silu": (call(aten.silu), [reals(4, 8)], "pp"),
    "silu_backward": (
        call(aten.silu_backward), [reals(4, 8), reals(4, 8)], "pp"
    ),
    "sigmoid": (call(aten.sigmoid), [reals(4, 8)], "pp"),
    "gelu": (call(aten.gelu), [reals(4, 8)], "pp"),
    "exp": (call(aten.exp), [reals(4, 8)], "pp"),
    "log": (call(aten.log), [reals(4, 8).abs()], "pp"),
    "ge": (call(aten.ge.Scalar, 0), [reals(4, 8)], "pp"),
    "lt": (call(aten.lt.Scalar, 0), [reals(4, 8)], "pp"),
    "ne": (call(aten.ne.Scalar, 2), [indices(4, 4, 8)], "pp"),
    "bitwise_or": (
        call(aten.bitwise_or.Tensor),
        [reals(4, 8) > 0, reals(4, 8) < 1],
        "pp",
    ),
    "where": (
        call(aten.where.self), [reals(4, 8) > 0, reals(8), reals()], "pp"
    ),
    "masked_fill": (
        call(aten.masked_fill.Scalar, 0.0),
        [reals(4, 8), reals(4, 8) > 0],
        "pp",
    ),
    "sum": (
        call(aten.sum.dim_IntList, [0], True), [whole_numbers(4, 8)], "ps"
    ),
    "sum_all": (call(aten.sum), [whole_numbers(4, 8)], "ss"),
    "mean": (call(aten.mean.dim, [-1], True), [reals(4, 8)], "p"),
    "amax": (call(aten.amax, [1]), [reals(4, 8)], "p"),
    "softmax": (call(aten._softmax, -1, False), [reals(4, 8)], "p"),
    "softmax_backward": (
        call(aten._softmax_backward_data, -1, torch.float32),
        [reals(4, 8), reals(4, 8).softmax(-1)],
        "p",
    ),
    "log_softmax": (call(aten._log_softmax, -1, False), [reals(4, 8)], "p"),
    "log_softmax_backward": (
        call(aten._log_softmax_backward_data, -1, torch.float32),
        [reals(4, 8), reals(4, 8).log_softmax(-1)],
        "p",
    ),
    "nll_loss_backward": (
        lambda xs, _: aten.nll_loss_backward(
            xs[0], xs[1], xs[2], None, 1, -100, xs[3]
        ),
        [reals(), reals(4, 8), indices(8, 4), torch.tensor(4.0)],
        "p",
    ),
    "embedding": (
        call(aten.embedding), [reals(6, 8), indices(6, 4, 4)], "ppp"
    ),
    "embedding_backward": (
        lambda xs, _: aten.embedding_dense_backward(*xs, 6, -1, False),
        [whole_numbers(4, 4, 8), indices(6, 4, 4)],
        "pss",
    ),
    "gather": (
        lambda xs, _: aten.gather(xs[0], 1, xs[1]),
        [reals(4, 8), indices(8, 4, 4)],
        "pp",
    ),
    "index": (
        lambda xs, _: aten.index(xs[0], [xs[1]]),
        [reals(8, 4), indices(8, 12)],
        "pp",
    ),
    "index_put": (
        lambda xs, _: aten.index_put(xs[0], [xs[1]], xs[2], True),
        [whole_numbers(8, 4), indices(8, 12), whole_numbers(12, 4)],
        "p",
    ),
    "index_select": (
        lambda xs, _: aten.index_select(xs[0], 0, xs[1]),
        [reals(8, 4), indices(8, 12)],
        "pp",
    ),
    "scatter": (
        lambda xs, _: aten.scatter.src(xs[0], 1, xs[1], xs[2]),
        [reals(4, 8), indices(8, 4, 2), reals(4, 2)],
        "p",
    ),
    "scatter_add": (
        lambda xs, _: aten.scatter_add(xs[0], 0, xs[1], xs[2]),
        [whole_numbers(8, 4), indices(8, 12, 4), whole_numbers(12, 4)],
        "p",
    ),
    "topk": (call(aten.topk, 2), [reals(4, 8)], "p"),
    "sort": (
        lambda xs, _: aten.sort.stable(xs[0], stable=True, dim=1),
        [reals(4, 8)],
        "p",
    ),
    "cumsum": (call(aten.cumsum, 0), [whole_numbers(4, 8)], "p"),
    "layer_norm": (
        lambda xs, _: aten.native_layer_norm(xs[0], [8], xs[1], xs[2], 1e-5),
        [reals(4, 8), reals(8), reals(8)],
        "p",
    ),
    "zeros_like": (call(aten.zeros_like), [reals(4, 8)], "pp"),
    "ones_like": (call(aten.ones_like), [reals(4, 8)], "pp"),
    "slice_backward": (
        lambda xs, s: aten.slice_backward(xs[0], s[0], 1, 2, 6, 1),
        [reals(4, 4)],
        "p",
    ),
    "select_backward": (
        lambda xs, s: aten.select_backward(xs[0], s[0], 1, 2),
        [reals(4, 8)],
        "pp",
    ),
    "attention": (
        call(aten._scaled_dot_product_flash_attention_for_cpu, 0.0, True),
        [reals(4, 4, 16, 8), reals(4, 4, 16, 8), reals(4, 4, 16, 8)],
        "pp",
    ),
    "grouped_attention": (
        call(aten._scaled_dot_product_flash_attention_for_cpu, 0.0, True),
        [reals(1, 8, 16, 8), reals(1, 4, 16, 8), reals(1, 4, 16, 8)],
        "p",
    ),
    "attention_backward": (
        lambda xs, _: (
            aten._scaled_dot_product_flash_attention_for_cpu_backward(
                *xs, 0.0, True
            )
        ),
        [reals(4, 4, 16, 8)] * 4
        + list(
            aten._scaled_dot_product_flash_attention_for_cpu(
                *[reals(4, 4, 16, 8)] * 3, 0.0, True
            )
        ),
        "pp",
    ),
}

#: Results whose shapes do not follow from running the operator on nothing.
RESULTS = {
    "view": [reals(32, 2, 6)],
    "unsafe_view": [reals(2, 4, 12)],
    "split": [reals(4, 8)] * 3,
    "split_with_sizes": [reals(4, 8), reals(4, 4)],
    "expand": [reals(2, 4, 8)],
    "slice_backward": [reals(4, 8)],
    "select_backward": [reals(4, 3, 8)],
}


@pytest.mark.parametrize("name", CASES)
def test_chunks_give_the_same(name):
    function, operands, kinds = CASES[name]
    results = RESULTS.get(name) or tensors(function(operands, None))
    shapes = [list(result.shape) for result in results]
    expected = tensors(function(operands, shapes))
    text = rule_of(node_of(function, operands, expected))
    assert text is not None
    axes = read_rule(text, operands, expected)
    found = sorted("p" if axis.results else "s" for axis in axes.values())
    assert "".join(found) == kinds, text
    for axis in axes.values():
        splits = [(1, 2)] if axis.size % 2 == 0 else [(1, axis.size)]
        splits += [(2, 2)] if axis.size % 4 == 0 else []
        for blocks, count in splits:
            made = in_chunks(
                lambda xs, s: tensors(function(xs, s)),
                operands, expected, axis, blocks, count,
            )
            for ours, theirs in zip(made, expected):
                assert ours.dtype == theirs.dtype
                assert torch.equal(ours, theirs), (text, axis)


def tensors(value):
    return [value] if isinstance(value, torch.Tensor) else list(value)


#: Run on GPUs alone; DTensor's rule is that of the CPU's operator above.
ON_GPUS = {
    f"aten._scaled_dot_product_{kernel}_attention{way}"
    for kernel in ("cudnn", "flash")
    for way in ("", "_backward")
}


@pytest.mark.parametrize(
    "step",
    [
        {"model": "llama3-tiny", "shards": 2, "tensor": 2},
        {"model": "experts-tiny", "shards": 2, "experts": 2},
    ],
    ids=["tensor", "experts"],
)
def test_operators_of_traced_steps_are_tested(step):
    from torch_step import StepOptions, trace_module

    text = str(trace_module(StepOptions(sequence=64, **step)))
    seen = set(re.findall(r'compute "([^"]*)"[^\n]* split = "', text))
    assert len(seen) > 30
    known = set(ON_GPUS)
    for name, (function, operands, _) in CASES.items():
        results = RESULTS.get(name) or tensors(function(operands, None))
        node = node_of(function, operands, results)
        known.add(operator_name(node))
    assert seen <= known
