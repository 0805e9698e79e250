# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The path of the module that a node came from, such as
`layers.3.attention`."""

from __future__ import annotations

import functools
import re
from typing import Mapping, Optional

import torch

# The frame variable that Dynamo starts a path with.
_ROOT = re.compile(r"\A(?:(?:L\['[^']*'\]|self)(?=[.\[]|\Z)|L__self___)")
_ITEM = re.compile(r"\[['\"]?([^'\"\]]*)['\"]?\]")
_GETATTR = re.compile(r"getattr\((.*), ['\"]([^'\"]*)['\"]\)")

# Wrappers that are no part of a model's own names, and the containers through
# which Dynamo reaches a submodule.
_NOISE = frozenset(
    {
        "",
        "_checkpoint_wrapped_module",
        "_forward_module",
        "_fsdp_wrapped_module",
        "_modules",
        "_orig_mod",
    }
)


class ModulePaths:
    """Module paths of the nodes of one graph.

    A node has what the tracer recorded of it, or else the annotation
    `module_fqn` that torchtitan's models give their modules' nodes. A backward
    node has its forward's: the tracer's record of it if there is one, else
    that of the forward node with the same sequence number, in `forward` or
    (for a joint graph) in the graph itself.
    """

    def __init__(
        self,
        graph: torch.fx.Graph,
        forward: Optional[torch.fx.Graph] = None,
    ):
        self._by_sequence: dict[int, str] = {}
        for source in (forward, graph):
            for node in source.nodes if source is not None else ():
                number = node.meta.get("seq_nr")
                path = _stack_path(node.meta.get("nn_module_stack"))
                path = path or _annotated_path(node)
                if path and number is not None:
                    self._by_sequence.setdefault(number, path)

    def of(self, node: torch.fx.Node) -> Optional[str]:
        """Returns the path of `node`; None if that is unknown, or if it is
        the whole model's own."""
        known = False
        for key in ("nn_module_stack", "fwd_nn_module_stack"):
            path = _stack_path(node.meta.get(key))
            if path:
                return path
            known = known or path is not None
        if known:
            return None
        path = _annotated_path(node)
        return path or self._by_sequence.get(node.meta.get("seq_nr"))


@functools.lru_cache(maxsize=4096)
def clean_path(path: str) -> str:
    """Returns a module path as `named_modules` would give it."""
    previous = None
    while previous != path:
        previous = path
        path = _GETATTR.sub(r"\1.\2", path)
    # The user has replaced a method of the module.
    path = path.replace(".forward.__self__", "")
    path = _ROOT.sub("", path)
    path = _ITEM.sub(r".\1", path)
    return ".".join(part for part in path.split(".") if part not in _NOISE)


def _stack_path(stack: Optional[Mapping]) -> Optional[str]:
    if not stack:
        return None
    entry = list(stack.values())[-1]
    path = entry[0] if isinstance(entry, (tuple, list)) else entry
    return clean_path(path) if isinstance(path, str) else None


def _annotated_path(node: torch.fx.Node) -> Optional[str]:
    """Returns the path that the user's code gave to the node."""
    custom = node.meta.get("custom")
    path = custom.get("module_fqn") if isinstance(custom, Mapping) else None
    return clean_path(path) if isinstance(path, str) else None
