# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a partition of a joint graph saves, by the names of nodes.

`commsched-partition-joint` splits a function in two. What has to be known of
that to split the graph is which values the forward saves: the backward
computes everything else again.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Optional

import torch
from torch import fx

from commsched.program import Function, Program
from commsched.torch.importer.roles import BACKWARD_ROLES
from commsched.torch.importer.targets import is_wait
from commsched.torch.rewriting.dependences import started_by
from commsched.torch.rewriting.errors import PlanError
from commsched.torch.rewriting.plan import read_versioned

_VERSION = 2

# What values are called that passes add, behind the name of the value that
# they belong to: the state of a random operator, and the scales of 8 bits.
_STATE = ".rng_state"
_SCALE = ".scale"

#: Element types that saved values are converted to.
QUANTIZED = {
    "f8E5M2": torch.float8_e5m2,
    "f8E4M3FN": torch.float8_e4m3fn,
}


@dataclass(frozen=True)
class Quantized:
    """A saved value in 8 bits.

    name:    the node of the joint graph.
    element: one of QUANTIZED.
    scaled:  each row of the last dimension has a scale of its own, which is
             saved as well.
    """

    name: str
    element: str
    scaled: bool


@dataclass(frozen=True)
class Partition:
    """What the forward saves for the backward.

    saved:     names of nodes of the joint graph, placeholders among them;
               numbers about shapes are not among them.
    quantized: those that are saved in 8 bits.
    offloaded: those that are sent to the host.
    """

    saved: tuple[str, ...] = ()
    quantized: tuple[Quantized, ...] = ()
    offloaded: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Returns the partition as text; equal ones give equal text."""
        return json.dumps(
            {
                "version": _VERSION,
                "saved": self.saved,
                "quantized": [astuple(each) for each in self.quantized],
                "offloaded": self.offloaded,
            },
            separators=(",", ":"),
        )

    @staticmethod
    def from_json(text: str) -> Partition:
        """Reads what `to_json` wrote; raises PlanError for anything else."""
        return read_versioned(text, "partition", _VERSION, _partition)


def _partition(data: Any) -> Partition:
    return Partition(
        tuple(str(name) for name in data["saved"]),
        tuple(
            Quantized(str(name), str(element), bool(scaled))
            for name, element, scaled in data["quantized"]
        ),
        tuple(str(name) for name in data["offloaded"]),
    )


def make_partition(
    joint: fx.Graph,
    primals: Sequence[str],
    split: Program,
    quantized: Program,
    function: str,
) -> Partition:
    """Returns how `function`, imported from `joint`, was partitioned.

    `primals` are the names of the nodes that the function's arguments came
    from, without tangents; `split` is the program after the partition, and
    `quantized` after `commsched-quantize-activations`, which may be the same
    program: values may be in 8 bits in both. Raises PlanError for a saved
    value that is no value of the graph.
    """
    forward = split.function(f"{function}_forward")
    backward = split.function(f"{function}_backward")
    before = backward.arguments[: num_saved(backward)]
    taken = [argument.name for argument in before]
    saved, offloaded = _saved(joint, primals, forward, taken)
    after = quantized.function(f"{function}_backward").arguments
    scales = {argument.name for argument in after}
    nodes = {node.name: node for node in joint.nodes}
    converted = []
    for name, old, new in zip(saved, before, after):
        element = new.value.type.element
        if old.value.type.element == element and not _is_converted(
            nodes.get(name), element
        ):
            continue
        if element not in QUANTIZED or old.name != new.name:
            raise PlanError(
                f"saved value '{name}' of type {old.value.type.element} "
                f"became {element}, which has no counterpart in the graph"
            )
        scaled = f"{old.name}{_SCALE}" in scales
        converted.append(Quantized(name, element, scaled))
    names = tuple(name for name in dict.fromkeys(saved) if name)
    return Partition(names, tuple(converted), offloaded)


def num_saved(backward: Function) -> int:
    """Returns how many values a forward saves for `backward`, which takes
    them first."""
    return sum(a.role not in BACKWARD_ROLES for a in backward.arguments)


def _is_converted(node: Optional[fx.Node], element: str) -> bool:
    """Returns whether `element` is one of 8 bits that `node` does not have."""
    return (
        node is not None
        and element in QUANTIZED
        and node.meta["val"].dtype != QUANTIZED[element]
    )


def _saved(
    joint: fx.Graph,
    primals: Sequence[str],
    forward: Function,
    taken: Sequence[str],
) -> tuple[list[str], tuple[str, ...]]:
    """Returns the node of each value that the forward saves, and of those that
    it sends to the host; "" for the scales of values in 8 bits, and for the
    state of a random operator that the backward runs again, which PyTorch
    adds. `taken` are the names of the backward's arguments for them: what a
    collective of several delivers, and what is in 8 bits, is known by them."""
    nodes = {node.name: node for node in joint.nodes}
    names = {
        argument.value.id: name
        for argument, name in zip(forward.arguments, primals, strict=True)
    }
    places: dict[int, tuple[str, int]] = {}
    for operation in forward.operations:
        for index, result in enumerate(operation.results):
            places[result.id] = (operation.name, index)
    sources = _offloaded(forward)
    found: list[str] = []
    offloaded = []
    results = forward.results[len(forward.results) - len(taken) :]
    for result, argument in zip(results, taken, strict=True):
        value = sources.get(result, result)
        if value != result:
            offloaded.append(len(found))
        if value in names:
            found.append(names[value])
            continue
        if _is_scale(argument, nodes):
            found.append("")
            continue
        name, index = places[value]
        if name not in nodes and argument.split("#")[0] in nodes:
            name, _, number = argument.partition("#")
            index = int(number or 0)
        if name.endswith(_STATE) and name[: -len(_STATE)] in nodes:
            found.append("")
            continue
        if name not in nodes:
            raise PlanError(
                f"saved value '{name or 'without a name'}' of function "
                f"'{forward.name}' is no node of the graph"
            )
        found.append(_delivered(nodes[name], index).name)
    return found, tuple(found[place] for place in offloaded if found[place])


def _is_scale(argument: str, nodes: Collection[str]) -> bool:
    """Returns whether `argument` is called after a value of the graph. No
    name of a node has a dot."""
    stem = argument.removesuffix(_SCALE)
    return stem != argument and stem.split("#")[0] in nodes


def _offloaded(forward: Function) -> dict[int, int]:
    """Returns, by the values that waits of offloads deliver, what these sent
    to the host."""
    started: dict[int, tuple] = {}
    found = {}
    for operation in forward.operations:
        if operation.op == "commsched.offload":
            started[operation.results[0].id] = operation.operands
        elif operation.op == "commsched.wait":
            sent = started.get(operation.operands[0], ())
            for result, value in zip(operation.results, sent):
                found[result.id] = value
    return found


def _delivered(node: fx.Node, index: int) -> fx.Node:
    """Returns the node of the tensor `index` among those that the operation
    of `node` gives: the elements of several results are nodes of their own,
    and so is each wait of a collective that delivers several."""
    if node.op == "call_function" and is_wait(node.target):
        return _awaited(node, index)
    value = node.meta.get("val")
    if not isinstance(value, (list, tuple)):
        return node
    tensors = [i for i, v in enumerate(value) if isinstance(v, torch.Tensor)]
    item = _item(node, tensors[index]) if index < len(tensors) else None
    if item is None:
        raise PlanError(
            f"result {index} of '{node.name}' is saved, but no node of the "
            "graph takes it"
        )
    return item


def _awaited(wait: fx.Node, index: int) -> fx.Node:
    start = started_by(wait)
    if start is None or not isinstance(start.meta.get("val"), (list, tuple)):
        return wait
    item = _item(start, index)
    for user in item.users if item is not None else ():
        if is_wait(user.target):
            return user
    raise PlanError(
        f"value {index} of the collective '{start.name}' is saved, but the "
        "graph does not wait for it"
    )


def _item(node: fx.Node, key: Any) -> fx.Node | None:
    for user in node.users:
        if user.target is operator.getitem and user.args[1] == key:
            return user
    return None
