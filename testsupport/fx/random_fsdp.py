# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes random FX graphs that gather shards and scatter gradients, on fake
tensors of any size."""

import functools
import random
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import fx
from torch._subclasses import FakeTensorMode

c10d = torch.ops._c10d_functional
aten = torch.ops.aten
WORLD = 16
#: The sizes of the process groups that graphs use.
GROUPS = (16, 8, 1)
MIB = 1 << 20


@dataclass(frozen=True)
class Family:
    """What the graphs of one name are made of.

    sources: what becomes of a shard before it is gathered.
    tails: what becomes of what a reduce-scatter delivers.
    largest: the largest full buffer in MiB; None: a few bytes.
    cap: as for PyTorch's passes, in MiB; None: their default.
    reductions: of reduce-scatters.
    nested: how often a gather is of something gathered.
    patience: how often a step comes before the next wait.
    """

    name: str
    sources: tuple
    tails: tuple
    groups: tuple = (8,)
    dtypes: tuple = (torch.float32,)
    largest: int | None = None
    cap: float | None = None
    reductions: tuple = ("sum", "avg")
    nested: float = 0.0
    patience: float = 0.5


#: Which are about sharded parameters by all rules.
_SHARDS = ("itself", "cast", "view", "cast view")
_GRADIENTS = ("output", "cast", "view", "cast view", "scaled")
#: With those about which rules differ.
_SOURCES = (*_SHARDS, "padded", "relu", "sum of two", "computed", "product")
_TAILS = (*_GRADIENTS, "unused", "dead end", "twice", "squared", "accumulated",
          "reduced", "gathered", "product")
_ONE = {"sources": ("itself", "view", "padded"), "tails": _GRADIENTS,
        "reductions": ("sum",)}
_MANY = {"groups": GROUPS, "dtypes": (torch.float32, torch.bfloat16)}

FAMILIES = (
    Family("one key", **_ONE),
    Family("default cap", **_ONE, largest=900),
    Family("small cap", **_ONE, largest=40, cap=64),
    Family("over the cap", **_ONE, largest=100, cap=64),
    Family("several keys", _SHARDS, _GRADIENTS, **_MANY),
    Family("recognition", _SOURCES, _TAILS),
    Family("dependent", _SHARDS, _GRADIENTS, nested=0.4),
    Family("all together", _SOURCES, _TAILS, **_MANY, largest=900, nested=0.2,
           patience=0.7),
)


@functools.cache
def groups():
    """The names of process groups, by size; starts a fake job."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if not dist.is_initialized():
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=WORLD)
    return {size: dist.new_group(range(size)).group_name for size in GROUPS}


class Maker:
    """Makes one graph."""

    def __init__(self, family: Family, seed: int):
        self.family = family
        self.rng = random.Random(f"{family.name} {seed}")
        self.graph = fx.Graph()
        self.mode = FakeTensorMode()
        self.groups = groups()
        self.pending: list = []
        self.outputs: list = []
        self.gathered: list = []
        self.total = None

    def make(self) -> fx.GraphModule:
        steps = self.rng.randint(4, 20)
        shards = [self.input(f"shard{i}", self.elements()) for i in range(steps)]
        ranks = max(self.family.groups)
        grads = [
            self.input(f"grad{i}", self.elements() * ranks) for i in range(steps)
        ]
        self.bias = self.input("bias", 1)
        self.total = self.call(aten.sum.default, self.bias)
        for shard, grad in zip(shards, grads):
            start = self.rng.choice(
                (self.gather, self.gather, self.scatter, self.scatter, self.reduce))
            start(shard if start == self.gather else grad)
            while self.pending and self.rng.random() > self.family.patience:
                self.finish()
        while self.pending:
            self.finish()
        self.graph.output((self.total, *self.outputs))
        return fx.GraphModule(torch.nn.Module(), self.graph)

    # -- nodes ---------------------------------------------------------------

    def elements(self) -> int:
        """Elements of a shard: any group has whole ones of its full buffer."""
        if self.family.largest is None:
            return WORLD * self.rng.randint(1, 64)
        most = self.family.largest * MIB // 4 // WORLD // max(self.family.groups)
        return WORLD * self.rng.randint(1, most)

    def input(self, name: str, size: int) -> fx.Node:
        node = self.graph.placeholder(name)
        dtype = self.rng.choice(self.family.dtypes)
        with self.mode:
            node.meta["val"] = torch.empty(size, dtype=dtype)
        return node

    def call(self, target, *args) -> fx.Node:
        node = self.graph.call_function(target, args)
        with self.mode:
            node.meta["val"] = target(*fx.node.map_arg(args, lambda n: n.meta["val"]))
        return node

    def cast(self, node: fx.Node) -> fx.Node:
        dtype = self.rng.choice([*self.family.dtypes, torch.bfloat16])
        return self.call(torch.ops.prims.convert_element_type.default, node, dtype)

    def view(self, node: fx.Node) -> fx.Node:
        return self.call(aten.view.default, node, [WORLD // 2, -1])

    def product(self, node: fx.Node) -> fx.Node:
        matrix = self.view(node)
        transposed = self.call(aten.permute.default, matrix, [1, 0])
        return self.call(aten.mm.default, matrix, transposed)

    def pad(self, node: fx.Node) -> fx.Node:
        zeros = self.call(aten.full.default, [WORLD], 0.0)
        return self.call(aten.cat.default, [node, zeros])

    def communicate(self, target, *args) -> fx.Node:
        start = self.call(target, *args)
        return self.call(c10d.wait_tensor.default, start)

    def change(self, kind: str, node: fx.Node) -> fx.Node:
        """What becomes of a node; it itself for all other kinds."""
        makers = {
            "cast": lambda: self.cast(node),
            "view": lambda: self.view(node),
            "cast view": lambda: self.view(self.cast(node)),
            "product": lambda: self.product(node),
            "padded": lambda: self.pad(node),
            "relu": lambda: self.call(aten.relu.default, node),
            "sum of two": lambda: self.call(aten.add.Tensor, node, self.bias),
            "computed": lambda: self.call(aten.mul.Tensor, node, self.total),
            "scaled": lambda: self.call(aten.mul.Tensor, node, 0.5),
            "squared": lambda: self.call(aten.mul.Tensor, node, node),
            "accumulated": lambda: self.call(aten.add.Tensor, node, self.bias),
            "reduced": lambda: self.communicate(
                c10d.all_reduce.default, node, "sum", self.group()[1]
            ),
            "gathered": lambda: self.communicate(
                c10d.all_gather_into_tensor.default, node, *self.group()
            ),
        }
        return makers.get(kind, lambda: node)()

    def group(self) -> tuple[int, str]:
        size = self.rng.choice(self.family.groups)
        return size, self.groups[size]

    # -- gathers -------------------------------------------------------------

    def gather(self, shard: fx.Node) -> None:
        if self.gathered and self.rng.random() < self.family.nested:
            shard = self.rng.choice(self.gathered)
        source = self.change(self.rng.choice(self.family.sources), shard)
        start = self.call(c10d.all_gather_into_tensor.default, source, *self.group())
        self.pending.append((start, self.use))

    def use(self, wait: fx.Node) -> None:
        part = self.call(aten.sum.default, wait)
        self.total = self.call(aten.add.Tensor, self.total, part)
        # As large as a shard.
        flat = self.call(aten.view.default, wait, [-1])
        self.gathered.append(self.call(aten.slice.Tensor, flat, 0, 0, WORLD))

    # -- gradients -----------------------------------------------------------

    def scatter(self, grad: fx.Node) -> None:
        size, name = self.group()
        full = self.call(aten.mul.Tensor, grad, 2.0)
        operation = self.rng.choice(self.family.reductions)
        start = self.call(
            c10d.reduce_scatter_tensor.default, full, operation, size, name)
        self.pending.append((start, self.leave))

    def reduce(self, grad: fx.Node) -> None:
        operation = self.rng.choice(self.family.reductions)
        start = self.call(c10d.all_reduce.default, grad, operation, self.group()[1])
        self.pending.append((start, self.leave))

    def leave(self, wait: fx.Node) -> None:
        tail = self.rng.choice(self.family.tails)
        if tail == "unused":
            return
        if tail == "dead end":
            self.call(aten.neg.default, wait)
            return
        if tail == "twice":
            self.outputs.append(self.call(aten.neg.default, wait))
        self.outputs.append(self.change(tail, wait))

    # -- waits ---------------------------------------------------------------

    def finish(self) -> None:
        """Waits for one, mostly the oldest."""
        index = 0 if self.rng.random() < 0.8 else -1
        start, use = self.pending.pop(index)
        use(self.call(c10d.wait_tensor.default, start))


def make(family: Family, seed: int) -> fx.GraphModule:
    return Maker(family, seed).make()
