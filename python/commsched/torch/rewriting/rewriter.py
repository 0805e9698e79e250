# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Carries out a plan, and takes it back if it does not hold."""

from __future__ import annotations

from typing import Iterable, Optional, Sequence

from torch import fx

from commsched.torch.private import copy_names, put_names, relink
from commsched.torch.importer.targets import is_wait
from commsched.torch.rewriting.buckets import merge
from commsched.torch.rewriting.dependences import (
    is_effect,
    is_start,
    memory_dependences,
)
from commsched.torch.rewriting.errors import RewriteError
from commsched.torch.rewriting.inlining import place_calls
from commsched.torch.rewriting.nodes import NodeMaker
from commsched.torch.rewriting.order import arrange
from commsched.torch.rewriting.plan import Plan
from commsched.torch.rewriting.replacing import (
    forwarded_reads,
    gather_into,
    replaced_waits,
    shares_storage,
)
from commsched.torch.rewriting.verify import Record, verify


class Rewriter:
    """One application of a plan to a graph.

    `run` changes the graph, and leaves in it, behind all others, nodes that
    are no longer used; `finish` removes them. Until then `undo` makes the
    graph what it was.
    """

    def __init__(self, graph: fx.Graph, plan: Plan):
        self._graph = graph
        self._plan = plan
        self._nodes = list(graph.nodes)
        self._by_name = {node.name: node for node in self._nodes}
        self._record = Record(self._nodes)
        self._names = copy_names(graph)
        self._maker = NodeMaker(graph)
        self._journal: list[tuple] = []
        self._old_values: list[tuple] = []
        self._users: dict[fx.Node, list] = {}
        # By node that goes: what stands for it, if anything does.
        self._gone: dict[fx.Node, Optional[fx.Node]] = {}
        # By node that goes: what reads its operands in its stead.
        self._readers: dict[fx.Node, fx.Node] = {}
        self._stages: dict[tuple, list] = {}

    def run(self) -> None:
        self._replace_values()
        memory = memory_dependences(
            node for node in self._nodes if node not in self._gone
        )
        self._gather_into()
        self._merge()
        memory = self._moved(memory)
        live = [n for n in self._sequence() if n not in self._gone]
        order = arrange(live, self._wanted(), memory)
        self._check_starts(order)
        dead = [n for n in (*self._maker.made, *self._nodes) if n in self._gone]
        output = order.pop()
        relink(self._graph, [*order, *dead, output])
        verify(self._record, self._graph, self._gone)

    def finish(self) -> None:
        """Removes what is no longer used."""
        for node in reversed([*self._maker.made, *self._nodes]):
            if node in self._gone:
                self._graph.erase_node(node)

    def undo(self) -> None:
        """Makes the graph what it was before `run`."""
        for node, value in reversed(self._old_values):
            node.meta["val"] = value
        for user, args, kwargs in reversed(self._journal):
            user.args = args
            user.kwargs = kwargs
        self._maker.discard()
        for node, users in self._users.items():
            node.users.clear()
            old = (user for user in users if user in self._record.calls)
            node.users.update(dict.fromkeys(old))
        relink(self._graph, self._nodes)
        # Another plan gives its nodes the names that other ranks give theirs.
        put_names(self._graph, self._names)

    # -- values --------------------------------------------------------------

    def _replace_values(self) -> None:
        """Lets uses of nodes that are replaced use what replaces them, at
        their places."""
        plan = self._plan
        for name, other in plan.replacements:
            old, new = self._find(name), self._find(other)
            if old is None and new is None:
                continue
            if old is None or new is None:
                missing = name if old is None else other
                raise RewriteError(
                    f"the plan replaces '{name}' by '{other}', but the graph "
                    f"has no '{missing}'"
                )
            for was, now in replaced_waits(old, new):
                self._replace(was, now)
        removed = [self._find(name) for name in plan.removed]
        removed = [node for node in removed if node is not None]
        if removed:
            for user, was, now in list(forwarded_reads(self._nodes, removed)):
                self._replace_in(user, was, now)
                self._view_anew(user, was)
            for node in removed:
                self._gone[node] = None
        self._bury(self._gone)

    def _gather_into(self) -> None:
        for name, source, number in self._plan.into:
            start, buffers = self._find(name), self._find(source)
            if start is None or buffers is None:
                raise RewriteError(
                    f"the plan lets '{name}' deliver into result {number} of "
                    f"'{source}'; the graph lacks one of them"
                )
            new = gather_into(self._maker, start, buffers, number)
            self._replace(start, new)
            self._readers[start] = new
            self._stages[name] = [new]

    def _merge(self) -> None:
        for number, bucket in enumerate(self._plan.buckets):
            try:
                merged = merge(self._maker, bucket, self._find)
            except Exception as error:
                if not isinstance(error, RewriteError):
                    error = RewriteError(f"{type(error).__name__}: {error}")
                error.bucket = number
                raise error
            for stage, nodes in merged.stages.items():
                self._stages[(number, stage)] = nodes
            self._readers.update(merged.readers)
            for old, new in merged.results.items():
                self._replace(old, new)
        self._bury(self._gone)

    def _find(self, name: str) -> Optional[fx.Node]:
        return self._by_name.get(name)

    def _replace(self, old: fx.Node, new: fx.Node) -> None:
        """Lets all that uses `old` use `new`; `old` is gone."""
        for user in list(old.users):
            if user is not new:
                self._replace_in(user, old, new)
                self._view_anew(user, old)
        self._gone[old] = new

    def _replace_in(self, user: fx.Node, old: fx.Node, new: fx.Node) -> None:
        self._journal.append((user, user.args, user.kwargs))
        for source in user.all_input_nodes:
            self._users.setdefault(source, list(source.users))
        user.replace_input_with(old, new)

    def _view_anew(self, node: fx.Node, param: fx.Node) -> None:
        """Lets the value of `node`, and of what views it, be a view of its
        present operand if it was one of `param`."""
        work = [node]
        while work:
            view = work.pop()
            if view.op == "call_function" and shares_storage(view, param):
                self._old_values.append((view, view.meta["val"]))
                view.meta["val"] = self._maker.value(view)
                work.extend(view.users)

    def _bury(self, replaced: Iterable[fx.Node]) -> None:
        """Adds to what is gone the nodes without an effect that nothing but
        what is gone uses. A bucket is launched whoever uses it."""
        work = list(replaced)
        launched = {
            node
            for node in self._maker.made
            if is_start(node) or is_wait(node.target)
        }
        while work:
            for source in work.pop().all_input_nodes:
                if source in self._gone or source.op == "placeholder":
                    continue
                if is_effect(source) or source in launched:
                    continue
                if all(user in self._gone for user in source.users):
                    self._gone[source] = None
                    work.append(source)

    # -- order ---------------------------------------------------------------

    def _moved(self, memory: dict) -> dict:
        """Returns memory dependences in which what stands for nodes that are
        gone has theirs."""
        if not self._gone or not memory:
            return memory
        moved: dict[fx.Node, dict] = {}
        for node, earlier in memory.items():
            for target in self._heirs(node):
                known = moved.setdefault(target, {})
                for source in earlier:
                    known.update(dict.fromkeys(self._heirs(source)))
                known.pop(target, None)
        return {node: list(earlier) for node, earlier in moved.items()}

    def _heirs(self, node: fx.Node) -> list[fx.Node]:
        if node not in self._gone:
            return [node]
        found = [self._readers.get(node), self._gone[node]]
        live = [n for n in found if n is not None]
        return [h for n in live for h in self._heirs(n)]

    def _sequence(self) -> list[fx.Node]:
        """Returns all nodes, new ones before the output."""
        return [*self._nodes[:-1], *self._maker.made, self._nodes[-1]]

    def _wanted(self) -> list[fx.Node]:
        """Returns the nodes that the plan's order names."""
        found: list[fx.Node] = []
        for entry in place_calls(self._plan.order, self._graph):
            if entry in self._stages:
                found.extend(self._stages[entry])
            elif isinstance(entry, str):
                node = self._by_name.get(entry)
                if node is not None and node not in self._gone:
                    found.append(node)
        return [n for n in found if n.op not in ("placeholder", "output")]

    def _check_starts(self, order: Sequence[fx.Node]) -> None:
        """Raises unless collectives start in the order of the plan: other
        ranks rely on it."""
        wanted = [node for node in self._wanted() if is_start(node)]
        named = set(wanted)
        found = [node for node in order if node in named]
        for was, now in zip(wanted, found):
            if was is not now:
                raise RewriteError(
                    f"'{was.name}' cannot start before '{now.name}' as the "
                    "plan says: it depends on it in this graph"
                )
