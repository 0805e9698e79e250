# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared by the benchmarks that compare schedulers step by step."""

import argparse
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failure(Exception):
    """A step could not be traced or measured; the text says why."""


def run(command: list, limit: float | None = None, **options) -> str:
    """The output of a program, which may take `limit` seconds."""
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise Failure(f"not done in {limit:g} s") from error
    if result.returncode:
        lines = result.stderr.strip().splitlines()
        raise Failure(lines[-1] if lines else f"status {result.returncode}")
    return result.stdout


def make_parser(description: str) -> argparse.ArgumentParser:
    """The options that name programs and steps."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    add = parser.add_argument
    built = ROOT / "build" / "bin"
    add("--tool", default=str(built / "commsched-peers"))
    add("--opt", default=str(built / "commsched-opt"))
    add("--python", default=sys.executable, help="one that has PyTorch")
    add("--steps", default=".", help="only the steps whose label this matches")
    return parser


def compare_in_folder(
    compare: Callable[[argparse.Namespace, pathlib.Path], None],
    options: argparse.Namespace,
) -> int:
    """Calls `compare` with a temporary folder. The exit status."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            compare(options, pathlib.Path(folder))
    except (Failure, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
