# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What DTensor says of operators: which shards of the operands give which
shards of the results.

DTensor has the rules of its operators in three registries of its sharding
propagator, and no public way to ask for them. Tested with 2.13.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional, Union

from commsched.torch import private
from commsched.torch.private import names
from commsched.torch.private.names import OpOverload, tree_leaves

#: The result of a shard is a part of a sum.
SUM = "sum"

#: A dimension that is sharded, SUM, None for a tensor that is whole on every
#: rank.
Placement = Union[int, str, None]


class TensorShape(NamedTuple):
    """A tensor as DTensor's rules see it, in place of the tensor itself."""

    shape: tuple
    dtype: Any


@dataclass(frozen=True)
class Strategy:
    """One way to shard a call over the ranks of one axis of a mesh."""

    operands: tuple
    results: tuple


def strategies(
    overload: OpOverload, args: Sequence, kwargs: Mapping[str, Any]
) -> list[Strategy]:
    """Returns the ways in which DTensor shards a call, those included that
    shard nothing; none if it does not know the operator.

    Tensors among the arguments are given as `TensorShape`; operands of a
    strategy are in the order of the tensors in `args`, then `kwargs`. The
    strategies that take partial sums or give partial maxima and the like are
    left out. Raises what DTensor raises for a call that it cannot shard (2.13,
    2.15: DTensor._op_dispatcher.sharding_propagator).
    """
    propagator = _propagator()
    if overload in propagator.op_single_dim_strategy_funcs:
        found = _single_dim(propagator, overload, args, kwargs)
    elif overload in propagator.op_strategy_funcs:
        found = _enumerated(propagator, overload, args, kwargs)
    else:
        return []
    return [strategy for strategy in found if strategy is not None]


@functools.lru_cache(maxsize=1)
def _propagator() -> Any:
    return names.op_dispatcher.sharding_propagator


@functools.lru_cache(maxsize=1)
def _mesh() -> Any:
    """A mesh of one rank: any size of a dimension can be sharded over it."""
    from torch.distributed.device_mesh import DeviceMesh

    return DeviceMesh("cpu", [0], _init_backend=False, _rank=0)


def _meta(tensor: TensorShape) -> Any:
    from torch import Size

    strides = names.make_contiguous_strides_for(tensor.shape)
    return names.TensorMeta(Size(tensor.shape), strides, tensor.dtype)


def _map(function: Any, argument: Any) -> Any:
    """Applies `function` to the tensors and the lists of tensors of an
    argument."""
    if isinstance(argument, TensorShape):
        return function(argument)
    if isinstance(argument, (list, tuple)):
        return [_map(function, item) for item in argument]
    return argument


def _single_dim(propagator, overload, args, kwargs) -> list:
    """Operators whose rules are lists of placements, the results' first."""
    rows = propagator.op_single_dim_strategy_funcs[overload](
        overload,
        tuple(_map(_meta, arg) for arg in args),
        {name: _map(_meta, arg) for name, arg in kwargs.items()},
    )
    inputs = len(_tensors((args, kwargs)))
    outputs = len(private.schema(overload).returns)
    return [
        _strategy(row[outputs:], row[:outputs])
        for row in rows
        if len(row) == outputs + inputs
    ]


def _enumerated(propagator, overload, args, kwargs) -> list:
    """Operators whose rules follow from how the operands are sharded: all
    ways are tried."""
    tensors = _tensors((args, kwargs))
    count = max((len(t.shape) for t in tensors), default=0) + 1
    made = propagator.op_strategy_funcs[overload](
        names.OpSchema(
            overload,
            tuple(_choices(arg, count) for arg in args),
            {name: _choices(arg, count) for name, arg in kwargs.items()},
        )
    )
    found = []
    for spec in getattr(made, "strategies", ()):
        outputs = spec.output_specs
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        inputs = outputs if spec.input_specs is None else spec.input_specs
        if len(inputs) == len(tensors):
            placements = [map(_placement_of, s) for s in (inputs, outputs)]
            found.append(_strategy(*placements))
    return found


def _choices(argument: Any, count: int) -> Any:
    """The strategies of an argument, `count` for each tensor: some rules take
    the n-th of one operand with the n-th of another."""
    from torch.distributed.tensor.placement_types import Replicate, Shard

    def choices(tensor: TensorShape) -> Any:
        placements = [Replicate(), *map(Shard, range(len(tensor.shape)))]
        placements += [Replicate()] * (count - len(placements))
        meta = _meta(tensor)
        return names.OpStrategy(
            [
                names.OpSpec(
                    names.DTensorSpec(_mesh(), (placement,), tensor_meta=meta),
                    input_specs=(),
                )
                for placement in placements
            ]
        )

    if isinstance(argument, (list, tuple)) and not isinstance(
        argument, TensorShape
    ):
        if argument and all(isinstance(a, TensorShape) for a in argument):
            return names.TupleStrategy([choices(item) for item in argument])
    return _map(choices, argument)


def _tensors(arguments: Any) -> list[TensorShape]:
    return [
        leaf
        for leaf in tree_leaves(
            arguments, is_leaf=lambda item: isinstance(item, TensorShape)
        )
        if isinstance(leaf, TensorShape)
    ]


def _placement_of(spec: Any) -> Any:
    return None if spec is None else spec.placements[0]


def _strategy(operands: Any, results: Any) -> Optional[Strategy]:
    """Returns a strategy of DTensor's placements; None if it has another than
    shards of the operands, and shards and sums of the results."""
    from torch.distributed.tensor.placement_types import Partial, Replicate

    def read(placement: Any, may_be_sum: bool) -> Placement:
        if placement is None or type(placement) is Replicate:
            return None
        if type(placement) is Partial and placement.reduce_op == "sum":
            if may_be_sum:
                return SUM
        elif type(placement).__name__ in ("Shard", "_ShardingPlaceholder"):
            return placement.dim
        raise ValueError(placement)

    try:
        return Strategy(
            tuple(read(placement, False) for placement in operands),
            tuple(read(placement, True) for placement in results),
        )
    except ValueError:
        return None
