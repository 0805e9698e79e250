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
import sys
import sysconfig
from typing import Optional

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


def _replace_process(program: str) -> None:
    path = in_package(program) or on_path(program)
    # The command of another such installation might run this one again.
    if path is None or _is_script(path):
        sys.exit(
            f"{program}: this installation of the Python package commsched "
            "has no programs, and none that CMake built is on PATH"
        )
    os.execv(path, [path, *sys.argv[1:]])


def opt() -> None:
    """The command `commsched-opt`."""
    _replace_process("commsched-opt")


def run() -> None:
    """The command `commsched-run`."""
    _replace_process("commsched-run")
