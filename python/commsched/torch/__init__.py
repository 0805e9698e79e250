# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched for PyTorch: from FX graphs to schedules and back.

As a backend of `torch.compile`, with the options of :class:`Options`::

    step = torch.compile(model, backend="commsched", options={...})

The parts, for other uses:

* :func:`import_graphs` takes FX graphs as AOT autograd makes them and gives a
  :class:`commsched.ir.Module`, whose ``str()`` is MLIR text;
  :func:`import_graph_module` is the same for one graph. Everything that
  cannot be imported is a :class:`GraphImportError` that names the node.
* :func:`apply` puts the schedule that `commsched-opt` made of an imported
  graph back into the graph.
* :func:`inductor_options`, :func:`schedule_pass` and
  :func:`runtime_estimator` are the other ways into PyTorch's compilers.
* :class:`Partitioner` splits joint graphs into forward and backward, for
  Inductor's setting `custom_partitioner_fn` and AOT autograd.
* :func:`explain` prints what was done to each graph.
* :func:`adopt` shows the collectives of a model under FSDP2's `fully_shard`
  to the compiler, and :func:`release` undoes it.
* :func:`shard_parameters` shards a model such that its collectives are in
  the graphs.
* :mod:`commsched.torch.trace` traces a training step without its ranks.
"""

import importlib as _importlib

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "commsched.torch needs PyTorch; install it with "
        "'pip install commsched[torch]'"
    ) from error

# Where the public names are; modules are imported when a name is first used.
_MODULES = {
    "commsched.torch.adoption": ("adopt", "release"),
    "commsched.torch.compiling.confirmation": ("RanksDiffer", "RanksSilent"),
    "commsched.torch.compiling.inductor": ("inductor_options",),
    "commsched.torch.compiling.estimator": ("runtime_estimator",),
    "commsched.torch.compiling.graph_pass": ("schedule_pass",),
    "commsched.torch.compiling.options": ("Options", "OptionsError"),
    "commsched.torch.compiling.partitioner": ("Partitioner",),
    "commsched.torch.compiling.guards": ("ScheduleError",),
    "commsched.torch.compiling.records": ("CommSchedWarning", "explain"),
    "commsched.torch.importer.errors": ("GraphImportError",),
    "commsched.torch.importer.graphs": (
        "GraphSpec",
        "ImportOptions",
        "import_graph_module",
        "import_graphs",
    ),
    "commsched.torch.rewriting.apply": ("apply",),
    "commsched.torch.rewriting.errors": ("PlanError", "RewriteError"),
    "commsched.torch.sharding": ("MixedPrecision", "shard_parameters"),
}

_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_WHERE)


def __getattr__(name: str):
    if name not in _WHERE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(_importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_WHERE))
