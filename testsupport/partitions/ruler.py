# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures of saved values and recomputation, the same for all partitions.

Values that live in one storage are one: saving a view saves its storage. The
flops are those that the importer gives the operations.
"""

from dataclasses import dataclass

import torch
from torch.utils._pytree import tree_leaves

from commsched.torch.importer.flops import flops
from commsched.torch.importer.roles import Roles
from commsched.torch.importer.types import Values


@dataclass(frozen=True)
class Partition:
    """saved: of each storage, the first value in it, without parameters and
    buffers, which live as long as the program.
    saved_bytes: of these storages; activation_bytes: without arguments.
    flops: of what the backward computes again; repeated: these operators.
    """

    saved: frozenset
    saved_bytes: int
    activation_bytes: int
    flops: float
    repeated: frozenset


class Ruler:
    """Measures partitions of one joint graph."""

    def __init__(self, graph: torch.fx.GraphModule):
        nodes = graph.graph.nodes
        values = Values({})
        roles = Roles(graph.graph, "joint", values)
        self._flops = {node.name: flops(node, values) or 0.0 for node in nodes}
        self._storages: dict[str, int] = {}
        self._first: dict[int, str] = {}
        self._bytes: dict[str, int] = {}
        self._arguments = {n.name for n in nodes if n.op == "placeholder"}
        self._static = set()
        self._is_view = set()
        for node in nodes:
            tensors = [
                leaf
                for leaf in tree_leaves(node.meta.get("val"))
                if isinstance(leaf, torch.Tensor)
            ]
            many = len(tensors) > 1
            for index, tensor in enumerate(tensors):
                name = f"{node.name}#{index}" if many else node.name
                self._add(name, tensor)
            if node.op == "placeholder" and roles.of(node) == "parameter":
                self._static.add(node.name)
            if node.op == "placeholder" or all(
                self._first[self._key(t)].split("#")[0] != node.name
                for t in tensors
            ):
                self._is_view.add(node.name)

    def _add(self, name, tensor):
        key = self._key(tensor)
        self._storages[name] = key
        if key not in self._first:
            self._first[key] = name
            self._bytes[name] = tensor.untyped_storage().nbytes()

    @staticmethod
    def _key(tensor):
        return tensor.untyped_storage()._cdata

    def first_of(self, name):
        """The first value in the storage of a value."""
        return self._first[self._storages[name]]

    def measure(self, saved, forward, backward):
        """`saved` are names of values: a node's, or `node#i` for the i-th
        tensor of several; `forward` and `backward` the names of the nodes that
        each half computes."""
        bases = {self.first_of(name) for name in saved}
        bases -= self._static
        repeated = frozenset(forward) & frozenset(backward) & self._flops.keys()
        return Partition(
            frozenset(bases),
            sum(self._bytes[name] for name in bases),
            sum(self._bytes[name] for name in bases - self._arguments),
            sum(self._flops[name] for name in repeated),
            repeated - self._is_view,
        )
