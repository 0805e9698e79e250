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

torchtitan asks for no pipeline where it compiles artifacts ahead of training
(`precompile_main`) and the stages of a pipeline (`graph_pp`). Importing this
module therefore replaces torchtitan's functions that list the passes of those,
for configurations with a pipeline of this module. A stage gathers its parameters
in a graph of its own then, which torchtitan's buckets otherwise prevent.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any, Optional

import torch

import commsched
from commsched.torch.compiling.graph_pass import GraphPass
from commsched.torch.compiling.inductor_step import StepPass
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.schedule import ScheduleError

try:
    from torchtitan.experiments.graph_trainer import passes as _passes
    from torchtitan.experiments.graph_trainer import precompile as _precompile
    from torchtitan.experiments.graph_trainer import registry as _registry
    from torchtitan.experiments.graph_trainer.graph_pp import (
        graph_builder as _stages,
    )
    from torchtitan.experiments.graph_trainer.graph_pp.pipeline import (
        graph_pipeline_llm as _make_stages,
    )

    _list_step = _passes.compile_time_passes
    _list_terminal = _stages.final_inductor_compile_passes
    _identify = _precompile.compute_config_fingerprint
    _unshard = _stages.GraphTrainerStageGraphs.unshard_params
except (ImportError, AttributeError) as error:
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
        # Of passes before CUDA graphs, if the graph is not from an artifact,
        # :func:`_list_scheduled` is asked.
        return _passes.construct_default_graph_passes(
            traced, config, parallel_dims=parallel_dims
        )

    def check_trainer(self, trainer: Any) -> None:
        """Raises ScheduleError if `trainer` would never call the pipeline:
        torchtitan would train without it, and say nothing."""
        settings = trainer.config.compile
        for setting, found, causes in (
            ("--compile.mode", settings.mode, settings.mode != "aot_fx_trace"),
            (
                "--compile.enable_passes",
                settings.enable_passes,
                not settings.enable_passes,
            ),
            (
                "--compile.enable",
                settings.enable,
                trainer.parallel_dims.pp_enabled and not settings.enable,
            ),
            (
                "--parallelism.pipeline_parallel_degree",
                trainer.config.parallelism.pipeline_parallel_degree,
                trainer.parallel_dims.pp_enabled
                and trainer.config.model_spec.pipelining_fn is not _make_stages,
            ),
        ):
            if causes:
                raise ScheduleError(
                    f"with {setting} {found} torchtitan does not make its "
                    f"graph by --compile.pass_pipeline {self._name}, and "
                    "nothing would be scheduled: leave out one of the two"
                )

    def identify(self) -> str:
        """What artifacts have to know the pipeline by. Prices are those of the
        machine that makes them, and take no part."""
        return f"commsched {commsched.__version__} {self._options}"

    def schedule(
        self, passes: list[Callable], parameters: int, *, is_divided: bool
    ) -> list[Callable]:
        """Returns the passes over the graph of a step, which schedule it
        unless it is divided into the graphs of a stage before it runs."""
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
        if not is_divided:
            passes = [*passes[:place], own, *passes[place:]]
        if _CHUNKED in names:
            return passes
        return [each for each in passes if _name(each) != _BUCKETING]

    def schedule_part(self, passes: list[Callable]) -> list[Callable]:
        """Returns the passes over one of the graphs of a stage, given those
        that compile it."""
        own: Callable = GraphPass(self._options, _is_shard)
        if _INDUCTOR in map(_name, passes):
            own = StepPass(self._options, 0)
        return [own, *passes]


def _is_shard(node: torch.fx.Node) -> bool:
    """Whether a placeholder of a stage's graph is a parameter before it is
    gathered."""
    return node.meta.get("graph_pp_callable") == "unshard"


def _name(each: Callable) -> str:
    """The name by which torchtitan knows a pass."""
    if isinstance(each, functools.partial):
        each = each.func
    return each.__name__


def _find_pipeline(settings: Any) -> Optional[Pipeline]:
    """The pipeline of this module that `--compile` asks for, if it does."""
    found = _registry.PASS_PIPELINE_REGISTRY.get(settings.pass_pipeline)
    return found if isinstance(found, Pipeline) else None


@functools.wraps(_list_step)
def _list_scheduled(traced: Any, config: Any, **settings: Any) -> list[Callable]:
    passes = _list_step(traced, config, **settings)
    pipeline = _find_pipeline(config.compile)
    if pipeline is None:
        return passes
    is_divided = not settings.get("include_inductor", True)
    return pipeline.schedule(
        passes, traced.num_static_inputs, is_divided=is_divided
    )


@functools.wraps(_list_terminal)
def _list_scheduled_part(config: Any, **settings: Any) -> list[Callable]:
    passes = _list_terminal(config, **settings)
    pipeline = _find_pipeline(config)
    return passes if pipeline is None else pipeline.schedule_part(passes)


@functools.wraps(_identify)
def _identify_scheduled(model: Any, config: Any, parallel_dims: Any) -> str:
    """torchtitan's name of an artifact, which it compares before it trains with
    it: one that another pipeline, or none, has made is refused."""
    found = _identify(model, config, parallel_dims)
    pipeline = _find_pipeline(config)
    if pipeline is None:
        return found
    text = f"{found} {pipeline.identify()}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.wraps(_unshard)
def _unshard_all(self: Any, values: list[Any], **settings: Any) -> list[Any]:
    """A stage's parameters, gathered. torchtitan finds the inputs that are behind
    them by how many there are: with those that no forward reads, such as the mesh
    of each DTensor, which its graph of the gathers leaves out."""
    found = _unshard(self, values, **settings)
    return found + [None] * (self.meta.num_flat_param_values - len(found))


_passes.compile_time_passes = _list_scheduled
_stages.compile_time_passes = _list_scheduled
_stages.final_inductor_compile_passes = _list_scheduled_part
_stages.GraphTrainerStageGraphs.unshard_params = _unshard_all
_precompile.compute_config_fingerprint = _identify_scheduled
register()
