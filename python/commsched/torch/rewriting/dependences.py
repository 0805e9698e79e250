# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which nodes have to stay behind which others, beyond what arguments say.

A node that writes memory stays behind those that read or wrote it before, and
before those that read it afterwards; memory is what `meta["val"]` of two nodes
share, or what an operator without a recorded value may pass on. A collective
reads what it sends until it is waited for. Operators that draw random numbers
keep their order, so do sends and receives, and so do checks and other calls
that exist for their effects.
"""

from __future__ import annotations

import functools
from typing import Any, Iterable, Iterator, Optional

import torch
from torch import fx

from commsched.torch.private import storage_key
from commsched.torch.importer.aliases import (
    written_arguments,
    written_nodes,
    writes_by_convention,
)
from commsched.torch.importer.compute import draws, is_random
from commsched.torch.importer.targets import (
    attribute_of,
    bind,
    communicates,
    is_peer_to_peer,
    is_transfer_wait,
    is_unknown_collective,
    is_wait,
    overload_of,
    schema_of,
    transfer_kind,
)
from commsched.torch.private.names import (
    HigherOrderOperator,
    OpOverload,
    called_for_effects,
)

# Higher-order operators that write every tensor they are given.
_WRITING = frozenset({"triton_kernel_wrapper_mutation"})

# What a node may do beside giving its value: it writes memory; it draws random
# numbers, exists for another effect, or sends or receives, which are in one
# order for each of the three.
WRITES, RANDOM, EFFECT, PEER = "writes", "random", "effect", "peer"
CHAINS = (RANDOM, EFFECT, PEER)


def memory_dependences(
    nodes: Iterable[fx.Node],
) -> dict[fx.Node, list[fx.Node]]:
    """Returns, by node of a graph in its order, those before it that it has
    to stay behind although they are not its arguments.

    Nodes without any are left out. Takes time linear in the nodes and their
    arguments.
    """
    nodes = list(nodes)
    found = _Found()
    for chain in CHAINS:
        found.add_chain(n for n in nodes if chain in kinds(n))
    _add_fences(nodes, found)
    if any(WRITES in kinds(node) for node in nodes):
        _add_memory(nodes, found)
    return found.by_node


def _add_fences(nodes: list[fx.Node], found: _Found) -> None:
    """No communication crosses a collective of which nothing is known."""
    fence, since = None, []
    for node in communications(nodes):
        found.add(node, fence)
        if is_unknown_collective(node.target):
            for earlier in since:
                found.by_node.setdefault(node, []).append(earlier)
            fence, since = node, []
        else:
            since.append(node)


def communications(nodes: Iterable[fx.Node]) -> Iterator[fx.Node]:
    """Yields the starts and the waits of collectives among `nodes`."""
    for node in nodes:
        if is_start(node) or (
            node.op == "call_function"
            and is_wait(node.target)
            and not is_transfer_wait(node.target)
        ):
            yield node


class _Found:
    def __init__(self):
        self.by_node: dict[fx.Node, list[fx.Node]] = {}

    def add(self, node: fx.Node, earlier: Optional[fx.Node]) -> None:
        if earlier is None or earlier is node:
            return
        known = self.by_node.setdefault(node, [])
        if earlier not in known[-4:]:
            known.append(earlier)

    def add_chain(self, chain: Iterable[fx.Node]) -> None:
        previous = None
        for node in chain:
            self.add(node, previous)
            previous = node


# -- memory ------------------------------------------------------------------


def _add_memory(nodes: list[fx.Node], found: _Found) -> None:
    storages = Storages()
    last_write: dict[int, fx.Node] = {}
    reads: dict[int, list[fx.Node]] = {}
    for node in nodes:
        storages.visit(node)
        if node.op in ("placeholder", "get_attr"):
            continue
        written = set()
        for source in written_by(node):
            written.update(storages.of(source))
        read = dict.fromkeys(
            key for source in read_by(node) for key in storages.of(source)
        )
        for key in read:
            found.add(node, last_write.get(key))
            if key not in written:
                reads.setdefault(key, []).append(node)
        for key in sorted(written):
            found.add(node, last_write.get(key))
            for reader in reads.pop(key, ()):
                found.add(node, reader)
            last_write[key] = node


def read_by(node: fx.Node) -> Iterator[fx.Node]:
    """Yields the nodes whose memory `node` touches: a wait ends what its
    collective reads and writes."""
    yield from node.all_input_nodes
    if node.op == "call_function" and is_wait(node.target):
        start = started_by(node)
        if start is not None:
            yield from start.all_input_nodes


def started_by(wait: fx.Node) -> Optional[fx.Node]:
    """Returns the collective or transfer that a `wait_tensor` waits for, if it
    is one."""
    source = next(iter((*wait.args, *wait.kwargs.values())), None)
    while isinstance(source, fx.Node) and source.op == "call_function":
        if _starts(source.target) or transfer_kind(source.target) is not None:
            return source
        inputs = source.all_input_nodes
        if len(inputs) != 1:
            return None
        source = inputs[0]
    return None


def written_by(node: fx.Node) -> list[fx.Node]:
    if WRITES not in kinds(node):
        return []
    if is_transfer_wait(node.target):
        return freed_by(node)
    return written_nodes(node)


def freed_by(wait: fx.Node) -> list[fx.Node]:
    """Returns the node whose memory the wait of a transfer frees, if it is
    given one."""
    freed = bind(overload_of(wait.target), wait).get("keepalive")
    return [freed] if isinstance(freed, fx.Node) else []


class Storages:
    """The memory of each node's value: keys that two nodes have in common
    where one may view the other's."""

    def __init__(self):
        self._keys: dict[fx.Node, tuple] = {}
        self._joined: dict[int, int] = {}
        self._fresh = -1

    def of(self, node: fx.Node) -> list[int]:
        return [self._find(key) for key in self._keys.get(node, ())]

    def visit(self, node: fx.Node) -> None:
        """Records the memory of `node`, whose arguments were visited."""
        if node.op == "output":
            return
        if node.op == "call_function" and is_wait(node.target):
            # What is waited for is what was delivered.
            self._keys[node] = self._passed_on(node) or self._own(node)
            for key in self._own(node):
                for other in self._keys[node]:
                    self._join(key, other)
            return
        if "val" in node.meta:
            self._keys[node] = self._own(node)
        else:
            self._keys[node] = self._passed_on(node) or self._new()

    def _own(self, node: fx.Node) -> tuple:
        keys = []
        for value in tensors_of(node.meta.get("val")):
            key = storage_key(value)
            keys.append(key if key is not None else self._new()[0])
        return tuple(dict.fromkeys(keys))

    def _passed_on(self, node: fx.Node) -> tuple:
        sources = node.all_input_nodes
        if is_transfer_wait(node.target):
            # The others are only kept until then.
            sources = sources[:1]
        return tuple(
            dict.fromkeys(
                key for source in sources for key in self._keys.get(source, ())
            )
        )

    def _new(self) -> tuple:
        self._fresh -= 1
        return (self._fresh,)

    def _find(self, key: int) -> int:
        while key in self._joined:
            key = self._joined[key]
        return key

    def _join(self, a: int, b: int) -> None:
        a, b = self._find(a), self._find(b)
        if a != b:
            self._joined[a] = b


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item)


def is_start(node: fx.Node) -> bool:
    return node.op == "call_function" and _starts(node.target)


def _starts(target: Any) -> bool:
    return communicates(target) and not is_wait(target)


# -- what kind of node it is -------------------------------------------------


def is_effect(node: fx.Node) -> bool:
    """Returns whether `node` does more than to give its value."""
    return bool(kinds(node))


def kinds(node: fx.Node) -> frozenset:
    """Returns which of WRITES and CHAINS `node` is."""
    target = node.target
    if node.op == "call_function" and isinstance(target, OpOverload):
        if is_transfer_wait(target):
            return frozenset({WRITES} if freed_by(node) else ())
        known = _kinds_of_overload(target)
        if RANDOM in known and not is_random(node):
            return known - {RANDOM}
        return known
    if not node.op.startswith("call_"):
        return frozenset()
    if node.op == "call_module":
        return frozenset({EFFECT})
    if isinstance(target, HigherOrderOperator):
        return _kinds_of_higher_order(node)
    found = set()
    if writes_by_convention(node):
        found.add(WRITES)
    elif target in called_for_effects:
        found.add(EFFECT)
    return frozenset(found)


@functools.lru_cache(maxsize=4096)
def _kinds_of_overload(overload: OpOverload) -> frozenset:
    found = set()
    schema = schema_of(overload)
    if draws(overload):
        found.add(RANDOM)
    if written_arguments(overload):
        found.add(WRITES)
    if communicates(overload):
        # Waits count as effects in PyTorch, only so that nobody drops them.
        if is_peer_to_peer(overload):
            found.add(PEER)
    elif WRITES not in found and (
        not schema.returns or overload in called_for_effects
    ):
        found.add(EFFECT)
    return frozenset(found)


def _kinds_of_higher_order(node: fx.Node) -> frozenset:
    name = node.target.name()
    found = set()
    if name in _WRITING or not node.users:
        found.add(WRITES)
    if name == "print" or not node.users:
        found.add(EFFECT)
    if "rng_state" in name:
        found.add(RANDOM)
    seen: list = []
    for inner in _nested(node, seen):
        found |= kinds(inner)
    return frozenset(found)


def _nested(node: fx.Node, seen: list) -> Iterator[fx.Node]:
    """Yields the nodes of the graphs that a higher-order call is given."""
    owner = node.graph.owning_module
    for source in node.all_input_nodes:
        if source.op != "get_attr" or owner is None:
            continue
        body = attribute_of(owner, str(source.target))
        if isinstance(body, fx.GraphModule) and not any(
            body is other for other in seen
        ):
            seen.append(body)
            yield from body.graph.nodes
