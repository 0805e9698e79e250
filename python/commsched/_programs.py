# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that a wheel has in the package, and their commands.

A wheel holds `commsched-opt` and `commsched-run` in the folder `bin` of this
package. An editable installation has only the commands: they run the programs
that come later on PATH.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from typing import Optional

from commsched.forms import needs_conversion

FOLDER = pathlib.Path(__file__).resolve().parent / "bin"


def in_package(program: str) -> Optional[str]:
    """Returns the path of the program in this package, or None."""
    path = FOLDER / program
    return str(path) if os.access(path, os.X_OK) else None


def library() -> Optional[str]:
    """Returns the path of the library in this package of which its programs
    and its extension consist, or None."""
    path = FOLDER.parent / "lib" / "libCommSchedPrograms.so"
    return str(path) if path.exists() else None


def on_path(program: str) -> Optional[str]:
    """Returns the path of the first such program on PATH, or None.

    The command of this installation does not count: it runs what is in the
    package.
    """
    command = pathlib.Path(sysconfig.get_path("scripts"), program)
    for folder in os.get_exec_path():
        path = shutil.which(program, path=folder)
        if path and not (command.exists() and command.samefile(path)):
            return path
    return None


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def _require(program: str) -> str:
    path = in_package(program) or on_path(program)
    # The command of another such installation might run this one again.
    if path is None or _is_script(path):
        sys.exit(
            f"{program}: this installation of the Python package commsched "
            "has no programs, and none that CMake built is on PATH"
        )
    return path


def opt() -> None:
    """The command `commsched-opt`. A program in a form that only jaxlib reads
    is converted first, if there is jaxlib."""
    path = _require("commsched-opt")
    arguments, name = _without_input(sys.argv[1:])
    data = None if name is None else _read(name)
    if data is not None and needs_conversion(data):
        converted = _convert(data, name)
        if converted is not None:
            name, data = "-", converted
    if name != "-":
        os.execv(path, [path, *sys.argv[1:]])
    done = subprocess.run([path, *arguments, "-"], input=data, check=False)
    sys.exit(done.returncode)


def _without_input(arguments: list) -> tuple[list, Optional[str]]:
    """Returns the arguments of commsched-opt without the file that it would
    read, and that file: "-" for standard input, or None if there is none or
    that is not certain."""
    files = [
        index
        for index, argument in enumerate(arguments)
        if argument == "-" or not argument.startswith("-")
        if arguments[max(index - 1, 0)] != "-o"
    ]
    rest = [each for i, each in enumerate(arguments) if i not in files]
    if files:
        return rest, arguments[files[0]] if len(files) == 1 else None
    asks = ("--help", "-h", "--version", "--list-passes", "--show-dialects")
    if any(argument.startswith(asks) for argument in arguments):
        return rest, None
    return rest, None if sys.stdin.isatty() else "-"


def _read(name: str) -> Optional[bytes]:
    """Returns what a file holds; None if it cannot be read, or not twice."""
    if name == "-":
        return sys.stdin.buffer.read()
    if not os.path.isfile(name):
        return None
    try:
        return pathlib.Path(name).read_bytes()
    except OSError:
        return None


def _convert(data: bytes, name: str) -> Optional[bytes]:
    """Returns the program in the generic form, or None without jaxlib."""
    try:
        from commsched.jax.convert import ConvertError, convert_apart
    except ImportError:
        return None
    try:
        return convert_apart(data, name).encode()
    except ConvertError as error:
        sys.exit(f"error: {error}")


def run() -> None:
    """The command `commsched-run`."""
    path = _require("commsched-run")
    os.execv(path, [path, *sys.argv[1:]])
