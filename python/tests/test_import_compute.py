# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that stay on their rank: types, views, costs, effects."""

import operator
import re

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from graphs import Builder, build, fake_trace, lines  # noqa: E402

from commsched.torch import GraphImportError  # noqa: E402

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


@pytest.mark.parametrize(
    "dtype, element",
    [
        (torch.bool, "i1"),
        (torch.uint8, "ui8"),
        (torch.int64, "i64"),
        (torch.bfloat16, "bf16"),
        (torch.complex64, "complex<f32>"),
        (torch.float8_e4m3fnuz, "f8E4M3FNUZ"),
        (torch.float8_e5m2fnuz, "f8E5M2FNUZ"),
        (torch.float8_e8m0fnu, "f8E8M0FNU"),
    ],
)
def test_element_types(imported, dtype, element):
    graph = build(
        [("x", (2, 3), dtype)],
        lambda g, x: g.add("y", aten.clone, (x,), g.like(x)),
    )
    assert f"-> tensor<2x3x{element}>" in imported(graph)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_quantized_type_is_an_error_at_its_node(imported):
    value = torch.quantize_per_tensor(torch.zeros(4), 0.1, 0, torch.qint8)

    def uses(g, x):
        node = g.add("q", aten.clone, (x,))
        node.meta["val"] = value
        return node

    with pytest.raises(GraphImportError, match="node 'q'.*qint8"):
        imported(build([("x", (4,))], uses))


def test_views_alias_their_operand(imported):
    def f(x):
        a = x.t().unsqueeze(0).expand(3, -1, -1)
        return a[:, 1:].detach().clone()

    ops = lines(imported(fake_trace(f, torch.empty(4, 8))))
    *views, clone = ops
    assert len(views) >= 4
    for view in views:
        assert attribute(view, "alias") == "0 : i64", view
        assert attribute(view, "bytes") is None
    assert attribute(clone, "alias") is None
    # The broadcast dimension is read once and written thrice.
    assert attribute(clone, "bytes") == f"{7 * 4 * 4 + 3 * 7 * 4 * 4} : i64"


def test_reshape_that_copies_is_no_view(imported):
    """A composite that may view or copy: what the values say counts."""

    def uses(g, x):
        base = x.meta["val"]
        viewed = g.add("viewed", aten.reshape, (x, [32]), base.view(32))
        copied = g.add("copied", aten.reshape, (x, [8, 4]), g.tensor((8, 4)))
        return viewed, copied

    viewed, copied = lines(imported(build([("x", (4, 8))], uses)))
    assert attribute(viewed, "alias") == "0 : i64"
    assert attribute(copied, "alias") is None


def test_functional_operator_is_no_view_whatever_its_metadata(imported):
    """Passes copy metadata from one node to another, storage and all."""
    graph = build([("x", (4,))], lambda g, x: g.add("y", aten.neg, (x,), x))
    (neg,) = lines(imported(graph))
    assert attribute(neg, "alias") is None


def test_view_without_values_is_a_view_by_its_schema(imported):
    from torch.fx.passes.shape_prop import _extract_tensor_metadata

    graph = fake_trace(lambda x: x.view(2, 16).neg(), torch.empty(4, 8))
    for node in graph.graph.nodes:
        if "val" in node.meta:
            value = node.meta.pop("val")
            node.meta["tensor_meta"] = _extract_tensor_metadata(value)
    view, neg = lines(imported(graph))
    assert attribute(view, "alias") == "0 : i64"
    assert "-> tensor<2x16xf32>" in neg


def test_example_value_is_read(imported):
    graph = fake_trace(torch.neg, torch.empty(4, 8))
    for node in graph.graph.nodes:
        if "val" in node.meta:
            node.meta["example_value"] = node.meta.pop("val")
            node.meta.pop("tensor_meta", None)
    assert "-> tensor<4x8xf32>" in imported(graph)


def described_by_shapes(module, *inputs):
    """The graph of `module` as symbolic tracing and shape propagation leave
    it: no schemas, no storages, no values but tensors."""
    from torch.fx.passes.shape_prop import ShapeProp

    graph = torch.fx.symbolic_trace(module)
    ShapeProp(graph).propagate(*inputs)
    return graph


def test_functions_and_methods_without_storages(imported):
    """What views and writes is known by the names alone."""

    def f(x):
        flat = x.view(-1)
        flat.add_(1)
        first, second = torch.chunk(flat, 2)
        return first[1:], second[[0, 1]], x.T, x.to(torch.float16), flat.neg()

    graph = described_by_shapes(f, torch.empty(2, 4))
    ops = {name(line): line for line in lines(imported(graph))}
    viewing = {"view", "add_", "chunk", "getitem_2", "getattr_1"}
    copying = {"getitem_3", "to", "neg"}
    assert set(ops) == viewing | copying
    for key, line in ops.items():
        views = "0 : i64" if key in viewing else None
        assert attribute(line, "alias") == views, line
    assert '"Tensor.neg"(%add_)' in ops["neg"]


def test_conversion_without_storages_is_no_view(imported):
    def uses(g, x):
        return g.add("y", aten.to.dtype, (x, torch.float16),
                     g.like(x, dtype=torch.float16))

    graph = build([("x", (4,))], uses)
    from torch.fx.passes.shape_prop import _extract_tensor_metadata

    for node in graph.graph.nodes:
        if "val" in node.meta:
            value = node.meta.pop("val")
            node.meta["tensor_meta"] = _extract_tensor_metadata(value)
    (to,) = lines(imported(graph))
    assert attribute(to, "alias") is None


def test_numbers_of_shape_propagation_take_no_place(imported):
    def f(x):
        rows = x.size(0) * 2
        return x.reshape(rows, x.shape[1] // 2), x.dim()

    graph = described_by_shapes(f, torch.empty(2, 4))
    assert [name(line) for line in lines(imported(graph))] == ["reshape"]


def test_assignment_to_an_element(imported):
    """Dynamo keeps it as a function that gives nothing."""

    def uses(g, x):
        view = g.add("v", aten.view, (x, [8]), x.meta["val"].view(8))
        g.graph.create_node("call_function", operator.setitem, (view, 0, 3),
                            name="set")
        return g.add("n", aten.neg, (x,), g.like(x))

    _, assign, _ = lines(imported(build([("x", (2, 4))], uses)))
    assert assign.startswith('commsched.compute "operator.setitem"(%v)')
    assert attribute(assign, "mutates") == "array<i64: 0>"
    assert assign.endswith("(tensor<8xf32>) -> ()")


def test_operator_that_says_not_that_it_writes(imported):
    """A kernel in a higher-order operator, and one that acts on a storage:
    what comes after has to see what they did."""
    import torch._inductor  # noqa: F401  registers the operator
    from torch._higher_order_ops import triton_kernel_wrap

    def uses(g, x, y):
        kernel = g.graph.create_node(
            "call_function",
            triton_kernel_wrap.triton_kernel_wrapper_mutation,
            (),
            {"kernel_idx": 0, "kwargs": {"p": x, "q": y}},
            name="kernel",
        )
        kernel.meta["val"] = None
        g.add("resize", torch.ops.inductor.resize_storage_bytes_, (x, 0))
        return g.add("n", aten.neg, (x,), g.like(x))

    kernel, resize, _ = lines(imported(build([("x", (4,)), ("y", (4,))], uses)))
    assert "mutates = array<i64: 0, 1>" in kernel
    assert attribute(resize, "mutates") == "array<i64: 0>"
    assert attribute(resize, "bytes") == "0 : i64"


def test_element_that_is_not_there_names_the_node(imported):
    def uses(g, x):
        parts = g.add("parts", aten.split.Tensor, (x, 2),
                      [g.like(x, (2,)), g.like(x, (2,))])
        node = g.graph.create_node("call_function", operator.getitem,
                                   (parts, 2), name="third")
        node.meta["val"] = g.like(x, (2,))
        return node

    with pytest.raises(GraphImportError, match="'third'.*'parts'.*element 2"):
        imported(build([("x", (4,))], uses))


def test_node_without_a_value_is_an_error(imported):
    graph = fake_trace(torch.neg, torch.empty(4, 8))
    for node in graph.graph.nodes:
        if node.name == "neg":
            node.meta.clear()
    with pytest.raises(GraphImportError, match="node 'neg' .aten.neg.*val"):
        imported(graph)


def test_several_results(imported):
    def f(x, w):
        values, indices = torch.topk(x, 2)
        a, b = torch.split(x, [3, 5], dim=1)
        y, mean, rstd = torch.native_layer_norm(x, [8], w, w, 1e-5)
        return values, indices, a.clone(), b.clone(), y, mean

    text = imported(fake_trace(f, torch.empty(4, 8), torch.empty(8)))
    assert '%topk:2 = commsched.compute "aten.topk"' in text
    assert "(tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)" in text
    split = next(line for line in lines(text) if line.startswith("%split"))
    assert attribute(split, "alias") == "0 : i64"
    assert '"aten.clone"(%split_with_sizes#1)' in text
    assert "return %topk#0, %topk#1, " in text
    assert "%native_layer_norm#0, %native_layer_norm#1 :" in text


def test_results_that_are_none_take_no_place(imported):
    def uses(g, x):
        op = aten.native_layer_norm_backward
        norm = g.add("norm", op, (x,), (g.like(x), None, g.like(x, (8,))))
        return g.item("dx", norm, 0), g.item("none", norm, 1), g.item(
            "db", norm, 2
        )

    text = imported(build([("x", (4, 8))], uses))
    assert "%norm:2 = " in text
    assert "return %norm#0, %norm#1 : tensor<4x8xf32>, tensor<8xf32>" in text


def test_attention_on_the_processor(imported):
    q = torch.empty(2, 4, 16, 8, requires_grad=False)

    def f(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    text = imported(fake_trace(f, q, q, q))
    assert "scaled_dot_product" in text
    assert "-> (tensor<2x4x16x8xf32>, tensor<" in text


@pytest.mark.parametrize(
    "draw", [lambda x: torch.rand_like(x), lambda x: F.dropout(x, 0.5)]
)
def test_random_operators(imported, draw):
    text = imported(fake_trace(draw, torch.empty(4)))
    assert ", random}" in text
    assert sum(", random}" in line for line in lines(text)) == 1


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_attention_is_random_if_it_drops_out(imported, dropout):
    def f(q):
        return aten._scaled_dot_product_flash_attention(q, q, q, dropout)[0]

    text = imported(fake_trace(f, torch.empty(2, 4, 16, 8)))
    assert ("random" in text) == (dropout > 0)


def test_in_place_operator_and_later_uses(imported):
    def uses(g, x, y):
        g.add("added", aten.add_.Tensor, (x, y), x)
        return g.add("z", aten.neg, (x,), g.like(x))

    add, neg = lines(imported(build([("x", (4,)), ("y", (4,))], uses)))
    assert attribute(add, "alias") == "0 : i64"
    assert attribute(add, "mutates") == "array<i64: 0>"
    # Reads x and y, writes x: what the dialect assumes.
    assert attribute(add, "bytes") is None
    assert '"aten.neg"(%added)' in neg


def test_copy_epilogue(imported):
    def f(x):
        x.add_(1)
        return x * 2

    graph = torch.fx.experimental.proxy_tensor.make_fx(
        torch.func.functionalize(f, remove="mutations"), tracing_mode="fake"
    )(torch.empty(4))
    text = imported(graph)
    copy = next(line for line in lines(text) if '"aten.copy_"' in line)
    assert attribute(copy, "alias") == "0 : i64"
    assert attribute(copy, "mutates") == "array<i64: 0>"
    assert attribute(copy, "bytes") == "32 : i64"


def test_foreach_in_place_has_no_results(imported):
    def uses(g, a, b):
        g.add("copied", torch.ops.aten._foreach_copy_, ([a], [b]))
        return a

    (copy,) = lines(imported(build([("a", (4,)), ("b", (4,))], uses)))
    assert copy.startswith('commsched.compute "aten._foreach_copy_"(%a, %b)')
    assert attribute(copy, "mutates") == "array<i64: 0>"
    assert copy.endswith("-> ()")


def test_out_variant(imported):
    def uses(g, a, b, out):
        return g.add("mm", aten.mm.out, (a, b), out, {"out": out})

    (mm,) = lines(
        imported(build([("a", (4, 4)), ("b", (4, 4)), ("o", (4, 4))], uses))
    )
    assert '"aten.mm.out"(%a, %b, %o)' in mm
    assert attribute(mm, "alias") == "2 : i64"
    assert attribute(mm, "mutates") == "array<i64: 2>"
    assert attribute(mm, "bytes") == "192 : i64"


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

    graph = torch.fx.experimental.proxy_tensor.make_fx(
        f, tracing_mode="real"
    )(torch.ones(8))
    text = imported(graph)
    assert re.search(r'%_tensor_constant0: tensor<8xf32> \{commsched.role = '
                     r'"parameter"\}', text)
    assert text.count('role = "parameter"') == 2


def test_unknown_operator_is_a_computation(imported):
    with torch.library._scoped_library("commsched_test", "FRAGMENT") as lib:
        lib.define("odd.variant(Tensor x, int n) -> Tensor")
        op = torch.ops.commsched_test.odd.variant
        graph = build(
            [("x", (4,))], lambda g, x: g.add("o", op, (x, 3), g.like(x))
        )
        (odd,) = lines(imported(graph))
    assert '"commsched_test.odd.variant"(%x)' in odd


def test_functions_and_methods_of_graphs_that_were_not_lowered(imported):
    def uses(g, x):
        a = g.add("a", torch.nn.functional.relu, (x,), g.like(x))
        b = g.graph.call_method("view", (a, 8))
        b.meta["val"] = a.meta["val"].view(8)
        return g.add("c", operator.add, (b, 1), g.like(b))

    relu, view, add = lines(imported(build([("x", (2, 4))], uses)))
    assert '"torch.nn.functional.relu"(%x)' in relu
    assert '"Tensor.view"(%a)' in view
    assert attribute(view, "alias") == "0 : i64"
    assert '"operator.add"(%view)' in add


def test_module_call_is_an_error(imported):
    builder = Builder()
    x = builder.input("x", (4,))
    y = builder.graph.call_module("layer", (x,))
    y.meta["val"] = builder.like(x)
    builder.graph.output(y)
    root = torch.nn.Module()
    root.layer = torch.nn.Identity()
    graph = torch.fx.GraphModule(root, builder.graph)
    with pytest.raises(GraphImportError, match="node 'layer'.*graph break"):
        imported(graph)


def test_higher_order_operator_with_a_collective_inside(fake_world, imported):
    group = fake_world(4)
    c10d = torch.ops._c10d_functional
    inner = build(
        [("x", (4,))],
        lambda g, x: g.add("ar", c10d.all_reduce, (x, "sum", group), g.like(x)),
    )
    plain = build([("x", (4,))], lambda g, x: g.add("n", aten.neg, (x,), x))

    def outer(branch):
        root = torch.nn.Module()
        root.taken, root.other = branch, plain

        def uses(g, p, x):
            taken, other = map(g.graph.get_attr, ("taken", "other"))
            op = torch.ops.higher_order.cond
            call = g.add("call", op, (p, taken, other, (x,)), (g.like(x),))
            return g.item("out", call, 0)

        return build([("p", (), torch.bool), ("x", (4,))], uses, root)

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
    types = ", ".join(["tensor<4xf32>"] * 3)
    assert "%unused: tensor<2xf32>" in text
    assert f"return %y, %y, %x : {types}" in text


def test_no_outputs(imported):
    assert "  return\n" in imported(build([("x", (4,))], lambda g, x: ()))


def test_name_that_is_no_identifier_is_quoted(imported):
    from commsched.torch import GraphSpec

    graph = build([("x", (4,))], lambda g, x: g.add("n", aten.neg, (x,), x))
    text = imported(GraphSpec('step "1"\\', graph))
    assert 'func.func @"step \\221\\22\\5C"(' in text


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
