# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a model's sharded training step as a StableHLO module.

Run as ``python -m commsched.jax.trace --model llama3-8b --devices 64 -o
step.mlir``; ``--help`` lists every option. The step is lowered for shapes and
an abstract mesh: it takes neither the devices nor the memory of the model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from commsched import llama, tracing
from commsched.jax import private
from commsched.jax.schedule import module_text
from commsched.jax.tracer.step import OPTIMIZERS, StepOptions, lower_step
from commsched.output import positive


def trace_text(options: StepOptions, locations: bool = False) -> str:
    """Returns the step as the text of a module in generic form. Raises
    ValueError for a model that the devices cannot share."""
    return module_text(private.module_of(lower_step(options)), locations)


def _parser() -> argparse.ArgumentParser:
    parser = tracing.make_parser(
        "commsched.jax.trace",
        "Lower one training step of a model whose parameters are "
        "sharded over devices (gathered in bfloat16, gradients reduced in "
        "float32) with jax.shard_map, and write it as a StableHLO module in "
        "generic form.",
        llama.CONFIGS,
    )
    add = parser.add_argument
    add(
        "--devices",
        required=True,
        type=positive,
        metavar="N",
        help="devices that every parameter is sharded over",
    )
    tracing.add_size_arguments(
        parser, StepOptions.sequence, StepOptions.batch, holder="device"
    )
    add(
        "--scan",
        action="store_true",
        help="loop over the layers with lax.scan",
    )
    add(
        "--optimizer",
        choices=OPTIMIZERS,
        default=StepOptions.optimizer,
        help="update of the sharded parameters; none returns gradients",
    )
    add(
        "--locations",
        action="store_true",
        help="write where in Python each operation comes from",
    )
    return parser


def _trace(args: argparse.Namespace) -> str:
    options = StepOptions(
        model=args.model,
        devices=args.devices,
        layers=args.layers,
        sequence=args.seq,
        batch=args.batch,
        scan=args.scan,
        optimizer=args.optimizer,
    )
    return trace_text(options, args.locations) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    errors = (ValueError, private.UnknownJax)
    return tracing.run(_parser(), argv, _trace, errors)


if __name__ == "__main__":
    sys.exit(main())
