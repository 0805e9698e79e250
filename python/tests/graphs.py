# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs for tests: traced ones, and ones written node by node."""

import operator

import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.shape_prop import _extract_tensor_metadata

c10d = torch.ops._c10d_functional


def fake_trace(function, *inputs, tracing_mode="fake"):
    """Traces `function` on stand-ins for `inputs` and returns the graph."""
    with torch.no_grad():
        return make_fx(function, tracing_mode=tracing_mode)(*inputs)


def gather(x, group="g", ranks=2):
    """Gathers `x` and waits for it; `scatter` and `reduce` are others."""
    return c10d.wait_tensor(c10d.all_gather_into_tensor(x, ranks, group))


def scatter(x, group="g", op="sum", ranks=2):
    return c10d.wait_tensor(c10d.reduce_scatter_tensor(x, op, ranks, group))


def reduce(x, group="g", op="sum"):
    return c10d.wait_tensor(c10d.all_reduce(x, op, group))


def lines(text):
    """Returns the operations of a text with one function, without the
    return."""
    body = text[text.index("func.func") :].splitlines()[1:-1]
    return [line.strip() for line in body if not line.startswith("  return")]


def names(gm):
    return [node.name for node in gm.graph.nodes]


def node_of(gm, name):
    (found,) = (node for node in gm.graph.nodes if node.name == name)
    return found


def calls(gm, target):
    return gm.graph.find_nodes(op="call_function", target=target)


def described_by_metadata(gm):
    """`gm` with shapes and types of its values alone, as shape propagation
    leaves them."""
    for node in gm.graph.nodes:
        if "val" in node.meta:
            value = node.meta.pop("val")
            node.meta["tensor_meta"] = _extract_tensor_metadata(value)
    return gm


class Builder:
    """Adds nodes with fake values to a graph."""

    def __init__(self):
        self.graph = torch.fx.Graph()
        self.mode = FakeTensorMode()

    def input(self, name, shape, dtype=torch.float32):
        node = self.graph.placeholder(name)
        node.meta["val"] = self.tensor(shape, dtype)
        return node

    def tensor(self, shape, dtype=torch.float32):
        with self.mode:
            return torch.empty(shape, dtype=dtype)

    def like(self, node, shape=None, dtype=None):
        """A value of its own, like that of `node`."""
        value = node.meta["val"]
        return self.tensor(
            value.shape if shape is None else shape, dtype or value.dtype
        )

    def add(self, name, target, args, value=None, kwargs=None):
        """Adds a call; `value` may be a node, whose value is then shared."""
        target = getattr(target, "default", target)
        node = self.graph.create_node(
            "call_function", target, args, kwargs or {}, name=name
        )
        node.meta["val"] = torch.fx.node.map_arg(value, lambda n: n.meta["val"])
        return node

    def gather(self, name, source, ranks=2, group="g"):
        """Adds the start of an all-gather; `reduce` and `wait` add other calls."""
        first, *rest = source.meta["val"].shape
        args, value = (source, ranks, group), self.like(source, (ranks * first, *rest))
        return self.add(name, c10d.all_gather_into_tensor, args, value)

    def reduce(self, name, source, group="g"):
        args = (source, "sum", group)
        return self.add(name, c10d.all_reduce, args, self.like(source))

    def wait(self, name, start):
        return self.add(name, c10d.wait_tensor, (start,), self.like(start))

    def invoke(self, name, held, *args, value):
        """Adds a call of a graph that the module holds."""
        op = torch.ops.higher_order.invoke_subgraph
        return self.add(name, op, (self.graph.get_attr(held), held, *args), value)

    def item(self, name, source, index):
        node = self.graph.create_node(
            "call_function", operator.getitem, (source, index), {}, name=name
        )
        node.meta["val"] = source.meta["val"][index]
        return node


def build(inputs, body, **held):
    """Builds a graph whose inputs are `(name, shape[, dtype])` and whose
    output is what `body(builder, *inputs)` returns. Its module holds graphs
    and other values by name."""
    builder, module = Builder(), torch.nn.Module()
    for name, value in held.items():
        setattr(module, name, value)
    nodes = [builder.input(*spec) for spec in inputs]
    builder.graph.output(body(builder, *nodes))
    return torch.fx.GraphModule(module, builder.graph)
