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

from commsched import opt
from commsched.jax import private
from commsched.jax.schedule import module_text
from commsched.jax.tracer.llama import CONFIGS
from commsched.jax.tracer.step import OPTIMIZERS, StepOptions, lower_step
from commsched.output import (
    add_output_argument,
    check_output,
    error_text,
    positive,
    write_module,
)


def trace_text(options: StepOptions, locations: bool = False) -> str:
    """Returns the step as the text of a module in generic form. Raises
    ValueError for a model that the devices cannot share."""
    return module_text(private.module_of(lower_step(options)), locations)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m commsched.jax.trace",
        description="Lower one training step of a model whose parameters are "
        "sharded over devices (gathered in bfloat16, gradients reduced in "
        "float32) with jax.shard_map, and write it as a StableHLO module in "
        "generic form.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    defaults = StepOptions()
    add = parser.add_argument
    add("--model", required=True, choices=CONFIGS, help="model to trace")
    add(
        "--devices",
        required=True,
        type=positive,
        metavar="N",
        help="devices that every parameter is sharded over",
    )
    add(
        "--layers",
        type=positive,
        metavar="N",
        help="decoder layers, in place of the model's own number",
    )
    add(
        "--seq",
        type=positive,
        default=defaults.sequence,
        metavar="N",
        help="tokens of a sequence",
    )
    add(
        "--batch",
        type=positive,
        default=defaults.batch,
        metavar="N",
        help="sequences of one device",
    )
    add(
        "--scan",
        action="store_true",
        help="loop over the layers with lax.scan",
    )
    add(
        "--optimizer",
        choices=OPTIMIZERS,
        default=defaults.optimizer,
        help="update of the sharded parameters; none returns gradients",
    )
    add(
        "--locations",
        action="store_true",
        help="write where in Python each operation comes from",
    )
    add_output_argument(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    options = StepOptions(
        model=args.model,
        devices=args.devices,
        layers=args.layers,
        sequence=args.seq,
        batch=args.batch,
        scan=args.scan,
        optimizer=args.optimizer,
    )
    try:
        check_output(args.output)
        text = trace_text(options, args.locations)
        write_module(text + "\n", args.output)
    except (OSError, ValueError, opt.OptError, private.UnknownJax) as error:
        print(f"{parser.prog}: error: {error_text(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
