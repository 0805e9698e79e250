# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What nodes say about how they are to be compiled, and those of a joint graph
about partitioning: their side, and whether they may be computed again in the
backward."""

from __future__ import annotations

import torch
from torch.utils.checkpoint import CheckpointPolicy

_RECOMPUTE = {
    CheckpointPolicy.MUST_SAVE: "must_save",
    CheckpointPolicy.PREFER_SAVE: "prefer_save",
    CheckpointPolicy.PREFER_RECOMPUTE: "prefer_recompute",
    CheckpointPolicy.MUST_RECOMPUTE: "must_recompute",
}

_PARTITION = {
    "is_forward": "forward",
    "is_backward": "backward",
    "must_be_in_forward": "must_be_forward",
    "must_be_in_backward": "must_be_backward",
}


def marks_of(node: torch.fx.Node) -> dict:
    """Returns the attributes for AOT autograd's partitioner tag and for the
    policy of activation checkpointing, with the region that it is from; those
    that `node` lacks are None."""
    policy = _RECOMPUTE.get(node.meta.get("recompute"))
    region = node.meta.get("ac_graph_id")
    return {
        "commsched.partition": _PARTITION.get(node.meta.get("partitioner_tag")),
        "commsched.recompute": policy,
        "commsched.recompute_region": region if policy is not None else None,
    }


def region_of(node: torch.fx.Node) -> dict | None:
    """Returns what `torch.fx.traceback.annotate` says with the key that marks
    regions for Inductor, if that names a pipeline of ours:
    {"compile_with_inductor": {"pipeline": "cse", "inductor_region": "mlp"}}.
    Inductor's own settings mean nothing here."""
    mark = (node.meta.get("custom") or {}).get("compile_with_inductor")
    if not isinstance(mark, dict) or "pipeline" not in mark:
        return None
    region = mark.get("inductor_region")
    named = {} if region is None else {"region": str(region)}
    return {"pipeline": str(mark["pipeline"]), **named}
