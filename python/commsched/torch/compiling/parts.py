# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adopted models that are compiled in parts, block by block or with graph breaks, or
not at all.

Each graph is scheduled by itself, so that what one of them reads is not gathered
before it runs.
"""

from __future__ import annotations

import functools
import weakref
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from commsched.torch import private
from commsched.torch.compiling import records
from commsched.torch.compiling.shared_reads import list_reads


def warn_of_parts(inputs: Sequence[Any]) -> None:
    """Warns if the graph with these inputs reads no more than half of the parameters
    of an adopted model: of several parts of a model one does."""
    known: defaultdict[nn.Module, list[bool]] = defaultdict(list)
    given = set(map(id, inputs))
    for read in list_reads():
        known[read.model].append(id(read.parameter) in given)
    for model, is_read in known.items():
        if 0 < 2 * sum(is_read) <= len(is_read):
            name = type(model).__name__
            records.warn_once(
                f"CommSched schedules a graph that reads {sum(is_read)} of the "
                f"{len(is_read)} parameters of this {name}. Graphs are scheduled one "
                "by one: the gathers of a block cannot start beside the block before. "
                "Compile the model as a whole, torch.compile(model, "
                "backend='commsched'), and without graph breaks",
                cause=f"parts of {name}",
            )


#: The modules of models of which it is known whether a part is compiled.
_SETTLED: weakref.WeakSet[nn.Module] = weakref.WeakSet()


@torch.compiler.disable
def note_uncompiled(callback: Any, owner: nn.Module, values: Iterable[Any]) -> None:
    """Is called where code that Dynamo has not compiled, with its `callback`, has read
    `values` of the parameters of `owner`. If a backend of CommSched was to compile the
    adopted model, and has no part of it when a backward comes to them, that is said."""
    if not torch.is_grad_enabled() or owner in _SETTLED or not _is_ours(callback):
        return
    # The parameters of a model that is not adopted are read by plain functions.
    reads = owner.commsched_reads.values()
    for model in {read.model for read in reads if hasattr(read, "model")}:
        for value in values:
            if value is not None and value.requires_grad:
                value.register_hook(lambda _, model=model: _settle(model))


def _is_ours(callback: Any) -> bool:
    """Whether a callback of Dynamo has a backend of CommSched, or Inductor with it."""
    backend = private.backend_of(callback)
    settings = getattr(backend, "config", {})
    while isinstance(backend, functools.partial):
        backend = backend.func
    ways = (backend, settings.get("_pre_fusion_custom_pass"))
    return any(str(getattr(w, "__module__", "")).startswith("commsched.") for w in ways)


def _settle(model: nn.Module) -> None:
    if model in _SETTLED:
        return
    _SETTLED.update(model.modules())
    # What surrounds the forwards of the user may have graphs of its own.
    compiled = [code for record in records.of(model) for code in record.codes[:1]]
    if not all(map(private.is_own, compiled)):
        return
    name = type(model).__name__
    reason = private.find_failure(private.codes_of(model))
    records.warn_once(
        f"CommSched schedules nothing of this {name}: torch.compile has compiled no part "
        "of its forward"
        + (
            f", which breaks the graph where Dynamo cannot go on, as in a loop: {reason}"
            if reason
            else "; torch._dynamo.explain finds why"
        ),
        cause=f"nothing of {name}",
    )
