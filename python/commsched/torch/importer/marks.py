# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What nodes say about how they are to be compiled, and those of a joint graph
about partitioning: their side, and whether they may be computed again in the
backward."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import torch
from torch.utils.checkpoint import CheckpointPolicy

from commsched.torch import private
from commsched.torch.importer.errors import GraphImportError

log = logging.getLogger(__name__)

_MARK = "compile_with_inductor"

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
    regions: {"compile_with_inductor": {"pipeline": "cse", "inductor_region":
    "mlp"}}; None for a node without it. The key alone marks, whatever its value
    is. What else the value holds are `settings`, as text, of which only
    `commsched-compile-regions` says that nothing here honours them.

    Raises GraphImportError where PyTorch's regional compiler fails, too, and
    for a setting without a name, which no module can hold.
    """
    custom = node.meta.get("custom")
    if not isinstance(custom, Mapping) or _MARK not in custom:
        return None
    mark = custom[_MARK]
    if not isinstance(mark, Mapping):
        return {}
    rest = {str(key): value for key, value in mark.items()}
    region = rest.pop("inductor_region", None)
    pipeline = rest.pop("pipeline", None)
    if not isinstance(pipeline, (str, type(None))):
        raise GraphImportError(
            f"'pipeline' of its mark '{_MARK}' is {pipeline!r}, not the text "
            "of a pass pipeline",
            node,
        )
    if "" in rest:
        raise GraphImportError(
            f"its mark '{_MARK}' has an empty key, with the value "
            f"{rest['']!r}: name the setting",
            node,
        )
    settings = _settings_of(node, rest.pop("inductor_configs", {}))
    settings.update((key, str(value)) for key, value in rest.items())
    return {
        "pipeline": pipeline,
        "region": None if region is None else str(region),
        "settings": settings or None,
    }


def _settings_of(node: torch.fx.Node, configs: Any) -> dict[str, str]:
    """Inductor's settings in a mark, which have to be some that it has."""
    if not isinstance(configs, Mapping):
        raise GraphImportError(
            f"'inductor_configs' of its mark '{_MARK}' is {configs!r}, not a "
            'dictionary of settings such as {"max_autotune": True}',
            node,
        )
    for key in configs:
        if not private.has_inductor_setting(key):
            raise GraphImportError(
                f"'inductor_configs' of its mark '{_MARK}' has the key "
                f"{key!r}, which is no setting in torch._inductor.config",
                node,
            )
    return {f"inductor_configs.{k}": str(v) for k, v in configs.items()}


def log_regions(graph: torch.fx.Graph) -> None:
    """Logs how many nodes are marked, and warns of each setting of a region
    that nothing here honours."""
    marks = [
        mark
        for node in graph.nodes
        if node.op not in ("placeholder", "output")
        and (mark := region_of(node)) is not None
    ]
    if not marks:
        log.debug("no node has the mark '%s'", _MARK)
        return
    log.info("%d nodes have the mark '%s'", len(marks), _MARK)
    ignored = dict.fromkeys(
        (mark.get("region"), f"{key} = {value}")
        for mark in marks
        for key, value in (mark.get("settings") or {}).items()
    )
    for region, setting in ignored:
        name = "without a name" if region is None else f"'{region}'"
        log.warning(
            "the setting %s of the region %s is left out: CommSched compiles "
            "a region by the 'pipeline' of its mark", setting, name
        )
