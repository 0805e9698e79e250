# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Make of StableHLO or HLO, in any form, what commsched-opt reads.

Run as ``python -m commsched.jax.convert IN -o OUT``. jaxlib reads IN; OUT is
StableHLO in MLIR's generic form.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence

from commsched import opt
from commsched.forms import Form, form_of
from commsched.jax import private
from commsched.jax.reading import read_module
from commsched.jax.schedule import module_text
from commsched.output import (
    add_output_argument,
    check_output,
    error_text,
    write_module,
)


class ConvertError(ValueError):
    """A program cannot be read; says which, as what, and what helps."""


#: By what a program was read as: what to try.
_REMEDIES = {
    Form.BYTECODE: "write the module as text with the program that wrote it; "
    "it may use dialects that jaxlib does not have",
    Form.ARTIFACT: "it may be of a newer version of StableHLO: install a newer "
    "jaxlib, or write it for an older version",
    Form.TEXT: "StableHLO is MLIR text or bytecode, and HLO text begins with "
    "'HloModule'",
    Form.HLO_TEXT: "it may be of another version of XLA: dump the module as a "
    "proto (--xla_dump_hlo_as_proto)",
    Form.HLO_PROTO: "what is not text or MLIR bytecode has to be an "
    "HloModuleProto, an HloProto or an HloSnapshot",
}


def convert_text(data: bytes, name: str = "-") -> str:
    """Returns a program as commsched-opt reads it: StableHLO in generic form,
    with locations. `data` is what a file holds, `name` its name.

    Raises ConvertError. A mistake in the program that ends jaxlib's parser ends
    this process; :func:`convert_apart` is for programs of unknown origin.
    """
    form = form_of(data)
    if not data.strip():
        raise ConvertError(f"{name}: it is empty")
    try:
        if form is Form.OWN_BYTECODE:
            flags = ("--mlir-print-op-generic", "--mlir-print-debuginfo")
            return opt.run(data, *flags)
        return module_text(read_module(data))
    except private.ParseError as error:
        raise ConvertError(_unreadable(name, form, str(error))) from error


def _unreadable(name: str, form: Form, why: str) -> str:
    return (
        f"{name}: cannot be read as {form.value}: {why.strip()}\n"
        f"{name}: {_REMEDIES[form]}"
    )


def convert_apart(data: bytes, name: str = "-") -> str:
    """As :func:`convert_text`, in a process of its own: jaxlib ends its process
    at some mistakes in a program."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with warnings.catch_warnings():
            # JAX warns of fork in general; this process runs nothing of it.
            warnings.simplefilter("ignore", RuntimeWarning)
            child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            os._exit(_run_child(data, name, output, errors))
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            return _content(output)
        said = _content(errors)
        if code == 1:
            raise ConvertError(said)
        raise ConvertError(_unreadable(name, form_of(data), _last_words(said)))


def _run_child(data: bytes, name: str, output, errors) -> int:
    try:
        output.write(convert_text(data, name).encode())
        output.flush()
        return 0
    except (ConvertError, opt.OptError) as error:
        errors.seek(0)
        errors.truncate()
        errors.write(str(error).encode())
        errors.flush()
        return 1


def _content(file) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _last_words(said: str) -> str:
    """Returns what jaxlib said before it ended its process."""
    lines = [line for line in said.splitlines() if "Check failed: " in line]
    if not lines:
        return "jaxlib ended its process"
    return "jaxlib ended its process: " + lines[0].partition("] ")[2]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m commsched.jax.convert",
        description="Write StableHLO or MHLO (MLIR text in any form, bytecode, "
        "portable artifacts) or HLO (text or proto) as commsched-opt reads it: "
        "StableHLO in MLIR's generic form.",
    )
    parser.add_argument(
        "input", metavar="IN", help="file to read, '-' for standard input"
    )
    add_output_argument(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        check_output(args.output)
        text = convert_apart(read_file(args.input), args.input)
        write_module(text, args.output)
    except (OSError, ConvertError, opt.OptError) as error:
        sys.stderr.write(f"error: {error_text(error)}\n")
        return 1
    return 0


def read_file(path: str) -> bytes:
    """Returns what a file holds; "-" is standard input."""
    if path == "-":
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main())
