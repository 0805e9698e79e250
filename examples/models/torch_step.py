# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the training step of a known model as a ``commsched`` module.

Run as ``python examples/models/torch_step.py --model llama3-8b --dp 64 -o
step.mlir``; ``--help`` lists every option. ``commsched.torch.trace`` traces the
step on fake tensors: it takes neither a GPU nor the memory of the model.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
from collections.abc import Sequence

import torch
from torch.distributed.device_mesh import DeviceMesh

import tracing
from commsched import ir
from commsched.output import positive
from commsched.torch import trace
from commsched.torch.sharding import shard_parameters
from commsched.torch.trace import Sharded, TracedStep, TraceOptions
from commsched.torch.tracer.optimizer import OPTIMIZERS
from commsched.torch.tracer.partition import PARTITIONERS
from decoder_sizes import CONFIGS, LlamaConfig
from torch_expert_parallel import expected_sizes, mesh_of_all, spread_experts
from torch_experts import EXPERTS_CONFIGS, ExpertsConfig, ExpertsModel
from torch_llama import Llama
from torch_tensor_parallel import check_divides, parallelize


@dataclasses.dataclass(frozen=True)
class StepOptions(TraceOptions):
    """What to trace; a value that makes no sense is a ``ValueError``.

    model:       a name of ``CONFIGS`` or ``EXPERTS_CONFIGS``.
    shards:      ranks that each parameter is sharded over.
    replicas:    copies of such a group of ranks (hybrid sharding).
    tensor:      ranks that share a data-parallel rank's tensors (tensor and
                 sequence parallelism); it divides the model's sizes.
    experts:     ranks that the experts of a model are spread over (expert
                 parallelism); it divides their number. Each has its own batch.
                 ``shards`` ranks share each expert, and ``shards * experts``
                 each other parameter.
    imbalance:   rows that this rank's experts compute, by those that an
                 average rank's do; at least 1.
    sequence:    tokens of one sequence; batch: sequences of one rank, or of
                 the ranks that share its tensors.
    layers:      decoder layers, in place of the model's own number.
    """

    model: str
    shards: int
    replicas: int = 1
    tensor: int = 1
    experts: int = 1
    imbalance: float = 1.0
    sequence: int = 8192
    batch: int = 1
    layers: int | None = None

    def __post_init__(self) -> None:
        known = (*CONFIGS, *EXPERTS_CONFIGS)
        if self.model not in known:
            raise ValueError(
                f"unknown model '{self.model}' (known: {', '.join(known)})"
            )
        super().__post_init__()
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be positive, got {value}")
        if self.model in EXPERTS_CONFIGS:
            self._check_experts(EXPERTS_CONFIGS[self.model])
        else:
            self._check_dense(CONFIGS[self.model])

    def _check_experts(self, config: ExpertsConfig) -> None:
        for name in ("tensor", "replicas"):
            if getattr(self, name) != 1:
                raise ValueError(
                    f"{name} is {getattr(self, name)}, but model "
                    f"'{self.model}' has experts, with which it has to be 1"
                )
        if config.num_experts % self.experts:
            raise ValueError(
                f"experts {self.experts} does not divide the "
                f"{config.num_experts} experts of model '{self.model}'"
            )
        if not 1 <= self.imbalance <= self.experts:
            raise ValueError(
                f"imbalance {self.imbalance} is not between 1 and the "
                f"{self.experts} ranks of the experts"
            )

    def _check_dense(self, config: LlamaConfig) -> None:
        for name in ("experts", "imbalance"):
            if getattr(self, name) != 1:
                raise ValueError(
                    f"{name} is {getattr(self, name)}, but model "
                    f"'{self.model}' has no experts"
                )
        check_divides(config, self.sequence, self.tensor)


_COUNTS = (
    "shards",
    "replicas",
    "tensor",
    "experts",
    "sequence",
    "batch",
    "layers",
)


def trace_step(options: StepOptions, rank: int = 0) -> TracedStep:
    """Trace the step that ``options`` describes, as ``rank`` runs it.

    The mesh has a dimension ``dp``, before it ``replicate`` if there are
    several replicas, and behind it ``tp`` if several ranks share a tensor, and
    ``ep`` if experts are spread over several.
    """
    sizes = {"dp": options.shards}
    if options.replicas > 1:
        sizes = {"replicate": options.replicas, **sizes}
    if options.tensor > 1:
        sizes["tp"] = options.tensor
    if options.experts > 1:
        sizes["ep"] = options.experts
    make = functools.partial(_sharded, options)
    return trace.trace_step(make, sizes, options, rank)


def trace_module(options: StepOptions, gpus_per_node: int = 8) -> ir.Module:
    """Trace a step and import it.

    The module's functions are ``@forward`` and ``@backward``, or ``@joint``,
    and ``@optimizer`` if it is asked for.
    """
    return trace.import_step(trace_step(options), gpus_per_node)


def _sharded(options: StepOptions, mesh: DeviceMesh) -> Sharded:
    shape = (options.batch, options.sequence)
    batch = [torch.empty(shape, dtype=torch.int64) for _ in range(2)]
    if options.model in EXPERTS_CONFIGS:
        experts = EXPERTS_CONFIGS[options.model].with_layers(options.layers)
        model = ExpertsModel(experts, options.sequence)
        everyone = mesh if options.experts == 1 else mesh_of_all(mesh)
        spread = dict.fromkeys(spread_experts(model, mesh, everyone), "ep")
        hints = functools.partial(expected_sizes, imbalance=options.imbalance)
        return Sharded(model, batch, spread, [everyone], hints)
    config = CONFIGS[options.model].with_layers(options.layers)
    model = Llama(config, options.sequence, options.tensor > 1)
    if options.tensor > 1:
        spread = dict.fromkeys(parallelize(model, mesh), "tp")
        return Sharded(model, batch, spread)
    shard_parameters(model, mesh)
    return Sharded(model, batch)


def _parser() -> argparse.ArgumentParser:
    parser = tracing.make_parser(
        "examples/models/torch_step.py",
        "Trace one training step of a model whose parameters are "
        "sharded over data-parallel ranks (gathered in bfloat16, gradients "
        "reduced in float32), with tensor or expert parallelism inside, on "
        "fake tensors and without a GPU, and write it as a commsched module.",
        (*CONFIGS, *EXPERTS_CONFIGS),
    )
    _add_parallelism(parser)
    tracing.add_size_arguments(
        parser, StepOptions.sequence, StepOptions.batch, holder="rank"
    )
    add = parser.add_argument
    add(
        "--gpus-per-node",
        type=positive,
        default=8,
        metavar="N",
        help="consecutive ranks that share a node",
    )
    add(
        "--joint",
        action="store_true",
        help="write forward and backward as one function, @joint",
    )
    add(
        "--partitioner",
        choices=PARTITIONERS,
        default="min-cut",
        help="how to split the joint graph: min-cut saves the fewest bytes "
        "and repeats pointwise operations, default saves what eager "
        "execution would",
    )
    add(
        "--reshard-after-forward",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="gather parameters again in the backward rather than keep them",
    )
    add(
        "--offload",
        type=positive,
        metavar="MIB",
        help="send saved activations of at least this size to the host",
    )
    add(
        "--optimizer",
        choices=OPTIMIZERS,
        default=StepOptions.optimizer,
        help="write the optimizer as a function, @optimizer, and what feeds "
        "each function's arguments",
    )
    add(
        "--clip-grad-norm",
        type=float,
        metavar="F",
        help="scale gradients down to this norm over all parameters and ranks",
    )
    return parser


def _add_parallelism(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--dp",
        dest="shards",
        default=1,
        type=positive,
        metavar="N",
        help="ranks that every parameter is sharded over",
    )
    add(
        "--replicas",
        type=positive,
        default=1,
        metavar="N",
        help="replicas of the sharded model (hybrid sharding): gradients are "
        "reduce-scattered within a replica and all-reduced across them",
    )
    add(
        "--tp",
        dest="tensor",
        type=positive,
        default=1,
        metavar="N",
        help="consecutive ranks that share the tensors of a data-parallel "
        "rank: tensor and sequence parallelism",
    )
    add(
        "--ep",
        dest="experts",
        type=positive,
        default=1,
        metavar="N",
        help="consecutive ranks that the experts of a model are spread over, "
        "each with a batch of its own; --dp ranks share each expert, and all "
        "ranks share each other parameter",
    )
    add(
        "--imbalance",
        type=float,
        default=StepOptions.imbalance,
        metavar="F",
        help="what the experts of the traced rank are chosen for, by what "
        "those of an average rank are; sizes that the router decides are "
        "expected ones",
    )


def _trace(args: argparse.Namespace) -> ir.Module:
    options = StepOptions(**tracing.given(args, StepOptions))
    return trace_module(options, args.gpus_per_node)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    return tracing.run(_parser(), argv, _trace, (ValueError,))


if __name__ == "__main__":
    sys.exit(main())
