# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that stay on their rank: `commsched.compute`."""

from __future__ import annotations

import functools
from typing import Any, Optional

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from commsched import ir
from commsched.torch.importer import costs
from commsched.torch.importer.aliases import (
    Aliases,
    analyze,
    operands_of,
    returns_of,
    writes_by_convention,
)
from commsched.torch.importer.environment import (
    Bound,
    Deferred,
    Pending,
    Stored,
    bind_structure,
)
from commsched.torch.importer.flops import flops
from commsched.torch.importer.targets import (
    bind,
    communication_inside,
    is_unknown_collective,
    operator_name,
    overload_of,
    schema_of,
)
from commsched.torch.importer.transfers import check_on_device
from commsched.torch.importer.types import (
    NOT_A_TENSOR,
    TensorFacts,
    has_value,
    leaves,
    raw_value,
)
from commsched.torch.private.names import HigherOrderOperator, OpOverload


# Results of attention that mean something only where it drops out.
_STATES = frozenset(
    {"debug_attn_mask", "philox_offset", "philox_seed", "rng_state", "unused"}
)


class ComputeEmitter:
    def __init__(self, converter):
        self._converter = converter
        self._rules = converter.rules

    def convert(self, node: torch.fx.Node) -> Any:
        """Imports a call and returns what `node` stands for.

        Pure views of what is in flight or in a storage, and allocations, are
        put off to their first use.
        """
        pairs = operands_of(node, self._converter.lookup)
        check_on_device(node, [tensor.facts for _, tensor in pairs])
        structure = self._structure(node, bool(pairs))
        results = leaves(structure)
        if not results and pairs and node.users and _reads_number(node):
            self._number(node)
            return NOT_A_TENSOR
        if not results and not _has_effect(node, bool(pairs)):
            return structure
        if isinstance(structure, TensorFacts) and self._may_wait(
            node, pairs, structure
        ):
            return Deferred(node, structure)
        if all(isinstance(tensor, Bound) for _, tensor in pairs):
            return self._emit(node, structure, pairs)
        return self.emit(node)

    def emit(self, node: torch.fx.Node) -> Any:
        """Emits a call, and first what its operands wait for."""
        for source in node.all_input_nodes:
            self._converter.lookup_bound(source)
        pairs = operands_of(node, self._converter.lookup)
        return self._emit(node, self._structure(node, bool(pairs)), pairs)

    def _number(self, node: torch.fx.Node) -> None:
        """A number that depends on what is in memory, such as `item`, is a
        scalar in the module, on which all depends that is computed from it."""
        (value,) = self._converter.function.compute(
            operator_name(node),
            self._converter.values_of((node.args, node.kwargs)),
            [_number_type(node)],
            hint=node.name,
            attrs={"bytes": 0, **self._converter.names(node)},
        )
        self._converter.bind_number(node, value)

    # -- one operation -------------------------------------------------------

    def _emit(self, node: torch.fx.Node, structure: Any, pairs: list) -> Any:
        operands = [operand for operand, _ in pairs]
        values = [bound.value for _, bound in pairs]
        results = leaves(structure)
        aliases = analyze(
            node, operands, results, returns_of(node, structure)
        )
        bound = self._operation(node, operands, values, results, aliases)
        for result, alias in zip(bound, aliases.results):
            if alias is not None:
                self._converter.storages.add_view(
                    node, structure, values[alias], result.value
                )
        self._rebind(operands, aliases, bound)
        remaining = iter(bound)
        return bind_structure(structure, lambda _: next(remaining))

    def _operation(self, node, operands, values, results, aliases):
        """Emits the operation, one view for each result that lives in another
        operand than its fellows, and what gives the results that are states of
        random generators if nothing is drawn: they are of no chunk."""
        same = len(set(aliases.results)) <= 1
        states = [] if self._rules is None else self._states(node, results)
        own = [
            index
            for index, alias in enumerate(aliases.results)
            if (same or alias is None) and index not in states
        ]
        numbers = self._converter.numbers(node)
        attrs = self._attributes(node, operands, results, aliases)
        if numbers and "bytes" not in attrs and None in aliases.results:
            attrs["bytes"] = costs.default_bytes(operands, results)
        if same and results:
            attrs["alias"] = aliases.results[0]
        if self._rules is not None and same:
            if not aliases.written and "random" not in attrs:
                attrs["split"] = self._rules.of(
                    node,
                    operands,
                    [results[index] for index in own],
                    len(numbers),
                )
        made = self._converter.function.compute(
            operator_name(node),
            [*values, *numbers],
            [results[index].type for index in own],
            hint=node.name,
            attrs=attrs,
        )
        bound: list[Optional[Bound]] = [None] * len(results)
        for index, value in zip(own, made):
            bound[index] = Bound(value, results[index])
        if states:
            self._emit_states(node, states, results, bound)
        for index, alias in enumerate(aliases.results):
            if bound[index] is None:
                bound[index] = self._view(
                    node, index, values[alias], made, results[index]
                )
        return bound

    def _states(self, node, results) -> list[int]:
        """Returns the results of a call that hold, or are for, a state of which
        it draws nothing."""
        overload = overload_of(node.target)
        if overload is None or len(results) < 2 or is_random(node):
            return []
        positions = returns_of(node, self._converter.values.of(node))
        returns = schema_of(overload).returns
        return [
            index
            for index, position in enumerate(positions)
            if position is not None
            and position < len(returns)
            and returns[position].name in _STATES
        ]

    def _emit_states(self, node, states, results, bound) -> None:
        made = self._converter.function.compute(
            f"{operator_name(node)}.state",
            [],
            [results[index].type for index in states],
            hint=f"{node.name}_state",
            attrs={"bytes": 0, **self._converter.names(node, ".state")},
        )
        for index, value in zip(states, made):
            bound[index] = Bound(value, results[index])

    def _view(self, node, index, base, made, facts) -> Bound:
        """A result that views `base`. It takes the operation's own results
        too: it is not there before them."""
        (value,) = self._converter.function.compute(
            f"{operator_name(node)}.view",
            [base, *made],
            [facts.type],
            hint=f"{node.name}_{index}",
            attrs={"alias": 0, **self._converter.names(node, f".{index}")},
        )
        return Bound(value, facts)

    def _attributes(self, node, operands, results, aliases: Aliases) -> dict:
        attrs = self._converter.timed_names(node)
        attrs["flops"] = flops(node, self._converter.values)
        moved = costs.bytes_moved(node, operands, results, aliases)
        if moved != self._default_bytes(operands, results, aliases):
            attrs["bytes"] = moved
        if aliases.written:
            attrs["mutates"] = aliases.written
        if is_random(node):
            attrs["random"] = True
        return attrs

    @staticmethod
    def _default_bytes(operands, results, aliases: Aliases) -> int:
        """What the dialect assumes: nothing for a view, else all that the
        operation is given and gives."""
        alone = set(aliases.results)
        if alone and len(alone) == 1 and None not in alone:
            if not aliases.written:
                return 0
        if len(alone) > 1:
            results = [
                r for r, a in zip(results, aliases.results) if a is None
            ]
        return costs.default_bytes(operands, results)

    def _rebind(self, operands, aliases: Aliases, bound) -> None:
        """After an in-place operator its operand is what it returned, so that
        later uses depend on it."""
        for result, alias in zip(bound, aliases.results):
            if alias is None or alias not in aliases.written:
                continue
            source = operands[alias].node
            before = self._converter.lookup(source)
            if (
                isinstance(before, Bound)
                and before.value.type == result.value.type
            ):
                self._converter.bind(source, result)

    # -- what to emit, and when ----------------------------------------------

    def _structure(self, node: torch.fx.Node, has_operands: bool) -> Any:
        """Returns the structure of the node's value. A node that the graph
        says nothing of may still be known to give no tensor."""
        if not has_value(node):
            overload = overload_of(node.target)
            if overload is not None and not any(
                "Tensor" in str(r.type) for r in schema_of(overload).returns
            ):
                return NOT_A_TENSOR
            if overload is None and (
                not has_operands or _gives_no_tensor(node)
            ):
                return NOT_A_TENSOR
        return self._converter.values.of(node)

    def _may_wait(self, node, pairs, facts: TensorFacts) -> bool:
        if not pairs:
            return costs.is_allocation(node)
        if not any(map(_is_yet_to_come, (tensor for _, tensor in pairs))):
            return False
        operands = [operand for operand, _ in pairs]
        aliases = analyze(node, operands, [facts], [0])
        if aliases.written or aliases.results[0] is None:
            return False
        return _is_yet_to_come(pairs[aliases.results[0]][1])


def _is_yet_to_come(tensor: Any) -> bool:
    """Returns whether nothing has been emitted for a value so far."""
    if isinstance(tensor, (Deferred, Stored)):
        return True
    return isinstance(tensor, Pending) and tensor.launch.values is None


def _has_effect(node: torch.fx.Node, has_operands: bool) -> bool:
    """Returns whether a call without tensor results is there for more than
    numbers about its operands' shapes."""
    if not has_operands:
        return False
    if isinstance(node.target, HigherOrderOperator):
        return True
    overload = overload_of(node.target)
    if overload is None:
        return writes_by_convention(node)
    if schema_of(overload).name == "aten::_assert_tensor_metadata":
        return False
    return (
        schema_of(overload).is_mutable
        or not schema_of(overload).returns
        or torch.Tag.data_dependent_output in overload.tags
    )


def _gives_no_tensor(node: torch.fx.Node) -> bool:
    """Returns whether a function or method without a recorded value is known to
    return no tensor: it writes in place and its result has no users, or shape
    propagation has recorded another type."""
    if writes_by_convention(node) and not node.users:
        return True
    seen = node.meta.get("type")
    return isinstance(seen, type) and (
        issubclass(seen, (bool, int, float, str, torch.dtype, torch.device))
        or seen in (torch.Size, type(None))
    )


def _reads_number(node: torch.fx.Node) -> bool:
    """Returns whether a call without tensor results gives a number that
    depends on what is in memory."""
    overload = overload_of(node.target)
    if overload is not None and (
        torch.Tag.data_dependent_output in overload.tags
    ):
        return True
    value = raw_value(node) if has_value(node) else None
    if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return False
    return bool(free_unbacked_symbols(value))


def _number_type(node: torch.fx.Node) -> ir.TensorType:
    value = raw_value(node) if has_value(node) else None
    if isinstance(value, (float, torch.SymFloat)):
        return ir.TensorType((), "f64")
    if isinstance(value, (bool, torch.SymBool)):
        return ir.TensorType((), "i1")
    return ir.TensorType((), "i64")


def is_random(node: torch.fx.Node) -> bool:
    """Returns whether the call, or an operator that it is given to call,
    draws random numbers. Attention may drop nothing out; then it does not.

    What communicates is left whole and marked like what draws from a hidden
    state: it is neither removed, nor repeated, nor moved across another. That is
    a loop or a branch, or an unknown collective.
    """
    overload = overload_of(node.target)
    if is_unknown_collective(node.target):
        return True
    called = [overload]
    if isinstance(node.target, HigherOrderOperator):
        if communication_inside(node) is not None:
            return True
        called += [arg for arg in node.args if isinstance(arg, OpOverload)]
    elif overload is not None and bind(overload, node).get("dropout_p") == 0:
        return False
    return any(map(draws, filter(None, called)))


@functools.lru_cache(maxsize=4096)
def draws(overload: OpOverload) -> bool:
    """Returns whether some calls of an operator draw random numbers."""
    return torch.Tag.nondeterministic_seeded in overload.tags
