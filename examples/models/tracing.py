# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the commands that trace a model's step share, whatever its framework:
``jax_step.py`` and ``torch_step.py``."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from commsched import opt
from commsched.output import (
    add_output_argument,
    check_output,
    error_text,
    positive,
    write_module,
)


def make_parser(
    program: str, description: str, models: Iterable[str]
) -> argparse.ArgumentParser:
    """Returns a parser of the options of `python program`, which has
    `--model`, one of `models`, so far."""
    parser = argparse.ArgumentParser(
        prog=f"python {program}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--model", required=True, choices=list(models), help="model to trace"
    )
    return parser


def add_size_arguments(
    parser: argparse.ArgumentParser, sequence: int, batch: int, holder: str
) -> None:
    """Adds the sizes of the step, with those defaults. `holder` is what has a
    batch of its own: a device or a rank."""
    parser.add_argument(
        "--seq",
        dest="sequence",
        type=positive,
        default=sequence,
        metavar="N",
        help="tokens of a sequence",
    )
    parser.add_argument(
        "--batch",
        type=positive,
        default=batch,
        metavar="N",
        help=f"sequences of one {holder}",
    )
    parser.add_argument(
        "--layers",
        type=positive,
        metavar="N",
        help="decoder layers, in place of the model's own number",
    )


def given(args: argparse.Namespace, options: type) -> dict[str, Any]:
    """Returns what a command line says of the fields of `options`."""
    return {
        field.name: getattr(args, field.name)
        for field in dataclasses.fields(options)
    }


def run(
    parser: argparse.ArgumentParser,
    argv: Sequence[str] | None,
    trace: Callable[[argparse.Namespace], object],
    errors: tuple[type[Exception], ...] = (),
) -> int:
    """Runs a command: writes the module, or its text, that `trace` returns.

    Prints what is raised of `errors`, and errors of the file and of
    commsched-opt. Returns the exit status.
    """
    add_output_argument(parser)
    args = parser.parse_args(argv)
    try:
        check_output(args.output)
        write_module(trace(args), args.output)
    except (OSError, opt.OptError, *errors) as error:
        print(f"{parser.prog}: error: {error_text(error)}", file=sys.stderr)
        return 1
    return 0
