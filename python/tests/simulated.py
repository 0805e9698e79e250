# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs graphs in one process as rank 0 of several, and makes graphs at random.

The other ranks hold what rank 0 holds, times their number plus one, so that
every collective is a function of the own tensors. What is in flight is not a
number until it is waited for, and is computed from what its operands are then.
"""

import random

import torch

from graphs import Builder

aten = torch.ops.aten
c10d = torch.ops._c10d_functional

RANKS = 2
_SUM = sum(range(1, RANKS + 1))


def _gather(x):
    return torch.cat([x * (rank + 1) for rank in range(RANKS)])


def _scatter(x):
    return x.chunk(RANKS)[0] * _SUM


def _reduce(x):
    return x * _SUM


_SINGLE = {
    c10d.all_gather_into_tensor.default: _gather,
    c10d.reduce_scatter_tensor.default: _scatter,
    c10d.all_reduce.default: _reduce,
}
_COALESCED = {
    c10d.all_gather_into_tensor_coalesced.default: _gather,
    c10d.reduce_scatter_tensor_coalesced.default: _scatter,
    c10d.all_reduce_coalesced.default: _reduce,
}


class Simulation(torch.fx.Interpreter):
    """Runs a graph; see the module."""

    def __init__(self, gm):
        super().__init__(gm)
        self._in_flight = []

    def call_function(self, target, args, kwargs):
        if target in _SINGLE:
            return self._start(_SINGLE[target], args[0])
        if target in _COALESCED:
            return [self._start(_COALESCED[target], x) for x in args[0]]
        if target is c10d.wait_tensor.default:
            (out,) = args
            for index, (made, function, x) in enumerate(self._in_flight):
                if made is out:
                    out.copy_(function(x))
                    del self._in_flight[index]
                    break
            return out
        return super().call_function(target, args, kwargs)

    def _start(self, function, x):
        out = torch.full_like(function(x), float("nan"))
        self._in_flight.append((out, function, x))
        return out


def simulate(gm, inputs):
    """Returns the outputs of `gm`, and what it leaves in its inputs."""
    torch.manual_seed(0)
    inputs = [x.clone() for x in inputs]
    outputs = Simulation(gm).run(*inputs)
    return [*outputs, *inputs]


class RandomGraph:
    """A graph of `size` steps on tensors of 4 x 6, with collectives, views,
    writes in place and random numbers."""

    def __init__(self, seed, size=30):
        self._random = random.Random(seed)
        self._b = Builder()
        self._count = 0
        names = ["x", "y", "z"]
        self._values = [self._b.input(name, (4, 6)) for name in names]
        self._pending = []
        steps = [
            self._unary, self._add, self._view, self._write, self._draw,
            self._start, self._start, self._start, self._wait,
        ]
        for _ in range(size):
            self._random.choice(steps)()
        while self._pending:
            self._wait()
        self._b.graph.output(self._random.sample(self._values, 3))
        self.gm = torch.fx.GraphModule(torch.nn.Module(), self._b.graph)
        generator = torch.Generator().manual_seed(seed)
        self.inputs = [torch.rand(4, 6, generator=generator) for _ in names]

    def _add_node(self, target, *args):
        self._count += 1
        target = getattr(target, "default", target)
        given = torch.fx.node.map_arg(args, lambda node: node.meta["val"])
        with self._b.mode:
            value = target(*given)
        name = f"{target._opname}_n{self._count}"
        node = self._b.add(name, target, args)
        node.meta["val"] = value
        return node

    def _any(self):
        return self._random.choice(self._values)

    def _unary(self):
        self._values.append(self._add_node(aten.sin, self._any()))

    def _add(self):
        a, b = self._any(), self._any()
        self._values.append(self._add_node(aten.add.Tensor, a, b))

    def _view(self):
        viewed = self._add_node(aten.view, self._any(), [6, 4])
        again = self._add_node(aten.view, viewed, [4, 6])
        self._values.append(again)

    def _draw(self):
        self._values.append(self._add_node(aten.bernoulli.p, self._any(), 0.5))

    def _write(self):
        x = self._any()
        storage = x.meta["val"].untyped_storage()._cdata
        if any(storage == used for _, _, used in self._pending):
            return
        name = self._random.choice(["copy_", "mul_"])
        if name == "copy_":
            self._add_node(aten.copy_, x, self._any())
        else:
            self._add_node(aten.mul_.Scalar, x, 0.5)

    def _start(self):
        x = self._any()
        kind = self._random.choice(["gather", "scatter", "reduce"])
        if kind == "gather":
            node = self._add_node(c10d.all_gather_into_tensor, x, RANKS, "g")
        elif kind == "scatter":
            node = self._add_node(c10d.reduce_scatter_tensor, x, "sum", RANKS, "g")
        else:
            node = self._add_node(c10d.all_reduce, x, "sum", "g")
        storage = x.meta["val"].untyped_storage()._cdata
        self._pending.append((kind, node, storage))

    def _wait(self):
        if not self._pending:
            return
        index = self._random.randrange(len(self._pending))
        kind, node, _ = self._pending.pop(index)
        done = self._add_node(c10d.wait_tensor, node)
        if kind == "gather":
            parts = self._add_node(aten.split.Tensor, done, 4)
            self._count += 1
            done = self._b.item(f"item_n{self._count}", parts, 1)
        elif kind == "scatter":
            done = self._add_node(aten.cat, [done, done])
        self._values.append(done)
