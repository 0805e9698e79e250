# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a graph does to memory, and in which order: a record to compare."""

from __future__ import annotations

import operator
from typing import Iterable, Optional

from torch import fx

from commsched.torch.importer.aliases import is_composite
from commsched.torch.importer.targets import overload_of, schema_of
from commsched.torch.importer.unsharded import change_arguments, storage_change
from commsched.torch.rewriting.dependences import (
    CHAINS,
    Storages,
    kinds,
    read_by,
    written_by,
)


class History:
    """The effects of a graph's nodes, in the order of the graph.

    chains: by kind of effect, the nodes that have it.
    seen:   by node that reads memory which was written before, and by each
            operand that it reads so, the nodes that wrote it last.
    filled: by node, for each storage key of an unsharded parameter that it
            uses, what the parameter was last filled with.

    All but `chains` is empty for a graph that writes nothing.
    """

    def __init__(
        self,
        nodes: Iterable[fx.Node],
        ignored: Iterable[fx.Node] = (),
    ):
        nodes = list(nodes)
        self.chains: dict[str, list] = {chain: [] for chain in CHAINS}
        self.seen: dict[fx.Node, dict] = {}
        self.filled: dict[fx.Node, dict] = {}
        self.storages = Storages()
        ignored = set(ignored)
        writers = {}
        for node in nodes:
            found = kinds(node)
            for chain in CHAINS:
                if chain in found:
                    self.chains[chain].append(node)
            if "writes" in found and node not in ignored:
                writers[node] = None
        if writers:
            self._follow(nodes, writers)

    def version(self, node: fx.Node, source: fx.Node) -> tuple:
        """Returns the nodes that wrote last, before `node` reads it, the
        memory of its operand `source`."""
        return self.seen.get(node, {}).get(source, ())

    def _follow(self, nodes: list[fx.Node], writers: dict) -> None:
        storages = self.storages
        for node in nodes:
            storages.visit(node)
        written = {
            key
            for node in writers
            for target in written_by(node)
            for key in storages.of(target)
        }
        last: dict[int, Optional[fx.Node]] = dict.fromkeys(written)
        fills: dict[int, fx.Node] = {}
        for node in nodes:
            if node.op in ("placeholder", "get_attr"):
                continue
            seen = {}
            for source in read_by(node):
                for key in storages.of(source):
                    if key not in written:
                        continue
                    if last[key] is not None:
                        seen[source] = (*seen.get(source, ()), last[key])
                    if key in fills:
                        self.filled.setdefault(node, {})[key] = fills[key]
            if seen and not _only_aliases(node):
                self.seen[node] = seen
            if node in writers:
                self._write(node, last, fills)

    def _write(self, node: fx.Node, last: dict, fills: dict) -> None:
        for target in written_by(node):
            for key in self.storages.of(target):
                last[key] = node
                fills.pop(key, None)
                if storage_change(node) == "fsdp_copy":
                    # The contents are those of what is copied.
                    _, source = change_arguments(node)
                    fills[key] = source
                    keys = self.storages.of(source)
                    last[key] = last.get(keys[0]) if keys else None


def _only_aliases(node: fx.Node) -> bool:
    """Returns whether `node` gives memory of its operand, unread."""
    if node.target is operator.getitem:
        return True
    overload = overload_of(node.target) if node.op == "call_function" else None
    if overload is None or schema_of(overload).is_mutable:
        return False
    if is_composite(overload):
        # It may have to copy.
        return False
    infos = [returned.alias_info for returned in schema_of(overload).returns]
    return bool(infos) and all(info is not None for info in infos)
