# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the commands that write modules share: numbers and files."""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import sys
from collections.abc import Iterator, Mapping

from commsched import opt

#: The ending of a file name that asks for MLIR bytecode.
BYTECODE_SUFFIX = ".mlirbc"


def positive(text: str) -> int:
    """Reads a positive integer from a command line."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive integer")
    return value


def add_output_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        default="-",
        metavar="FILE",
        help="file to write, '-' for standard output; a name that ends in "
        ".mlirbc gets MLIR bytecode, which needs commsched-opt",
    )


def check_output(path: str) -> None:
    """Finds out, before the work, that `path` cannot be written: OSError."""
    if path == "-":
        return
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    folder = os.path.join(os.path.dirname(path), ".")
    existing = path if os.path.exists(path) else folder
    try:
        os.stat(existing)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    if not os.access(existing, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    if path.endswith(BYTECODE_SUFFIX) and not opt.is_available():
        opt.run("")  # Raises what says where it was looked for.


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Gives the name of a new file beside `path`, which becomes `path` at the
    end, so that no partial file has that name at any time. If the block raises
    an exception, `path` stays as it was. Raises OSError, which names `path`."""
    whole = os.path.realpath(path)
    base, ending = os.path.splitext(whole)
    temporary = f"{base}.{os.getpid()}.tmp{ending}"
    try:
        yield temporary
        os.replace(temporary, whole)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        if isinstance(error, OSError) and error.filename == temporary:
            error.filename = os.fspath(path)
        raise


def write_module(module: object, path: str) -> None:
    """Writes a module, or its text, to a file, whole or not at all. Raises
    OSError and what :func:`commsched.opt.run_bytes` does."""
    if path == "-":
        sys.stdout.write(str(module))
        sys.stdout.flush()
    elif path.endswith(BYTECODE_SUFFIX):
        flags = ("--emit-bytecode", "--strip-debuginfo")
        _write(opt.run_bytes(module, *flags), path)
    else:
        _write(str(module).encode(), path)


def _write(data: bytes, path: str) -> None:
    if os.path.exists(path) and not os.path.isfile(path):
        # A device or a pipe cannot be replaced.
        with open(path, "wb") as file:
            file.write(data)
        return
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(data)


def write_members(path: str | os.PathLike[str], members: Mapping) -> None:
    """Writes a JSON object, whole or not at all, with a line for each member
    and for each element of a list. Raises OSError."""
    lines = []
    for key, value in members.items():
        text = json.dumps(value)
        if isinstance(value, list):
            each = ",".join("\n  " + json.dumps(entry) for entry in value)
            text = f"[{each}]"
        lines.append(f"{json.dumps(key)}: {text}")
    data = "{\n" + ",\n".join(lines) + "\n}\n"
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(data.encode())


def error_text(error: Exception) -> str:
    """Returns what to print of an error of the functions above."""
    if not isinstance(error, OSError):
        return str(error)
    where = f"{error.filename}: " if error.filename else ""
    return where + (error.strerror or str(error))
