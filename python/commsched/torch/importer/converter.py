# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns one FX graph into one function, node after node."""

from __future__ import annotations

import operator
from types import MappingProxyType
from typing import Any, Mapping, Optional

import torch

from commsched import ir
from commsched.torch.importer.compute import ComputeEmitter
from commsched.torch.importer.copies import CopyEmitter, copy_kind
from commsched.torch.importer.environment import (
    Bound,
    Deferred,
    Pending,
    Stored,
    bind_structure,
    flatten,
    map_structure,
)
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.groups import Groups
from commsched.torch.importer.joint import JointOutputs
from commsched.torch.importer.launches import LaunchEmitter
from commsched.torch.importer.links import ArgumentMarks
from commsched.torch.importer.marks import marks_of, region_of
from commsched.torch.importer.modules import ModulePaths
from commsched.torch.importer.split_rules import SplitRules
from commsched.torch.importer.unsharded import StorageEmitter, storage_change
from commsched.torch.importer.targets import (
    attribute_of,
    communicates,
    is_unknown_collective,
    is_wait,
    nodes_in,
    schema_name,
    transfer_kind,
)
from commsched.torch.importer.transfers import host_facts, is_reloaded
from commsched.torch.importer.types import NOT_A_TENSOR, Values, has_value


class Converter:
    """The state of one graph's import: what every node stands for."""

    def __init__(
        self,
        graph: torch.fx.Graph,
        function: ir.Function,
        groups: Groups,
        values: Values,
        arguments: ArgumentMarks,
        paths: ModulePaths,
        joint: Optional[JointOutputs] = None,
        runtimes: Mapping[str, int] = MappingProxyType({}),
        rules: Optional[SplitRules] = None,
        fences: bool = False,
    ):
        self.graph = graph
        self.function = function
        self.groups = groups
        self.values = values
        self.rules = rules
        self._fences = fences
        self._arguments = arguments
        self._paths = paths
        self._joint = joint
        self._runtimes = runtimes
        self._environment: dict[torch.fx.Node, Any] = {}
        self._constants: dict[str, Any] = {}
        self._numbers: dict[torch.fx.Node, list[ir.Value]] = {}
        self._launches = LaunchEmitter(self)
        self.storages = StorageEmitter(self)
        self._compute = ComputeEmitter(self)
        self._copies = CopyEmitter(self)

    def run(self) -> None:
        for node in self.graph.nodes:
            if node.op == "placeholder":
                self.bind(node, self._argument(node, self._arguments.of))
            elif node.op == "get_attr":
                self.bind(node, self._constant(node))
            elif node.op == "output":
                self._output(node)
            elif node.op == "call_module":
                if _only_checks(node):
                    continue
                raise GraphImportError(
                    "a call of a module that was not traced (a graph break, "
                    "or a leaf of the tracer): trace through it",
                    node,
                )
            else:
                self.bind(node, self._call(node))
                if self._environment[node] is NOT_A_TENSOR:
                    self._numbers.setdefault(node, self.numbers(node))

    # -- what nodes stand for ------------------------------------------------

    def bind(self, node: torch.fx.Node, structure: Any) -> None:
        self._environment[node] = structure

    def lookup(self, node: torch.fx.Node) -> Any:
        """Returns what `node` stands for, with nothing emitted for it."""
        return self._environment[node]

    def resolve(self, structure: Any) -> Any:
        """Returns `structure` with everything bound, emitting the waits and
        operations that this takes."""
        return map_structure(self._resolve_one, structure)

    def lookup_bound(self, node: torch.fx.Node) -> Any:
        """Returns what `node` stands for, all of it bound."""
        structure = self.resolve(self._environment[node])
        self._environment[node] = structure
        return structure

    def values_of(self, argument: Any) -> list[ir.Value]:
        return [
            tensor.value
            for node in nodes_in(argument)
            for tensor in flatten(self.lookup_bound(node))
        ]

    def bind_number(self, node: torch.fx.Node, value: ir.Value) -> None:
        """Says that `value` stands for a number that `node` reads from
        memory."""
        self._numbers[node] = [value]

    def numbers(self, node: torch.fx.Node) -> list[ir.Value]:
        """Returns the numbers read from memory that the arguments of `node`
        are computed from: it cannot run before they are known."""
        return self.numbers_of(node.all_input_nodes)

    def numbers_of(self, argument: Any) -> list[ir.Value]:
        found = {
            value.ref: value
            for source in nodes_in(argument)
            for value in self._numbers.get(source, ())
        }
        return list(found.values())

    def names(self, node: torch.fx.Node, suffix: str = "") -> dict:
        """Returns the attributes that say where an operation came from and
        what compiles it, and in a joint graph what the partitioner is to
        know."""
        attributes = {
            "commsched.name": node.name + suffix,
            "commsched.origin": [node.name] if suffix else None,
            "commsched.module": self._paths.of(node) or None,
            "commsched.compile_with": region_of(node),
        }
        if self._joint is not None:
            attributes.update(marks_of(node))
        return attributes

    def timed_names(self, node: torch.fx.Node, suffix: str = "") -> dict:
        """As `names`, with the time that is given for the node, of an
        operation that takes all of it."""
        attributes = self.names(node, suffix)
        if not suffix:
            attributes["commsched.runtime_ns"] = self._runtimes.get(node.name)
        return attributes

    def _resolve_one(self, tensor: Any) -> Bound:
        if isinstance(tensor, Pending):
            return self._launches.deliver(tensor)
        if isinstance(tensor, Stored):
            return self.storages.read(tensor)
        if isinstance(tensor, Deferred):
            self._emit_deferred(tensor.node)
            # What was put off may since have been written in place.
            return self._resolve_one(self._environment[tensor.node])
        return tensor

    def _emit_deferred(self, node: torch.fx.Node) -> None:
        """Emits what was put off at `node`, after what it needs: chains of
        views may be longer than the interpreter's stack."""
        stack = [node]
        while stack:
            current = stack[-1]
            if not isinstance(self._environment[current], Deferred):
                stack.pop()
                continue
            needed = [
                structure.node
                for source in current.all_input_nodes
                if isinstance(structure := self._environment[source], Deferred)
            ]
            stack.extend(needed)
            if not needed:
                self.bind(current, self._compute.emit(current))

    # -- nodes ---------------------------------------------------------------

    def _argument(self, node: torch.fx.Node, marks_of) -> Any:
        if not has_value(node) and not node.users:
            return NOT_A_TENSOR

        def make(facts):
            attrs = marks_of(node)
            if is_reloaded(node):
                facts = host_facts(facts)
            if self._arguments.is_stored(node):
                return self.storages.argument(node, facts, attrs)
            value = self.function.argument(node.name, facts.type, attrs)
            return Bound(value, facts)

        return bind_structure(self.values.of(node), make)

    def _constant(self, node: torch.fx.Node) -> Any:
        """A tensor that the module holds becomes one more argument: it is
        there before the step and stays."""
        key = str(node.target)
        if key not in self._constants:
            self._constants[key] = self._argument(
                node, lambda _: {"commsched.role": "parameter"}
            )
        return self._constants[key]

    def _call(self, node: torch.fx.Node) -> Any:
        target = node.target
        if node.op == "call_function":
            if is_wait(target):
                return self._launches.wait(node)
            if transfer_kind(target) is not None:
                return self._launches.transfer(node)
            if target is operator.getitem:
                item = self._item(node)
                if item is not None:
                    return item[0]
            if schema_name(target).endswith("::_wrap_tensor_autograd"):
                return self.lookup(node.args[0])
            if self._fences and is_unknown_collective(target):
                return self._fenced(node)
            if communicates(target):
                return self._launches.start(node)
            if storage_change(node) is not None:
                changed = self.storages.change(node)
                if changed is not None:
                    return changed
            if copy_kind(target) is not None:
                copied = self._copies.emit(node)
                if copied is not None:
                    return copied
        return self._compute.convert(node)

    def _fenced(self, node: torch.fx.Node) -> Any:
        """Imports a collective of which nothing is known: an operator that
        draws from a hidden state, between two fences, which use that state too.
        No other communication comes before or behind it that did not."""
        for source in node.all_input_nodes:
            self.lookup_bound(source)
        self.function.fence(self.names(node, ".enter"))
        structure = self._compute.convert(node)
        self.function.fence(self.names(node, ".leave"))
        return structure

    def _item(self, node: torch.fx.Node) -> Optional[tuple]:
        """Returns, in a tuple, the element that a getitem takes of a
        structure; None if it indexes a tensor."""
        source, key = node.args
        if not isinstance(source, torch.fx.Node):
            return None
        structure = self.lookup(source)
        if isinstance(structure, (list, dict)):
            try:
                return (structure[key],)
            except (IndexError, KeyError, TypeError):
                raise GraphImportError(
                    f"node '{source.name}' has no element {key}: it has "
                    f"{len(structure)}",
                    node,
                ) from None
        if structure is None or structure is NOT_A_TENSOR:
            return (NOT_A_TENSOR,)
        return None

    def _output(self, node: torch.fx.Node) -> None:
        """Returns the tensors among the outputs, in order, without those in
        the storage of an unsharded parameter: the caller has it, and it may be
        freed by now.

        What is still in flight is waited for first, in the order it started.
        """
        self._launches.finish()
        self.function.return_(self._own_values(node.args))
        if self._joint is not None and self._joint.forward is not None:
            self.function.attributes["commsched.num_forward_outputs"] = len(
                self._own_values(self._joint.forward)
            )

    def _own_values(self, outputs: Any) -> list[ir.Value]:
        return self.values_of(
            [node for node in nodes_in(outputs) if not self.storages.holds(node)]
        )


def _only_checks(node: torch.fx.Node) -> bool:
    """Returns whether a call of a module is that by which torch.export checks
    the inputs' shapes."""
    module = attribute_of(node.graph.owning_module, str(node.target))
    return not node.users and type(module).__name__ == "GuardsFn"
