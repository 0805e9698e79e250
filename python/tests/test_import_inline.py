# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of graphs that run them once are imported as what they run."""

import torch
from torch.fx.passes.split_module import split_module
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch.utils._ordered_set import OrderedSet
from torch.utils.checkpoint import CheckpointPolicy

from graphs import build, lines

from commsched.torch import GraphSpec

aten = torch.ops.aten
GROUPS = {"groups": {"g": 4}}


def body():
    """Reduces the square of its input; the result, and the square."""

    def uses(g, x):
        square = g.add("mm", aten.mm, (x, x), g.like(x))
        return g.wait("w", g.reduce("ar", square)), square

    return build([("a", (4, 4))], uses)


def names(text):
    return [line.split(" =")[0] for line in lines(text)]


def regions(g, x):
    """Calls one graph twice; the second time on what the first one gives."""
    value = (g.like(x), g.like(x))
    one = g.invoke("one", "region", x, value=value)
    two = g.invoke("two", "region", g.item("i", one, 0), value=value)
    one.meta["nn_module_stack"] = {"": ("L['self'].layers[0]", object)}
    one.meta["partitioner_tag"] = "is_forward"
    one.meta["recompute"] = CheckpointPolicy.PREFER_SAVE
    one.meta["ac_graph_id"] = 2
    return g.item("j", two, 0), g.item("k", two, 1)


def with_region():
    return build([("x", (4, 4))], regions, region=body())


def test_region_that_is_called_twice(imported):
    text = imported(with_region(), **GROUPS)
    assert names(text) == [
        "%one_mm", "%one_ar", "%one_w", "%two_mm", "%two_ar", "%two_w",
    ]
    assert '"aten.mm"(%one_w, %one_w)' in text
    assert "return %two_w, %two_mm" in text
    assert 'commsched.module = "layers.0", commsched.name = "one_mm"' in text


def test_names_of_a_region_are_nobody_elses(imported):
    def uses(g, x):
        call = g.invoke("one", "region", x, value=(g.like(x), g.like(x)))
        other = g.add("one_mm", aten.neg, (x,), g.like(x))
        return g.item("i", call, 0), other

    text = imported(build([("x", (4, 4))], uses, region=body()), **GROUPS)
    assert 'commsched.name = "one_mm_1", flops' in text
    assert '"aten.neg"(%x) {commsched.name = "one_mm", split' in text


def test_region_has_the_partition_of_its_call(imported):
    text = imported(GraphSpec("joint", with_region(), "joint"), **GROUPS)
    first, *_, last = lines(text)
    assert 'commsched.partition = "forward"' in first
    assert 'commsched.recompute = "prefer_save"' in first
    assert "commsched.recompute_region = 2 : i64" in first
    assert "commsched.partition" not in last
    assert "commsched.recompute" not in last


def test_the_graph_itself_is_left_alone(imported):
    graph = with_region()
    before = str(graph.graph)
    imported(graph, **GROUPS)
    assert str(graph.graph) == before


def test_region_in_a_region_with_a_tensor_of_its_own(imported):
    def middle(g, x):
        held, table = g.graph.get_attr("region"), g.graph.get_attr("table")
        op = torch.ops.higher_order.wrap_with_set_grad_enabled
        call = g.add("call", op, (False, held, x), (g.like(x), g.like(x)))
        return (g.add("add", aten.add.Tensor, (g.item("i", call, 0), table),
                      g.like(x)),)

    def outer(g, x):
        op = torch.ops.higher_order.tag_activation_checkpoint
        call = g.add("c", op, (g.graph.get_attr("outer"), x), (g.like(x),))
        return g.item("r", call, 0)

    inner = build([("b", (4, 4))], middle, region=body(), table=torch.zeros(4, 4))
    text = imported(build([("x", (4, 4))], outer, outer=inner), **GROUPS)
    assert names(text) == ["%c_call_mm", "%c_call_ar", "%c_call_w", "%c_add"]
    assert '"aten.add.Tensor"(%c_call_w, %c_table)' in text
    assert '%c_table: tensor<4x4xf32> {commsched.role = "parameter"}' in text


def test_parts_that_a_partitioner_has_split_off(imported):
    whole = body()
    part = {"mm": 0, "ar": 0, "w": 1}
    split = split_module(whole, None, lambda node: part[node.name])
    assert {n.op for n in split.graph.nodes} >= {"call_module"}
    text = imported(split, **GROUPS)
    assert [line.split("commsched.")[1].split()[0] for line in lines(text)] == [
        "compute", "all_reduce", "wait",
    ]


def test_exported_module_with_its_checks(imported):
    """Guards of the inputs, and checks of what a conversion is given."""

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.linear(x)
            return y.float()

    program = torch.export.export(Module(), (torch.empty(2, 4),))
    called = {str(n.target) for n in program.module().graph.nodes}
    assert {"_guards_fn", "wrap_with_autocast"} <= called
    linear, to = lines(imported(program.module()))
    assert '"aten.linear"(%x, %linear_weight, %linear_bias)' in linear
    assert "tensor<2x4xbf16>" in linear and '"aten.to.dtype"' in to


def test_operators_that_a_scheduler_has_tied(imported):
    """The ties name what is in flight; that is no reason to wait for it."""
    def uses(g, x):
        start = g.reduce("ar", x)
        mm = g.add("mm", aten.mm, (x, x), g.like(x))
        return g.wait("w", start), g.wait("w2", g.reduce("ar2", mm))

    def graph():
        return build([("x", (4, 4))], uses)

    tied = graph()
    at = {node.name: node for node in tied.graph.nodes}
    preserve_node_ordering(
        tied.graph,
        {
            at["mm"]: OrderedSet([at["ar"]]),
            at["w"]: OrderedSet([at["mm"]]),
            at["ar2"]: OrderedSet([at["w"]]),
        },
    )
    assert "control_deps" in str(tied.graph)
    assert imported(tied, **GROUPS) == imported(graph(), **GROUPS)


def test_region_of_which_nothing_is_known_stays_one_operator(imported):
    inner = torch.fx.Graph()
    inner.output((inner.call_function(aten.neg.default, (inner.placeholder("a"),)),))
    region = torch.fx.GraphModule(torch.nn.Module(), inner)

    def uses(g, x):
        return g.item("i", g.invoke("c", "region", x, value=(g.like(x),)), 0)

    (call,) = lines(imported(build([("x", (4,))], uses, region=region)))
    assert '"higher_order.invoke_subgraph"(%x)' in call
