# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that stay on their rank: types, views, costs, effects."""

import operator
import re

import pytest
import torch
from torch._higher_order_ops import triton_kernel_wrap as wrap
from torch.fx.passes.shape_prop import ShapeProp
import torch.nn.functional as F
from graphs import build, described_by_metadata, fake_trace, lines

from commsched.torch import GraphImportError

aten = torch.ops.aten


def name(line):
    return attribute(line, "commsched.name").strip('"')


def attribute(line, name):
    """The text of an attribute of an operation, or None."""
    found = re.search(rf"[{{ ]{name}(?: = ([^,}}]*))?[,}}]", line)
    return found and (found.group(1) or "")


def test_matrix_product_has_flops(imported):
    text = imported(fake_trace(torch.mm, torch.empty(4, 8), torch.empty(8, 16)))
    (mm,) = lines(text)
    assert mm == (
        '%mm = commsched.compute "aten.mm"(%arg0_1, %arg1_1) '
        '{commsched.name = "mm", flops = 1024.0 : f64, '
        'split = "a b, b c -> a c"} : '
        "(tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>"
    )


def effects(line):
    """The call of an operation, and what is said of the memory it uses."""
    name, operands = re.search(r'"([^"]*)"(\(.*?\))', line).groups()
    said = re.findall(r"\b(alias|mutates|bytes) = (?:array<i64: )?(\d+(?:, \d+)*)", line)
    return name + operands + "".join(f" {key} {value}" for key, value in said)


def undecomposed(x, w, q):
    return (
        F.linear(x, w),
        x.matmul(w),
        x @ w,
        F.scaled_dot_product_attention(q, q, q),
        torch.add(x, w),
    )


def exported(*inputs):
    class Module(torch.nn.Module):
        def forward(self, *args):
            return undecomposed(*args)

    return torch.export.export(Module(), inputs).graph_module


@pytest.mark.parametrize("source", ["shapes", "export"])
def test_functions_that_are_made_of_others_have_flops(imported, source):
    """Neither Dynamo, nor export, nor symbolic tracing takes them apart."""
    inputs = (torch.empty(8, 8), torch.empty(8, 8), torch.empty(1, 2, 16, 4))
    if source == "export":
        graph = exported(*inputs)
    else:
        graph = described_by_shapes(undecomposed, *inputs)
    ops = lines(imported(graph))
    product = f"{2 * 8**3}.0 : f64"
    # Two products of two heads' 16 x 4 and 4 x 16, or 16 x 16 and 16 x 4.
    attention = f"{2 * 2 * 2 * 16 * 16 * 4}.0 : f64"
    assert [attribute(line, "flops") for line in ops] == [
        product, product, product, attention, None,
    ]


@pytest.mark.parametrize("dtype, element", [
    (torch.bool, "i1"),
    (torch.uint8, "ui8"),
    (torch.int64, "i64"),
    (torch.bfloat16, "bf16"),
    (torch.complex64, "complex<f32>"),
    (torch.float8_e4m3fnuz, "f8E4M3FNUZ"),
    (torch.float8_e5m2fnuz, "f8E5M2FNUZ"),
    (torch.float8_e8m0fnu, "f8E8M0FNU"),
])
def test_element_types(imported, dtype, element):
    graph = build(
        [("x", (2, 3), dtype)],
        lambda g, x: g.add("y", aten.clone, (x,), g.like(x)),
    )
    assert f"-> tensor<2x3x{element}>" in imported(graph)


def test_views_alias_their_operand(imported):
    def f(x):
        a = x.t().unsqueeze(0).expand(3, -1, -1)
        return a[:, 1:].detach().clone()

    *views, clone = map(effects, lines(imported(fake_trace(f, torch.empty(4, 8)))))
    assert len(views) >= 4
    assert all(view.endswith(") alias 0") for view in views)
    # The broadcast dimension is read once and written thrice.
    assert clone.endswith(f") bytes {7 * 4 * 4 + 3 * 7 * 4 * 4}")


def reshape(g, x, y, o):
    """A composite that may view or copy: what the values say counts."""
    viewed = g.add("viewed", aten.reshape, (x, [16]), x.meta["val"].view(16))
    return viewed, g.add("copied", aten.reshape, (x, [2, 8]), g.tensor((2, 8)))


def shared_metadata(g, x, y, o):
    """Passes copy metadata from one node to another, storage and all."""
    return g.add("z", aten.neg, (x,), x)


def in_place(g, x, y, o):
    """Reads x and y, writes x: what the dialect assumes."""
    g.add("added", aten.add_.Tensor, (x, y), x)
    return g.add("z", aten.neg, (x,), g.like(x))


def copy(g, x, y, o):
    return g.add("copied", aten.copy_, (x, y), x)


def foreach(g, x, y, o):
    g.add("copied", aten._foreach_copy_, ([x], [y]))
    return x


def out_variant(g, x, y, o):
    return g.add("mm", aten.mm.out, (x, y), o, {"out": o})


def assignment(g, x, y, o):
    """Dynamo keeps it as a function that gives nothing."""
    view = g.add("v", aten.view, (x, [16]), x.meta["val"].view(16))
    g.graph.create_node("call_function", operator.setitem, (view, 0, 3), name="set")
    return g.add("n", aten.neg, (x,), g.like(x))


def kernel(g, x, y, o):
    """Schemas say nothing of what it writes, nor of what acts on a storage."""
    import torch._inductor  # noqa: F401  registers the operator

    given = {"kernel_idx": 0, "kwargs": {"p": x, "q": y}}
    g.add("kernel", wrap.triton_kernel_wrapper_mutation, (), None, given)
    g.add("resize", torch.ops.inductor.resize_storage_bytes_, (x, 0))
    return g.add("n", aten.neg, (x,), g.like(x))


@pytest.mark.parametrize("uses, expected", [
    (reshape, ["aten.reshape(%x) alias 0", "aten.reshape(%x)"]),
    (shared_metadata, ["aten.neg(%x)"]),
    (in_place, ["aten.add_.Tensor(%x, %y) alias 0 mutates 0", "aten.neg(%added)"]),
    (copy, ["aten.copy_(%x, %y) alias 0 bytes 128 mutates 0"]),
    (foreach, ["aten._foreach_copy_(%x, %y) mutates 0"]),
    (out_variant, ["aten.mm.out(%x, %y, %o) alias 2 bytes 192 mutates 2"]),
    (assignment, ["aten.view(%x) alias 0", "operator.setitem(%v) bytes 128 mutates 0",
                  "aten.neg(%x)"]),
    (kernel, ["higher_order.triton_kernel_wrapper_mutation(%x, %y) bytes 256 "
              "mutates 0, 1",
              "inductor.resize_storage_bytes_(%x) bytes 0 mutates 0",
              "aten.neg(%x)"]),
])
def test_effects(imported, uses, expected):
    graph = build([(name, (4, 4)) for name in "xyo"], uses)
    found = lines(imported(graph))
    assert list(map(effects, found)) == expected
    for line in found:
        if re.search('_foreach_copy_|setitem|mutation"', line):
            assert line.endswith(") -> ()")


def test_values_without_storages(imported):
    """Schemas say what views."""
    graph = fake_trace(lambda x: x.view(2, 16).to(torch.float16), torch.empty(4, 8))
    view, to = lines(imported(described_by_metadata(graph)))
    assert effects(view) == "aten.view(%x_1) alias 0"
    assert "alias" not in to and to.endswith("-> tensor<2x16xf16>")


def test_values_of_dynamo(imported):
    graph = fake_trace(torch.neg, torch.empty(4, 8))
    for node in graph.graph.nodes:
        if "val" in node.meta:
            node.meta["example_value"] = node.meta.pop("val")
            node.meta.pop("tensor_meta", None)
    assert "-> tensor<4x8xf32>" in imported(graph)


def described_by_shapes(module, *inputs):
    """The graph of `module` as symbolic tracing and shape propagation leave
    it: no schemas, no storages, no values but tensors."""
    graph = torch.fx.symbolic_trace(module)
    ShapeProp(graph).propagate(*inputs)
    return graph


def test_functions_and_methods_without_storages(imported):
    """What views and writes is known by the names alone."""

    def f(x):
        flat = x.view(-1)
        flat.add_(1)
        first, second = torch.chunk(flat, 2)
        more = F.relu(flat) + 1
        return first[1:], second[[0, 1]], x.T, x.to(torch.float16), flat.neg(), more

    graph = described_by_shapes(f, torch.empty(2, 4))
    ops = {name(line): line for line in lines(imported(graph))}
    viewing = {"view", "add_", "chunk", "getitem_2", "getattr_1"}
    assert set(ops) == viewing | {"getitem_3", "to", "neg", "relu", "add"}
    for key, line in ops.items():
        assert attribute(line, "alias") == ("0 : i64" if key in viewing else None), line
    assert '"Tensor.neg"(%add_)' in ops["neg"]
    assert '"torch.nn.functional.relu"(%add_)' in ops["relu"]
    assert '"operator.add"(%relu)' in ops["add"]


def test_numbers_of_shape_propagation_take_no_place(imported):
    def f(x):
        rows = x.size(0) * 2
        return x.reshape(rows, x.shape[1] // 2), x.dim()

    graph = described_by_shapes(f, torch.empty(2, 4))
    assert [name(line) for line in lines(imported(graph))] == ["reshape"]


def quantized(g, x):
    node = g.add("q", aten.clone, (x,))
    node.meta["val"] = torch.quantize_per_tensor(torch.zeros(4), 0.1, 0, torch.qint8)
    return node


def element_that_is_not_there(g, x):
    parts = g.add("parts", aten.split.Tensor, (x, 2), [g.tensor((2,)), g.tensor((2,))])
    node = g.graph.create_node("call_function", operator.getitem, (parts, 2), name="third")
    node.meta["val"] = g.tensor((2,))
    return node


def without_a_value(g, x):
    node = g.add("neg", aten.neg, (x,))
    node.meta.clear()
    return node


def call_of_a_module(g, x):
    node = g.graph.call_module("layer", (x,))
    node.meta["val"] = g.like(x)
    return node


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("uses, error", [
    (quantized, "node 'q'.*qint8"),
    (element_that_is_not_there, "'third'.*'parts'.*element 2"),
    (without_a_value, "node 'neg' .aten.neg.*val"),
    (call_of_a_module, "node 'layer'.*graph break"),
])
def test_errors_name_the_node(imported, uses, error):
    with pytest.raises(GraphImportError, match=error):
        imported(build([("x", (4,))], uses, layer=torch.nn.Identity()))


def test_several_results(imported):
    def f(x, w):
        values, indices = torch.topk(x, 2)
        a, b = torch.split(x, [3, 5], dim=1)
        y, mean, rstd = torch.native_layer_norm(x, [8], w, w, 1e-5)
        return values, indices, a.clone(), b.clone(), y, rstd

    text = imported(fake_trace(f, torch.empty(4, 8), torch.empty(8)))
    assert '%topk:2 = commsched.compute "aten.topk"' in text
    assert "(tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)" in text
    split = next(line for line in lines(text) if line.startswith("%split"))
    assert attribute(split, "alias") == "0 : i64"
    assert '"aten.clone"(%split_with_sizes#1)' in text
    assert "return %topk#0, %topk#1, " in text
    # Whatever of them is in use.
    assert text.count("%native_layer_norm:3 = commsched.compute") == 1
    assert "%native_layer_norm#0, %native_layer_norm#2 :" in text


def test_results_that_are_none_take_no_place(imported):
    def uses(g, x):
        op = aten.native_layer_norm_backward
        norm = g.add("norm", op, (x,), (g.like(x), None, g.like(x, (8,))))
        return g.item("dx", norm, 0), g.item("none", norm, 1), g.item("db", norm, 2)

    text = imported(build([("x", (4, 8))], uses))
    assert "%norm:2 = " in text
    assert "return %norm#0, %norm#1 : tensor<4x8xf32>, tensor<8xf32>" in text


def flash(dropout):
    return lambda q: aten._scaled_dot_product_flash_attention(q, q, q, dropout)[0]


@pytest.mark.parametrize("draw, shape, count", [
    (torch.rand_like, (4,), 1),
    (lambda x: F.dropout(x, 0.5), (4,), 1),
    (flash(0.1), (2, 4, 16, 8), 1),
    (flash(0.0), (2, 4, 16, 8), 0),
])
def test_random_operators(imported, draw, shape, count):
    found = lines(imported(fake_trace(draw, torch.empty(shape))))
    assert sum(", random}" in line for line in found) == count


def test_results_of_different_storages(imported):
    """One result views an operand and one is new: a view beside the
    operator, that depends on it."""
    with torch.library._scoped_library("commsched_test", "FRAGMENT") as lib:
        lib.define("both(Tensor x, Tensor(a!) y) -> (Tensor, Tensor(a!))")

        def uses(g, x, y):
            value = (g.like(x), y)
            both = g.add("both", torch.ops.commsched_test.both, (x, y), value)
            return g.item("i", both, 0), g.add("n", aten.neg, (y,), y)

        graph = build([("x", (4,)), ("y", (4,))], uses)
        both, view, neg = lines(imported(graph))
    assert both.startswith('%both = commsched.compute "commsched_test.both"')
    assert attribute(both, "alias") is None
    assert attribute(both, "mutates") == "array<i64: 1>"
    assert '"commsched_test.both.view"(%y, %both)' in view
    assert attribute(view, "alias") == "0 : i64"
    assert '"aten.neg"(%both_1)' in neg


def test_lookup_reads_only_its_rows(imported):
    def f(weight, index):
        return F.embedding(index, weight)

    index = torch.zeros(4, dtype=torch.long)
    (embedding,) = lines(imported(fake_trace(f, torch.empty(1000, 8), index)))
    assert attribute(embedding, "bytes") == f"{4 * 8 + 2 * 4 * 8 * 4} : i64"


def test_allocation_moves_nothing_and_is_made_when_needed(imported):
    def f(x):
        out = torch.empty(4, device=x.device)
        y = x.neg()
        return y, out.copy_(y)

    neg, empty, copy = lines(imported(fake_trace(f, torch.empty(4))))
    assert '"aten.neg"' in neg and '"aten.copy_"' in copy
    assert empty.startswith("%empty") and attribute(empty, "bytes") == "0 : i64"


def test_constants_are_arguments(imported):
    weight = torch.ones(8)

    def f(x):
        return x + weight + torch.tensor(2.0)

    text = imported(fake_trace(f, torch.ones(8), tracing_mode="real"))
    assert re.search(r'%_tensor_constant0: tensor<8xf32> \{commsched.role = '
                     r'"parameter"\}', text)
    assert text.count('role = "parameter"') == 2


def test_higher_order_operator_with_a_collective_inside(fake_world, imported):
    group = fake_world(4)
    inner = build([("x", (4,))], lambda g, x: g.reduce("ar", x, group))
    plain = build([("x", (4,))], lambda g, x: g.add("n", aten.neg, (x,), x))

    def outer(branch):
        def uses(g, p, x):
            taken, other = map(g.graph.get_attr, ("taken", "other"))
            op = torch.ops.higher_order.cond
            call = g.add("call", op, (p, taken, other, (x,)), (g.like(x),))
            return g.item("out", call, 0)

        inputs = [("p", (), torch.bool), ("x", (4,))]
        return build(inputs, uses, taken=branch, other=plain)

    (call,) = lines(imported(outer(plain)))
    assert '"higher_order.cond"(%p, %x)' in call
    # What communicates is neither removed nor repeated.
    (call,) = lines(imported(outer(inner)))
    assert call.endswith(", random} : (tensor<i1>, tensor<4xf32>) -> "
                         "tensor<4xf32>")


def test_outputs(imported):
    def uses(g, x, unused):
        y = g.add("y", aten.neg, (x,), g.like(x))
        return (y, [y, None, 3], {"x": x})

    text = imported(build([("x", (4,)), ("unused", (2,))], uses))
    assert "%unused: tensor<2xf32>" in text
    assert f"return %y, %y, %x : {', '.join(['tensor<4xf32>'] * 3)}" in text
    assert "  return\n" in imported(build([("x", (4,))], lambda g, x: ()))


def test_wrapped_operator_of_which_only_parts_are_described(imported):
    """Recomputed random operators, as the partitioner leaves them: the call
    has no value of its own, the parts of it that are used have."""

    def uses(g, q):
        mm = aten.mm.default
        call = g.add("run", torch.ops.higher_order.run_and_save_rng_state,
                     (mm, q, q), (g.tensor((5056,), torch.uint8), g.like(q)))
        out = g.item("out", call, 1)
        del call.meta["val"]
        return out

    (run,) = lines(imported(build([("q", (8, 8))], uses)))
    assert '"higher_order.run_and_save_rng_state"(%q, %q)' in run
    assert attribute(run, "flops") == "1024.0 : f64"
    assert run.endswith("-> tensor<8x8xf32>")
