# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transfers between a device and its host: PyTorch's `ao::offload` and
`ao::reload`, each with an `ao::wait_tensor`.

A tensor is in the memory of the host if an offload delivers it, or if it is an
input that a reload takes. Only reloads, waits and outputs take such tensors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import torch

from commsched import ir
from commsched.torch.importer.environment import Bound, flatten
from commsched.torch.importer.errors import GraphImportError
from commsched.torch.importer.targets import target_name, transfer_kind
from commsched.torch.importer.types import TensorFacts, has_value, leaves


def read_transfer(
    node: torch.fx.Node, converter: Any
) -> tuple[str, Bound, TensorFacts]:
    """Returns the kind of the transfer that `node` starts, what it reads and
    what is known of the tensor that it delivers. Raises GraphImportError where
    the operand is in the wrong memory or the result has another shape."""
    kind = transfer_kind(node.target)
    source = next(iter((*node.args, *node.kwargs.values())), None)
    if not isinstance(source, torch.fx.Node):
        raise GraphImportError(f"transfers {source}, not a node", node)
    (operand,) = flatten(converter.lookup_bound(source)) or (None,)
    if operand is None:
        raise GraphImportError(
            f"transfers '{source.name}', which is no tensor", node
        )
    if kind == "offload":
        check_on_device(node, [operand.facts])
    elif not is_host(operand.facts):
        raise GraphImportError(
            f"reloads '{source.name}', which is in the device's memory: only "
            "inputs and what ao.offload delivers are in that of the host",
            node,
        )
    type_ = dataclasses.replace(operand.facts.type, encoding="")
    facts = dataclasses.replace(operand.facts, type=type_)
    if has_value(node):
        (facts,) = leaves(converter.values.of(node))
    if facts.type != type_:
        raise GraphImportError(
            f"its value is {facts.type}, but its operand '{source.name}' is "
            f"{type_}",
            node,
        )
    return kind, operand, host_facts(facts) if kind == "offload" else facts


def check_on_device(
    node: torch.fx.Node, operands: Iterable[TensorFacts]
) -> None:
    """Raises GraphImportError if one of the operands of `node` is in the
    memory of the host."""
    for facts in operands:
        if is_host(facts):
            raise GraphImportError(
                f"{target_name(node.target)} takes {facts.type}, which is in "
                "the host's memory: only ao.reload, ao.wait_tensor and "
                "outputs take it",
                node,
            )


def is_host(facts: TensorFacts) -> bool:
    return facts.type.encoding == ir.HOST


def host_facts(facts: TensorFacts) -> TensorFacts:
    type_ = dataclasses.replace(facts.type, encoding=ir.HOST)
    return dataclasses.replace(facts, type=type_)


def is_reloaded(node: torch.fx.Node) -> bool:
    return any(
        transfer_kind(user.target) == "reload" and user.args[:1] == (node,)
        for user in node.users
    )
