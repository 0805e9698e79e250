# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Along which dimensions an operator can be computed in chunks: the attribute
`split` of `commsched.compute`.

The rules are those by which DTensor shards operators: a chunk is the shard of
one rank, and what is no sum is equal bit for bit. Operators that change shapes
or join and divide tensors follow from their shapes (`split_views`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

import torch

from commsched.torch.importer.aliases import Operand
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.split_text import Factor, SplitAxes
from commsched.torch.importer.split_views import view_axes
from commsched.torch.importer.targets import bind, overload_of, schema_of
from commsched.torch.importer.types import TensorFacts, Values, raw_value
from commsched.torch.private import sharding
from commsched.torch.private.names import OpOverload
from commsched.torch.private.sharding import TensorShape

# Operators whose rules DTensor has under another name.
_ATTENTION = "_scaled_dot_product_flash_attention"
_KNOWN_AS = {
    getattr(torch.ops.aten, f"{_ATTENTION}_for_cpu{way}").default: (
        getattr(torch.ops.aten, f"{_ATTENTION}{way}").default
    )
    for way in ("", "_backward")
}


# In the place of sizes that nothing is known of.
_ANY_SIZE = 8192


class _Call(NamedTuple):
    """All that a rule depends on: equal calls have the same."""

    overload: OpOverload
    arguments: tuple
    operands: tuple
    results: tuple
    scalars: int


class SplitRules:
    """The rules of the operators of a module, each looked for once."""

    def __init__(self, values: Values):
        self._values = values
        self._known: dict[_Call, Optional[str]] = {}

    def of(
        self,
        node: torch.fx.Node,
        operands: Sequence[Operand],
        results: Sequence[TensorFacts],
        scalars: int = 0,
    ) -> Optional[str]:
        """Returns the text of the attribute; None for a call that cannot be
        split, or that nothing is known of.

        `operands` and `results` are the tensors that the operation in the
        module takes and gives, in its order; `scalars` more operands without
        dimensions follow.
        """
        call = self._call(node, operands, results, scalars)
        if call is None:
            return None
        if call not in self._known:
            self._known[call] = _text(call)
        return self._known[call]

    def _call(self, node, operands, results, scalars) -> Optional[_Call]:
        if node.op != "call_function" or not operands or not results:
            return None
        overload = overload_of(node.target)
        if overload is None:
            return None
        tensors = {operand.node: operand.facts for operand in operands}
        bound = bind(overload, node)
        try:
            arguments = tuple(
                self._argument(bound.get(argument.name), tensors, node)
                for argument in schema_of(overload).arguments
            )
            call = _Call(
                overload,
                arguments,
                tuple((_sizes(o.facts), o.facts.symbolic) for o in operands),
                tuple((_sizes(r), r.symbolic) for r in results),
                scalars,
            )
            hash(call)
            if len(_tensors(arguments)) != len(operands):
                return None
        except (GraphImportError, TypeError):
            # A node that the graph says nothing of, or an argument that is
            # neither a tensor nor a constant.
            return None
        return call

    def _argument(self, argument: Any, tensors: Mapping, node) -> Any:
        """Returns an argument that can be compared: tensors as their shapes,
        symbolic numbers as what stands for them."""
        if isinstance(argument, (list, tuple)):
            return tuple(self._argument(a, tensors, node) for a in argument)
        if isinstance(argument, torch.fx.Node) and argument in tensors:
            facts = tensors[argument]
            return TensorShape(_sizes(facts), facts.dtype)
        if isinstance(argument, torch.fx.Node):
            argument = raw_value(argument)
        if isinstance(argument, torch.SymInt):
            # No dimension that it is the size of is split.
            known = self._values.standins.size(argument)[0]
            return _ANY_SIZE if known is None else known
        return argument


def _sizes(facts: TensorFacts) -> tuple:
    return tuple(
        _ANY_SIZE if size is None else size for size in facts.type.shape
    )


def _tensors(arguments: Any) -> list[TensorShape]:
    if isinstance(arguments, TensorShape):
        return [arguments]
    if not isinstance(arguments, tuple):
        return []
    return [found for item in arguments for found in _tensors(item)]


def _text(call: _Call) -> Optional[str]:
    shapes = [shape for shape, _ in call.operands]
    results = [shape for shape, _ in call.results]
    if any(0 in shape for shape in (*shapes, *results)):
        return None
    schema = schema_of(call.overload)
    symbolic = any(dims for _, dims in (*call.operands, *call.results))
    axes = view_axes(
        call.overload,
        dict(zip(schema.names, call.arguments)),
        shapes,
        results,
        symbolic,
    )
    if axes is None:
        axes = _sharded_axes(call, shapes, results)
    if axes is None:
        return None
    for value, (_, dims) in zip(
        (*axes.operands, *axes.results), (*call.operands, *call.results)
    ):
        for dim in dims:
            axes.exclude(value[dim])
    axes.operands.extend([] for _ in range(call.scalars))
    return axes.text()


# -- what DTensor knows -------------------------------------------------------


def _sharded_axes(call: _Call, operands, results) -> Optional[SplitAxes]:
    """Returns the axes by which DTensor shards a call. An operator that it
    does not know, or not for these arguments, has none."""
    args, kwargs = [], {}
    for argument, value in zip(
        schema_of(call.overload).arguments, call.arguments
    ):
        if not argument.kwarg_only:
            args.append(value)
        elif value is not None:
            kwargs[argument.name] = value
    overload = _KNOWN_AS.get(call.overload, call.overload)
    try:
        found = sharding.strategies(overload, args, kwargs)
    except Exception:
        # Rules are written for what DTensor is given; of other calls they
        # raise errors of any kind.
        return None
    axes = SplitAxes(operands, results)
    grouped = "scaled_dot_product" in schema_of(overload).name
    axis_of = functools.partial(
        _axis_of, operands=operands, results=results, grouped=grouped
    )
    for places, is_sum in _without_conflicts(map(axis_of, found)):
        axis = axes.new_axis(is_sum=is_sum)
        values = [
            (axes.operands if of_operand else axes.results)[index]
            for (of_operand, index), _ in places
        ]
        size = min(
            value[dim][0].size for value, (_, dim) in zip(values, places)
        )
        for value, (_, dim) in zip(values, places):
            rest = value[dim][0].size // size
            value[dim] = [Factor(size, axis), Factor(rest)]
    return axes


def _without_conflicts(found) -> list:
    """Returns the places of each axis and whether it is a sum, without those
    axes that have a dimension in common."""
    axes: dict = {}
    for axis in found:
        if axis is not None:
            axes[axis] = None
    taken: dict = {}
    for places, _ in axes:
        for place in places:
            taken[place] = taken.get(place, 0) + 1
    return [
        (places, is_sum)
        for places, is_sum in axes
        if all(taken[place] == 1 for place in places)
    ]


def _axis_of(strategy, operands, results, grouped) -> Optional[tuple]:
    """Returns ((is an operand, index), dimension) of each place of the axis
    that a strategy shards, and whether it is a sum; None if it is none.

    The dimensions have one size; of `grouped` heads of attention several
    belong to one of the smallest number.
    """
    given = strategy.results
    if len(given) == 1:
        given = given * len(results)
    given = given[: len(results)]
    is_sum = all(placement == sharding.SUM for placement in given)
    if len(given) < len(results) or len(strategy.operands) != len(operands):
        return None
    if not is_sum and not all(isinstance(p, int) for p in given):
        return None
    places, sizes = [], set()
    for side, values, placements in (
        (True, operands, strategy.operands),
        (False, results, () if is_sum else given),
    ):
        for index, dim in enumerate(placements):
            if dim is None:
                continue
            if not -len(values[index]) <= dim < len(values[index]):
                return None
            dim %= len(values[index])
            places.append(((side, index), dim))
            sizes.add(values[index][dim])
    if not places or not places[0][0][0]:
        return None
    if any(size % min(sizes) for size in sizes):
        return None
    if len(sizes) > 1 and (not grouped or min(sizes) == 1):
        return None
    return tuple(places), is_sum
