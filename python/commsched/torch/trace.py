# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a model's sharded training step as a ``commsched`` module.

Run as ``python -m commsched.torch.trace --model llama3-8b --dp 64 -o
step.mlir``; ``--help`` lists every option. The step is traced on fake tensors:
it takes neither a GPU nor the memory of the model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from commsched import ir, tracing
from commsched.output import positive
from commsched.torch import GraphSpec, ImportOptions, import_graphs
from commsched.torch.tracer import models
from commsched.torch.tracer.optimizer import GRADIENT, OPTIMIZERS
from commsched.torch.tracer.partition import PARTITIONERS
from commsched.torch.tracer.step import StepOptions, TracedStep, trace_step


def trace_module(options: StepOptions, gpus_per_node: int = 8) -> ir.Module:
    """Trace a step and import it.

    The module's functions are ``@forward`` and ``@backward``, or ``@joint``,
    and ``@optimizer`` if it is asked for.
    """
    return import_step(trace_step(options), gpus_per_node)


def import_step(step: TracedStep, gpus_per_node: int = 8) -> ir.Module:
    """Import a traced step as ``trace_module`` does."""
    specs = [_spec(step, name) for name in step.graphs]
    return import_graphs(
        specs,
        ImportOptions(
            groups=step.groups,
            ranks_per_node=gpus_per_node,
            hints=step.hints,
        ),
    )


def _spec(step: TracedStep, name: str) -> GraphSpec:
    sources = step.sources.get(name, {})
    if name != "optimizer":
        forward = step.graphs.get("forward") if name == "backward" else None
        return GraphSpec(
            name, step.graphs[name], name, forward=forward, sources=sources
        )
    roles = {
        node: None if node.endswith(f"_{GRADIENT}") else "parameter"
        for node in sources
    }
    return GraphSpec(
        name,
        step.graphs[name],
        roles=roles,
        sources=sources,
        # It is the last to use gradients, and replaces the others.
        freeable=frozenset(sources),
    )


def _parser() -> argparse.ArgumentParser:
    parser = tracing.make_parser(
        "commsched.torch.trace",
        "Trace one training step of a model whose parameters are "
        "sharded over data-parallel ranks (gathered in bfloat16, gradients "
        "reduced in float32), with tensor or expert parallelism inside, on "
        "fake tensors and without a GPU, and write it as a commsched module.",
        (*models.CONFIGS, *models.EXPERTS_CONFIGS),
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
        type=positive,
        default=1,
        metavar="N",
        help="consecutive ranks that share the tensors of a data-parallel "
        "rank: tensor and sequence parallelism",
    )
    add(
        "--ep",
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
    options = StepOptions(
        model=args.model,
        shards=args.dp,
        replicas=args.replicas,
        tensor=args.tp,
        experts=args.ep,
        imbalance=args.imbalance,
        sequence=args.seq,
        batch=args.batch,
        layers=args.layers,
        joint=args.joint,
        partitioner=args.partitioner,
        reshard_after_forward=args.reshard_after_forward,
        offload=args.offload,
        optimizer=args.optimizer,
        clip_grad_norm=args.clip_grad_norm,
    )
    return trace_module(options, args.gpus_per_node)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    return tracing.run(_parser(), argv, _trace, (ValueError,))


if __name__ == "__main__":
    sys.exit(main())
