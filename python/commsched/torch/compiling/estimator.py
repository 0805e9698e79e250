# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched's times for the scheduler of Inductor.

For users who keep Inductor's own overlap scheduling and want only the times
that it decides by::

    torch.compile(model, options={
        "aten_distributed_optimizations.enable_overlap_scheduling": True,
        "aten_distributed_optimizations.custom_runtime_estimation":
            commsched.torch.runtime_estimator(target="h100"),
    })
"""

from __future__ import annotations

import weakref
from typing import Any, Optional

import torch

from commsched import ir
from commsched.program import Operation
from commsched.torch.compiling import records
from commsched.torch.compiling.guards import find_obstacle
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.runs import estimate_text
from commsched.torch.compiling.schedule import describe, import_options
from commsched.torch.importer.graphs import GraphSpec, import_graphs
from commsched.torch.importer.ordering import in_order
from commsched.torch.private import names

_RUNTIME = "commsched.runtime_ns"

# Collectives whose latency is that of one element for each rank.
_LAUNCHES = {
    "commsched.all_gather": "dim(0)",
    "commsched.reduce_scatter": "reduction(sum) dim(0)",
    "commsched.all_reduce": "reduction(sum)",
    "commsched.all_to_all": "split_dim(0) concat_dim(0)",
}


def runtime_estimator(**options: Any) -> RuntimeEstimator:
    """Returns an estimator for Inductor's
    ``aten_distributed_optimizations.custom_runtime_estimation``.

    `options` are those of :class:`Options` that say where times come from:
    target, profile, ranks_per_node and hints.
    """
    return RuntimeEstimator(Options.of(options))


class RuntimeEstimator:
    """Gives a node's time in milliseconds, or None for one without.

    All nodes of a graph are estimated when the first is asked for. Two
    estimators with equal options and profiles are equal for Inductor's caches.
    """

    def __init__(self, options: Options):
        self.options = options
        self._tables: weakref.WeakKeyDictionary[torch.fx.Graph, _Table] = (
            weakref.WeakKeyDictionary()
        )

    def __call__(
        self, node: torch.fx.Node, override_size: Optional[int] = None
    ) -> Optional[float]:
        """Returns what `node` takes, in ms. `override_size` is another size
        of a collective in bytes; 0 asks for its latency."""
        table = self._tables.get(node.graph)
        if table is None:
            table = self._tables[node.graph] = self._estimate(node.graph)
        time = table.times.get(node.name)
        if time is None:
            return None
        if override_size is not None:
            time = self._resized(table, node, time, override_size)
        return time / 1e6

    def __reduce__(self):
        # Inductor's cache keys have the pickled configuration. What follows
        # the arguments is only there to be part of them.
        return _restore, (self.options, self.options.fingerprint())

    def __deepcopy__(self, memo: dict) -> RuntimeEstimator:
        return self

    def _estimate(self, graph: torch.fx.Graph) -> _Table:
        if find_obstacle(self.options, "estimates"):
            return _Table({}, {}, [])
        spec = GraphSpec("graph", graph.owning_module)
        try:
            settings = import_options(self.options, graph.owning_module)
            # Inductor asks before it sorts what its merging has left.
            with in_order(graph):
                module = import_graphs([spec], settings)
            run = estimate_text(str(module), self.options)
        except Exception as error:
            records.warn_once(
                f"CommSched leaves the estimates to Inductor: {describe(error)}"
            )
            return _Table({}, {}, [])
        operations = run.after.function("graph").operations
        named = {op.name: op for op in operations if op.name}
        times = {
            name: op.attributes[_RUNTIME]
            for name, op in named.items()
            if _RUNTIME in op.attributes
        }
        return _Table(times, named, module.groups)

    def _resized(
        self, table: _Table, node: torch.fx.Node, time: float, size: int
    ) -> float:
        """Returns the time of a collective of `size` bytes: what exceeds its
        latency is proportional to the size."""
        operation = table.operations[node.name]
        if operation.op not in _LAUNCHES:
            return time
        if table.latencies is None:
            table.latencies = self._latencies(table)
        latency = min(table.latencies[operation.op, operation.group], time)
        own_size = names.estimate_fx_collective_size(node)
        if not size or not own_size:
            return latency
        return latency + (time - latency) * size / own_size

    def _latencies(self, table: _Table) -> dict:
        """Returns the times of the smallest collectives, by kind and
        group."""
        module = ir.Module(groups=list(table.groups))
        function = module.add_function("latencies")
        sizes = {group.name: group.size for group in table.groups}
        keys = dict.fromkeys(
            (op.op, op.group)
            for op in table.operations.values()
            if op.op in _LAUNCHES
        )
        for number, (kind, group) in enumerate(keys):
            many = ir.TensorType((sizes[group],), "f32")
            one = ir.TensorType((1,), "f32")
            operand = one if kind == "commsched.all_gather" else many
            result = one if kind == "commsched.reduce_scatter" else many
            future = function.start(
                kind.removeprefix("commsched."),
                [function.argument(f"operand_{number}", operand)],
                group,
                [result],
                hint="start",
                clauses=_LAUNCHES[kind],
                attrs={"commsched.name": f"latency_{number}"},
            )
            function.wait(future, hints=["result"])
        function.return_([])
        run = estimate_text(str(module), self.options)
        found = run.after.function("latencies").by_name()
        return {
            key: found[f"latency_{number}"].attributes[_RUNTIME]
            for number, key in enumerate(keys)
        }


class _Table:
    """The times of one graph's nodes in ns, their operations by name, and the
    graph's process groups. `latencies` is filled when one is asked for."""

    def __init__(
        self,
        times: dict[str, float],
        operations: dict[str, Operation],
        groups: list[ir.Group],
    ):
        self.times = times
        self.operations = operations
        self.groups = groups
        self.latencies: Optional[dict] = None


def _restore(options: Options, _fingerprint: str) -> RuntimeEstimator:
    return RuntimeEstimator(options)
