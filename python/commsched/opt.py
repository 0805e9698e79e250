# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds and runs the `commsched-opt` program.

The program is the one that the environment variable COMMSCHED_OPT names, or
else the first `commsched-opt` on PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Optional, Union

PROGRAM = "commsched-opt"
VARIABLE = "COMMSCHED_OPT"


class OptError(RuntimeError):
    """`commsched-opt` failed; the message is what it wrote to stderr."""

    def __init__(self, returncode: int, stderr: str):
        super().__init__(
            stderr.strip() or f"{PROGRAM} ended with status {returncode}"
        )
        self.returncode = returncode
        self.stderr = stderr


def find() -> Optional[str]:
    """Returns the path of `commsched-opt`, or None if there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        return shutil.which(named)
    return shutil.which(PROGRAM)


def run(module: object, *passes: str) -> str:
    """Runs `passes` on `module` and returns the text that results.

    `module` is a :class:`commsched.ir.Module` or MLIR text; `passes` are
    flags such as ``--commsched-raise-comms``. Raises FileNotFoundError if
    there is no `commsched-opt`, and OptError if it fails.
    """
    return _run(str(module).encode(), passes).decode()


def run_bytes(module: Union[bytes, object], *passes: str) -> bytes:
    """As :func:`run`, for bytecode: takes it as bytes, and gives it with the
    flag ``--emit-bytecode``."""
    data = module if isinstance(module, bytes) else str(module).encode()
    return _run(data, passes)


def _run(data: bytes, passes) -> bytes:
    program = find()
    if program is None:
        where = os.environ.get(VARIABLE)
        raise FileNotFoundError(
            f"{VARIABLE} is '{where}', which is no program"
            if where
            else f"no {PROGRAM} on PATH, and {VARIABLE} is not set"
        )
    done = subprocess.run(
        [program, *passes, "-"], input=data, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise OptError(done.returncode, done.stderr.decode(errors="replace"))
    return done.stdout
