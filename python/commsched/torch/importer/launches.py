# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts and waits.

In FX a collective gives tensors at once and each gets a `wait_tensor` of its
own; in the dialect one start gives one future and one wait gives all of its
values. The wait is placed at the first `wait_tensor` of any of them, or
before the first use that has none, or else at the end of the function: a
program that never waits still has to end with its collectives done.
"""

from __future__ import annotations

import operator
from typing import Any, Optional

import torch

from commsched import ir
from commsched.torch.importer.collectives import (
    Start,
    check_reduction,
    clauses,
    delivered,
    read_collective,
)
from commsched.torch.importer.environment import (
    Bound,
    Launch,
    Pending,
    flatten,
    map_structure,
)
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.targets import is_wait, nodes_in
from commsched.torch.importer.transfers import check_on_device, read_transfer
from commsched.torch.importer.types import (
    ELEMENT_TYPES,
    TensorFacts,
    has_value,
    leaves,
)


class LaunchEmitter:
    def __init__(self, converter):
        self._converter = converter
        self._launches: list[Launch] = []
        # By node: how many collectives it is the wait of.
        self._waited: dict[torch.fx.Node, int] = {}

    def start(self, node: torch.fx.Node) -> Any:
        """Emits a collective's start and returns what `node` stands for."""
        converter = self._converter
        collective = read_collective(
            node, converter.groups, converter.values
        )
        pending: list[Pending] = []
        many = len(collective.starts) > 1
        for index, start in enumerate(collective.starts):
            suffix = f".{index}" if many else ""
            pending.extend(self._launch(node, start, suffix, len(pending)))
        return pending if collective.is_list else pending[0]

    def transfer(self, node: torch.fx.Node) -> Pending:
        """Emits the start of a transfer from or to the host and returns what
        `node` stands for."""
        converter = self._converter
        kind, operand, facts = read_transfer(node, converter)
        future = converter.function.start(
            kind,
            [operand.value],
            None,
            [facts.type],
            hint=node.name,
            attrs=converter.timed_names(node),
        )
        return Pending(self._track(node, future), 0, facts)

    def wait(self, node: torch.fx.Node) -> Any:
        """Imports a `wait_tensor`, or the `wait_tensors` of a list; waiting
        for what is not in flight gives the value itself."""
        source = next(iter((*node.args, *node.kwargs.values())), None)
        sources = source if isinstance(source, (list, tuple)) else [source]
        if not all(isinstance(item, torch.fx.Node) for item in sources):
            raise GraphImportError(f"waits for {source}, not for a node", node)
        structures = [self._converter.lookup_bound(item) for item in sources]
        structure = structures if sources is source else structures[0]
        known = []
        if has_value(node):
            known = leaves(self._converter.values.of(node))
        bounds = flatten(structure)
        if [bound.value.type for bound in bounds] != [f.type for f in known]:
            return structure
        described = iter(known)
        return map_structure(
            lambda bound: Bound(bound.value, next(described)), structure
        )

    def deliver(self, pending: Pending) -> Bound:
        """Returns the value of a pending tensor, waiting if need be."""
        launch = pending.launch
        if launch.values is None:
            self._emit_wait(launch)
        if pending.sent is not None:
            return pending.sent
        return Bound(launch.values[pending.index], pending.facts)

    def finish(self) -> None:
        for launch in self._launches:
            if launch.values is None:
                self._emit_wait(launch)

    # -- starts --------------------------------------------------------------

    def _launch(self, node, start: Start, suffix: str, first: int):
        """Emits one start; `first` is the position of its first tensor in
        the node's value."""
        converter = self._converter
        function = converter.function
        into = self._bound(start.into)
        operands = self._bound(start.operands)
        if start.input_numbers or start.output_numbers:
            self._emit_splits(node, start, suffix)
        else:
            operands = self._after_numbers(node, operands)
        check_on_device(node, [bound.facts for bound in (*operands, *into)])
        operands = [self._ranked(node, start, bound) for bound in operands]
        if start.kind == "recv":
            types = [bound.value.type for bound in into]
        else:
            types = [bound.value.type for bound in operands]
        if not types:
            raise GraphImportError("has no tensors", node)
        check_reduction(start, types, node)
        results = delivered(start, types, converter.groups, node)
        facts = self._facts(node, results, first)
        results = [fact.type for fact in facts]
        self._check_buffers(node, into, results)
        future = function.start(
            start.kind,
            [bound.value for bound in operands],
            start.group.symbol,
            results,
            hint=node.name + suffix.replace(".", "_"),
            clauses=clauses(start),
            into=[bound.value for bound in into],
            attrs=converter.timed_names(node, suffix),
        )
        launch = self._track(node, future, first, len(results), suffix)
        if start.kind == "send":
            return [Pending(launch, 0, operands[0].facts, operands[0])]
        pending = [Pending(launch, i, f) for i, f in enumerate(facts)]
        self._rebind(start.into, pending)
        return pending

    def _track(self, node, future, first=0, count=1, suffix="") -> Launch:
        launch = Launch(node, future, [])
        self._name_wait(launch, first, count, suffix)
        self._launches.append(launch)
        return launch

    def _bound(self, argument: Any) -> list[Bound]:
        lookup = self._converter.lookup_bound
        return [b for node in nodes_in(argument) for b in flatten(lookup(node))]

    def _emit_splits(self, node, start: Start, suffix: str) -> None:
        """Puts the splits that only the device knows into one tensor a
        side."""
        converter = self._converter
        for side, name in (("input", "sent"), ("output", "received")):
            given = getattr(start, f"{side}_numbers")
            if given is None:
                continue
            numbers = converter.numbers_of(given)
            (value,) = converter.function.compute(
                "commsched.splits",
                numbers,
                [ir.TensorType((len(given),), "i64")],
                hint=f"{node.name}_{name}",
                attrs={
                    "bytes": 0,
                    **converter.names(node, f"{suffix}.{name}.sizes"),
                },
            )
            setattr(start, f"{side}_splits", value)

    def _after_numbers(self, node, operands: list[Bound]) -> list[Bound]:
        """Numbers that are read from memory have to be known first, which the
        start has no operand for: a view of what is sent depends on them."""
        converter = self._converter
        numbers = converter.numbers(node)
        if not numbers or not operands:
            return operands
        first = operands[0]
        (value,) = converter.function.compute(
            "aten.alias",
            [first.value, *numbers],
            [first.value.type],
            hint=f"{node.name}_sizes",
            attrs={"alias": 0, **converter.names(node, ".sizes")},
        )
        return [Bound(value, first.facts), *operands[1:]]

    def _ranked(self, node, start: Start, bound: Bound) -> Bound:
        """Gives a scalar operand the dimension that a gather joins along."""
        type_ = bound.value.type
        if start.kind != "all_gather" or type_.shape:
            return bound
        (value,) = self._converter.function.compute(
            "aten.reshape",
            [bound.value],
            [ir.TensorType((1,), type_.element)],
            hint=f"{node.name}_operand",
            attrs={
                "alias": 0,
                **self._converter.names(node, ".operand"),
            },
        )
        return Bound(value, bound.facts)

    def _facts(self, node, results, first: int) -> list[TensorFacts]:
        """Returns the facts of what is delivered, and checks that the graph
        has the same shapes."""
        if not results:
            return []
        known = []
        if has_value(node):
            known = leaves(self._converter.values.of(node))[first:]
        facts = []
        for index, type_ in enumerate(results):
            if index >= len(known):
                dtype = self._dtype(type_)
                facts.append(TensorFacts(type_, dtype))
                continue
            if not _agree(known[index].type, type_):
                raise GraphImportError(
                    f"its value is {known[index].type}, but its operand and "
                    f"process group give {type_}",
                    node,
                )
            facts.append(known[index])
        return facts

    @staticmethod
    def _check_buffers(node, into: list[Bound], results) -> None:
        """Raises where a buffer cannot take what is delivered into it."""
        types = [bound.value.type for bound in into]
        if types and types != list(results):
            given, wanted = (", ".join(map(str, t)) for t in (types, results))
            raise GraphImportError(
                f"writes into {given}, but what it delivers is {wanted}", node
            )

    @staticmethod
    def _dtype(type_: ir.TensorType) -> torch.dtype:
        return next(d for d, e in ELEMENT_TYPES.items() if e == type_.element)

    def _rebind(self, argument: Any, pending: list[Pending]) -> None:
        """What was written in place is, from here on, what is delivered."""
        found = nodes_in(argument)
        if len(found) == len(pending):
            for node, item in zip(found, pending):
                self._converter.bind(node, item)

    # -- waits ---------------------------------------------------------------

    def _emit_wait(self, launch: Launch) -> None:
        converter = self._converter
        if launch.wait_node is not None:
            attrs = converter.names(launch.wait_node, self._suffix(launch))
        else:
            attrs = converter.names(launch.node, ".wait")
        launch.values = converter.function.wait(
            launch.future, hints=launch.hints, attrs=attrs
        )

    def _suffix(self, launch: Launch) -> str:
        """One `wait_tensors` may be the wait of several collectives."""
        count = self._waited.get(launch.wait_node, 0)
        self._waited[launch.wait_node] = count + 1
        return f".{count}" if count else ""

    def _name_wait(self, launch: Launch, first, count, suffix) -> None:
        """Finds the `wait_tensor` that each delivered value is named after,
        and the first of them, which the wait is named after."""
        waits = _waits_of(launch.node)
        order = []
        for index in range(first, first + max(count, 1)):
            wait = waits.get(index)
            base = launch.node.name + suffix.replace(".", "_")
            launch.hints.append(wait.name if wait else f"{base}_wait")
            if wait is not None:
                order.append(wait)
        del launch.hints[count:]
        launch.wait_node = min(order, default=None)


def _agree(known: ir.TensorType, given: ir.TensorType) -> bool:
    """Returns whether two types are the same, as far as their sizes are known
    before the program runs."""
    dynamic = {*known.dynamic, *given.dynamic}
    return (
        known.element == given.element
        and len(known.shape) == len(given.shape)
        and all(
            dim in dynamic or sizes[0] == sizes[1]
            for dim, sizes in enumerate(zip(known.shape, given.shape))
        )
    )


def _waits_of(node: torch.fx.Node) -> dict[int, torch.fx.Node]:
    """Returns the first `wait_tensor` of each tensor of a collective."""
    waits: dict[int, torch.fx.Node] = {}
    for user in node.users:
        if is_wait(user.target):
            waits.setdefault(0, user)
            continue
        key = _getitem_key(user, node)
        for inner in user.users if key is not None else ():
            if is_wait(inner.target):
                waits.setdefault(key, inner)
    return waits


def _getitem_key(user, node) -> Optional[int]:
    if user.target is operator.getitem and user.args[0] is node:
        return user.args[1] if isinstance(user.args[1], int) else None
    return None
