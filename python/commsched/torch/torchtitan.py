# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pass pipeline `commsched` of torchtitan's GraphTrainer.

Importing this module registers it, with the default options::

    import commsched.torch.torchtitan

    config.compile.pass_pipeline = "commsched"

It is torchtitan's own list of passes, with CommSched in the place of those
that bucket collectives and move them, or behind them where chunks of experts
are interleaved, which needs the buckets. What decides what is saved, recomputed
or sent to the host runs before, and what compiles regions or captures CUDA
graphs behind, as without CommSched. :func:`register` takes other options.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from commsched.torch.compiling.graph_pass import GraphPass
from commsched.torch.compiling.inductor_step import StepPass
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.schedule import ScheduleError

try:
    from torchtitan.experiments.graph_trainer import passes as _passes
    from torchtitan.experiments.graph_trainer import registry as _registry
except ImportError as error:
    raise ImportError(
        "commsched.torch.torchtitan needs torchtitan's GraphTrainer: "
        f"install torchtitan 0.3.0 ({error})"
    ) from error

#: The pass in whose place a step is scheduled.
_BUCKETING = "joint_transformer_block_bucketing_reordering_pass"

#: The pass that comes last of those that chunk experts and interleave the
#: chunks: a schedule takes the order of their computation as it is. They need
#: the buckets of torchtitan: without these they find no order.
_CHUNKED = "concretize_ep_chunk_symbolic_shapes_pass"

#: The pass that compiles the whole graph, which then is scheduled by Inductor's
#: own hooks: the pass itself orders nodes anew.
_INDUCTOR = "full_inductor_compilation_pass"

#: Passes that cannot be beside a schedule, and why.
_CONFLICTS = {
    "schedule_fsdp_comms_to_dense_regions_pass": (
        "--compile.enable_fsdp_dense_region_overlap",
        "would move the buckets of torchtitan, which CommSched replaces",
    ),
    "async_tensor_parallel_pass": (
        "--compile.enable_async_tensor_parallel",
        "fuses collectives, which CommSched then could neither move nor merge",
    ),
}


def register(name: str = "commsched", **options: Any) -> None:
    """Registers the pipeline as `name` for `--compile.pass_pipeline`, in the
    place of what was registered as that.

    `options` are those of :class:`Options`; `inner` has no meaning, since
    torchtitan runs the graph. Call it where the trainer's configuration is
    made, on all ranks alike.
    """
    pipeline = Pipeline(name, Options.of(options))
    _registry.register_pass_pipeline(name)(pipeline)
    _registry.register_post_init_hook(name)(pipeline.check_trainer)


class Pipeline:
    """A pass pipeline of torchtitan: makes the list of passes for the graph
    of a step."""

    def __init__(self, name: str, options: Options):
        self._name = name
        self._options = options

    def __call__(
        self, traced: Any, config: Any, *, parallel_dims: Any = None
    ) -> list[Callable]:
        passes = _passes.construct_default_graph_passes(
            traced, config, parallel_dims=parallel_dims
        )
        return self._scheduled(passes, traced.num_static_inputs)

    def check_trainer(self, trainer: Any) -> None:
        """Raises ScheduleError if `trainer` would never call the pipeline, or
        only for a graph that was compiled before: torchtitan would train
        without it, and say nothing."""
        settings = trainer.config.compile
        for setting, found, causes in (
            ("--compile.mode", settings.mode, settings.mode != "aot_fx_trace"),
            (
                "--compile.enable_passes",
                settings.enable_passes,
                not settings.enable_passes,
            ),
            (
                "--compile.precompile_artifact_dir",
                settings.precompile_artifact_dir,
                settings.precompile_artifact_dir,
            ),
            (
                "--parallelism.pipeline_parallel_degree",
                trainer.config.parallelism.pipeline_parallel_degree,
                trainer.parallel_dims.pp_enabled,
            ),
        ):
            if causes:
                raise ScheduleError(
                    f"with {setting} {found} torchtitan does not make its "
                    f"graph by --compile.pass_pipeline {self._name}, and "
                    "nothing would be scheduled: leave out one of the two"
                )

    def _scheduled(
        self, passes: list[Callable], parameters: int
    ) -> list[Callable]:
        names = [_name(each) for each in passes]
        for name, (setting, reason) in _CONFLICTS.items():
            if name in names:
                raise ScheduleError(
                    f"{setting} and --compile.pass_pipeline {self._name} "
                    f"exclude each other: torchtitan's '{name}' {reason}"
                )
        if names.count(_BUCKETING) != 1:
            raise ScheduleError(
                f"torchtitan's list of passes has no '{_BUCKETING}', in whose "
                "place CommSched schedules (it is tested with torchtitan "
                f"0.3.0); it has: {', '.join(names)}"
            )
        if _INDUCTOR in names:
            own: Callable = StepPass(self._options, parameters)
            place = names.index(_INDUCTOR)
        else:
            own = GraphPass(self._options, parameters)
            place = names.index(_CHUNKED if _CHUNKED in names else _BUCKETING) + 1
        with_own = [*passes[:place], own, *passes[place:]]
        if _CHUNKED in names:
            return with_own
        return [each for each in with_own if _name(each) != _BUCKETING]


def _name(each: Callable) -> str:
    """The name by which torchtitan knows a pass."""
    if isinstance(each, functools.partial):
        each = each.func
    return each.__name__


register()
