# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a rewritten graph computes what the graph before it did.

Nothing here asks how the graph was rewritten. Every node that is left has to
be given the values that it was given: the same nodes, or nodes that compute
the same, which is read off them. Memory has to be written in the same order
and to hold the same whenever it is read.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from typing import Any, Iterable, Mapping, Optional, Sequence

import torch
from torch import fx

from commsched.torch.importer.targets import is_unknown_collective, is_wait
from commsched.torch.importer.unsharded import storage_change
from commsched.torch.rewriting.dependences import (
    CHAINS,
    WRITES,
    Storages,
    communications,
    kinds,
    started_by,
    written_by,
)
from commsched.torch.rewriting.errors import RewriteError
from commsched.torch.rewriting.history import History
from commsched.torch.rewriting.values import (
    Contents,
    Unknown,
    collective,
    describe,
)

# How deep two computations are compared.
_DEPTH = 64


class Record:
    """What has to be known of a graph before it is rewritten."""

    def __init__(self, nodes: Sequence[fx.Node]):
        self.nodes = list(nodes)
        self.calls = {n: (n.target, n.args, n.kwargs) for n in self.nodes}
        self.history = History(self.nodes)
        self.waits = _count_waits(self.nodes)


def _sides(nodes: Sequence[fx.Node]) -> dict[fx.Node, int]:
    """Returns how many unknown collectives come before each start and wait."""
    sides, passed = {}, 0
    for node in communications(nodes):
        sides[node] = passed
        passed += is_unknown_collective(node.target)
    return sides


def verify(
    record: Record, graph: fx.Graph, gone: Mapping[fx.Node, Any]
) -> None:
    """Raises RewriteError unless `graph` computes what `record` says.

    `gone` are the nodes of the graph before that are still in `graph`, but
    will be removed.
    """
    try:
        graph.lint()
    except RuntimeError as error:
        raise RewriteError(f"the new graph is malformed: {error}") from error
    live = [node for node in graph.nodes if node not in gone]
    _Verifier(record, live, gone).run()


class _Verifier:
    def __init__(self, record: Record, live: list, gone: Mapping):
        self._record = record
        self._live = live
        self._gone = gone
        self._values: dict[fx.Node, Any] = {}
        self._added = [node for node in live if node not in record.calls]
        self._before = record.history
        # By operand: what has it as its first in the graph before. What a bucket delivers
        # now has no users any more.
        self._users: dict[fx.Node, list[fx.Node]] = defaultdict(list)
        for node, (_, args, _) in record.calls.items():
            if args and isinstance(args[0], fx.Node):
                self._users[args[0]].append(node)
        self._waits = self._find_waits()
        self._after = History(
            live, [n for n in self._added if self._fills_own_buffer(n)]
        )

    def run(self) -> None:
        record = self._record
        found = set(self._live)
        for node in record.nodes:
            if node not in found and node not in self._gone:
                raise RewriteError(f"node '{node.name}' was lost")
        self._check_placeholders()
        for node in self._live:
            for source in node.all_input_nodes:
                if source in self._gone:
                    raise RewriteError(
                        f"'{source.name}' was lost, which '{node.name}' uses"
                    )
            call = record.calls.get(node)
            if call is None:
                self._values[node] = self._describe(node)
            else:
                self._check_call(node, *call)
        self._check_effects()
        self._check_waits()

    def _find_waits(self) -> dict:
        """Returns the waits of the graph before, by what they wait for."""
        found = {}
        for source, waits in self._record.waits.items():
            delivered = self._delivered(source)
            if delivered is not None:
                found[delivered.made_by, delivered.parts[0]] = waits[0]
        return found

    # -- values --------------------------------------------------------------

    def _check_placeholders(self) -> None:
        was, now = (
            [node for node in nodes if node.op == "placeholder"]
            for nodes in (self._record.nodes, self._live)
        )
        if was != now or self._live[: len(now)] != now:
            raise RewriteError("the graph has other inputs than before")
        if self._live[-1].op != "output":
            raise RewriteError("the graph does not end with its output")

    def _describe(self, node: fx.Node) -> Any:
        try:
            return describe(
                node, self._contents, self._after.version, self._same_call
            )
        except (Unknown, KeyError, TypeError, ValueError) as error:
            raise RewriteError(
                f"node '{node.name}', which was added, is not understood: "
                f"{error}"
            ) from error

    def _same_call(
        self, node: fx.Node, operand: fx.Node, version: tuple
    ) -> Optional[fx.Node]:
        """Returns the node of the graph before that did to `operand`, last
        written by `version`, what `node` does to its first argument."""
        for user in self._users[operand]:
            call = self._record.calls[user]
            if (
                call[0] == node.target
                and call[1] == (operand, *node.args[1:])
                and call[2] == node.kwargs
                and set(self._before.version(user, operand)) == set(version)
            ):
                return user
        return None

    def _contents(self, node: fx.Node) -> Any:
        """Returns what an argument of an added node is. What a collective of
        the graph before delivered is the node that waited for it."""
        value = self._values.get(node, Contents(((node, None),)))
        if isinstance(value, Contents) and not value.is_late:
            if value.made_by is not None and len(value.parts) == 1:
                wait = self._waits.get((value.made_by, value.parts[0]))
                return value if wait is None else Contents(((wait, None),))
        return value

    def _check_call(self, node: fx.Node, target, args, kwargs) -> None:
        """Raises unless `node` is given what it was given."""
        if node.target is not target:
            raise RewriteError(f"node '{node.name}' calls something else")
        if node.args is not args or node.kwargs is not kwargs:
            self._check_same(node, (args, kwargs), (node.args, node.kwargs))

    def _check_same(self, user: fx.Node, was: Any, now: Any) -> None:
        if was is now:
            return
        if isinstance(was, fx.Node) and isinstance(now, fx.Node):
            self._check_value(user, was, now)
            return
        if isinstance(was, (list, tuple)) and isinstance(now, (list, tuple)):
            if len(was) == len(now):
                for a, b in zip(was, now):
                    self._check_same(user, a, b)
                return
        elif isinstance(was, Mapping) and isinstance(now, Mapping):
            if list(was) == list(now):
                for key in was:
                    self._check_same(user, was[key], now[key])
                return
        elif isinstance(was, slice) and isinstance(now, slice):
            for part in ("start", "stop", "step"):
                self._check_same(user, getattr(was, part), getattr(now, part))
            return
        elif type(was) is type(now) and was == now:
            return
        raise RewriteError(f"node '{user.name}' got {now} for {was}")

    def _check_value(self, user: fx.Node, was: fx.Node, now: fx.Node) -> None:
        if not (_have_same_type(was, now) and self._is_same(user, was, now)):
            raise RewriteError(
                f"node '{user.name}' is given '{now.name}' instead of "
                f"'{was.name}', which is another value"
            )

    def _is_same(self, user: fx.Node, was: fx.Node, now: fx.Node) -> bool:
        if now not in self._values:
            return self._is_equal(was, now) or self._was_filled(user, was, now)
        delivered = self._values[now]
        if not isinstance(delivered, Contents) or len(delivered.parts) != 1:
            return False
        ((part, version),) = delivered.parts
        if delivered.made_by is None:
            return self._is_same_source(part, version, was, ())
        start = was
        if is_wait(was.target):
            start = self._record.calls[was][1][0]
            if delivered.is_late:
                return False
        wanted = self._delivered(start)
        if wanted is None or delivered.made_by != wanted.made_by:
            return False
        return self._is_same_source(part, version, *wanted.parts[0])

    def _is_same_source(self, now, version, was, old_version) -> bool:
        """Returns whether what was sent, or read in another way, is what the
        graph before did; versions are who had written it last."""
        if now in self._values:
            return self._is_same(now, was, now)
        if version is not None and set(version) != set(old_version):
            return False
        return self._is_equal(was, now)

    def _delivered(self, start: Any) -> Optional[Contents]:
        """Returns what a node delivers if it is a collective."""
        if start not in self._record.calls:
            return None
        target, args, _ = self._record.calls[start]
        if not args or not isinstance(args[0], fx.Node):
            return None
        return collective(target, args, self._before.version(start, args[0]))

    def _is_equal(self, a: Any, b: Any, depth: int = 0) -> bool:
        """Returns whether two nodes of the graph before computed the same."""
        if a is b:
            return True
        if not isinstance(a, fx.Node) or not isinstance(b, fx.Node):
            if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
                return len(a) == len(b) and all(
                    self._is_equal(x, y, depth) for x, y in zip(a, b)
                )
            if isinstance(a, Mapping) and isinstance(b, Mapping):
                return list(a) == list(b) and all(
                    self._is_equal(a[key], b[key], depth) for key in a
                )
            return type(a) is type(b) and a == b
        calls = self._record.calls
        if depth > _DEPTH or a not in calls or b not in calls:
            return False
        if a.op != b.op or not a.op.startswith("call_") or kinds(a):
            return False
        (target, *given), (other, *others) = calls[a], calls[b]
        if target is not other:
            return False
        seen = self._before.seen
        was, now = (_writers(seen.get(node, {})) for node in (a, b))
        return was == now and self._is_equal(given, others, depth + 1)

    def _was_filled(self, user: fx.Node, was: fx.Node, now: fx.Node) -> bool:
        """Returns whether `was`, an unsharded parameter whose filling was
        removed, held what `now` is when `user`, or what uses the view that it
        is, read it."""
        if was.op != "placeholder":
            return False
        (key,) = self._before.storages.of(was) or (None,)
        work, views = [user], {user}
        while work:
            node = work.pop()
            filled = self._before.filled.get(node, {}).get(key)
            if filled is not now and (filled is not None or node is not user):
                return False
            if key not in self._before.storages.of(node):
                if filled is None:
                    return False
                continue
            for other in node.users:
                if other not in views and other not in self._gone:
                    views.add(other)
                    work.append(other)
        return True

    # -- effects -------------------------------------------------------------

    def _fills_own_buffer(self, node: fx.Node) -> bool:
        """Returns whether an added collective writes a buffer that nothing
        else uses."""
        out = node.kwargs.get("out")
        if not isinstance(out, fx.Node):
            return False
        users = [user for user in out.users if user not in self._gone]
        return users == [node] and out.target is operator.getitem

    def _check_effects(self) -> None:
        for chain in CHAINS:
            was, now = self._before.chains[chain], self._after.chains[chain]
            for a, b in zip(was, now):
                if a is not b:
                    raise RewriteError(
                        f"'{b.name}' runs before '{a.name}'; both are of the "
                        f"kind '{chain}', which stays in order"
                    )
            if len(was) != len(now):
                raise RewriteError(f"a node of the kind '{chain}' was lost")
        self._check_fences()
        if any(kinds(node) for node in self._gone):
            self._check_gone()
        if not (self._before.seen or self._after.seen):
            return
        for node in self._live:
            if node in self._record.calls:
                self._check_memory(node)

    def _check_fences(self) -> None:
        """Raises unless all communication is on the side of each unknown
        collective where it was."""
        was, now = _sides(self._record.nodes), _sides(self._live)
        for node, side in now.items():
            if was.get(node, side) != side:
                raise RewriteError(
                    f"'{node.name}' crosses a collective that is not known"
                )

    def _check_memory(self, node: fx.Node) -> None:
        was = _writers(self._before.seen.get(node, {}))
        now = _writers(self._after.seen.get(node, {}))
        if was != now:
            names = [
                ", ".join(w.name for w in seen) or "nothing"
                for seen in (was, now)
            ]
            raise RewriteError(
                f"'{node.name}' used memory that was last written by "
                f"{names[0]}, and now by {names[1]}"
            )

    def _check_gone(self) -> None:
        """Raises unless nodes with an effect that are left out only changed
        storages that nothing uses any more."""
        storages = Storages()
        for node in self._live:
            storages.visit(node)
        used: dict[int, fx.Node] = {}
        for node in self._live:
            for source in node.all_input_nodes:
                used.update(dict.fromkeys(storages.of(source), node))
        for node in self._gone:
            found = kinds(node)
            if found and (WRITES not in found or not storage_change(node)):
                raise RewriteError(
                    f"'{node.name}', which has an effect, was left out"
                )
            for target in written_by(node):
                for key in self._before.storages.of(target):
                    if key in used:
                        raise RewriteError(
                            f"'{node.name}' was left out, but "
                            f"'{used[key].name}' uses the storage that it "
                            "changes"
                        )

    # -- waits ---------------------------------------------------------------

    def _check_waits(self) -> None:
        """Raises where something waits twice for a tensor."""
        for node in self._added:
            if is_wait(node.target):
                self._check_sent(node)
        for key, waits in _count_waits(self._live).items():
            if len(waits) > max(1, len(self._record.waits.get(key, ()))):
                raise RewriteError(
                    f"'{waits[0].name}' and '{waits[1].name}' wait for the "
                    "same tensor"
                )

    def _check_sent(self, wait: fx.Node) -> None:
        """Raises if what is in flight is written before it is waited for."""
        start = started_by(wait)
        for source in start.all_input_nodes if start is not None else ():
            versions = [self._after.version(n, source) for n in (start, wait)]
            if versions[0] != versions[1]:
                raise RewriteError(
                    f"'{source.name}' is written between '{start.name}', "
                    f"which sends it, and '{wait.name}'"
                )


def _writers(seen: Mapping) -> dict:
    """Returns all nodes of versions, each once, in the graph's order."""
    return dict.fromkeys(sorted(w for found in seen.values() for w in found))


def _count_waits(nodes: Iterable[fx.Node]) -> dict[fx.Node, list]:
    found: dict[fx.Node, list] = {}
    for node in nodes:
        if node.op == "call_function" and is_wait(node.target):
            source = next(iter(node.all_input_nodes), None)
            if source is not None and started_by(node) is not None:
                found.setdefault(source, []).append(node)
    return found


def _have_same_type(a: fx.Node, b: fx.Node) -> bool:
    x, y = a.meta.get("val"), b.meta.get("val")
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):
        return type(x) is type(y)
    return x.shape == y.shape and x.dtype == y.dtype and x.device == y.device
