# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs passes on modules, as the `commsched-opt` program does.

Passes run within this process if there is the extension (commsched.native) and
it knows the flags: the passes and pipelines of CommSched and a few of MLIR.
Results and errors are those of the program. The program runs instead if

* the environment variable COMMSCHED_OPT names it,
* there is a timeout: a pass within this process cannot be ended,
* the caller asks for it with `in_process=False`: a mistake in a pass that ends
  the program would end this process,
* the extension is missing or does not know a flag.

The program is the one that COMMSCHED_OPT names, or else the one in this
package, which a wheel has, or else the first `commsched-opt` on PATH.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import warnings
from typing import Mapping, NamedTuple, Optional, Sequence, Union

from . import __version__, native
from ._programs import FOLDER, in_package, library, on_path
from .program import Program, from_json

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


class OptWarning(UserWarning):
    """A warning of `commsched-opt`, such as of a memory budget that no
    schedule meets."""


class OptTimeout(RuntimeError):
    """`commsched-opt` was ended because it took too long."""


class VersionError(RuntimeError):
    """`commsched-opt` is of another version than this package."""


# -- The program -----------------------------------------------------------


def find() -> Optional[str]:
    """Returns the path of `commsched-opt`, or None if there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        return shutil.which(named)
    return in_package(PROGRAM) or on_path(PROGRAM)


def _require() -> str:
    program = find()
    if program is None:
        where = os.environ.get(VARIABLE)
        raise FileNotFoundError(
            f"{VARIABLE} is '{where}', which is no program"
            if where
            else f"no {PROGRAM} on PATH or in this package, and {VARIABLE} is "
            "not set"
        )
    return program


def _extension():
    """Returns the extension if passes may run in it, or None."""
    return None if os.environ.get(VARIABLE) else native.find()


def is_available() -> bool:
    """Whether passes can run, within this process or in the program."""
    return find() is not None or _extension() is not None


def _state(program: str) -> tuple:
    """What changes when the file is replaced."""
    stat = os.stat(program)
    return program, stat.st_mtime_ns, stat.st_size


def version() -> Optional[str]:
    """Returns the version of CommSched that `commsched-opt` prints, or None
    if it prints none. Raises FileNotFoundError if there is no program."""
    return _version(_state(_require()))


@functools.lru_cache(maxsize=8)
def _version(state: tuple) -> Optional[str]:
    text = _call([state[0], "--version"], b"", timeout=60).decode()
    found = re.search(r"^CommSched version (\S+)$", text, re.MULTILINE)
    return found[1] if found else None


def fingerprint() -> str:
    """Returns the SHA-256 of the bytes of the program and of the extension,
    as far as they are there and may run, and of the library in this package
    that they consist of, in hexadecimal.

    With equal fingerprints equal modules get equal schedules. Raises
    FileNotFoundError if there is neither.
    """
    extension = _extension()
    files = [] if extension is None else [extension.__file__]
    if find() is not None or extension is None:
        files.append(_require())
    package = str(FOLDER.parent)
    if any(file.startswith(package) for file in files) and library():
        files.append(library())
    return _fingerprint(tuple(map(_state, files)))


@functools.lru_cache(maxsize=8)
def _fingerprint(states: tuple) -> str:
    digest = hashlib.sha256()
    for state in states:
        digest.update(pathlib.Path(state[0]).read_bytes())
    return digest.hexdigest()


def check_version() -> None:
    """Raises VersionError unless `commsched-opt` has this package's version,
    and FileNotFoundError if there is no program."""
    found = version()
    if found != __version__:
        which = f"of version {found}" if found else "of no known version"
        raise VersionError(
            f"{find()} is {which}, but the Python package commsched is of "
            f"version {__version__}: install both from one release, or let "
            f"{VARIABLE} name another program"
        )


# -- Running passes --------------------------------------------------------


def flag(name: str, options: Optional[Mapping[str, object]] = None) -> str:
    """Returns the flag that runs a pass or pipeline with options.

    Values are text, numbers or booleans; options that are None are left out.

        flag("commsched-pipeline", {"memory-budget": "5%", "bitwise": True})
    """
    given = {k: v for k, v in (options or {}).items() if v is not None}
    text = " ".join(f"{key}={_option(v)}" for key, v in given.items())
    return f"--{name}={text}" if text else f"--{name}"


def _option(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    # Braces keep spaces and commas within one value.
    return text if re.fullmatch(r"[\w./%+:@-]+", text) else "{" + text + "}"


def run(
    module: object,
    *passes: str,
    timeout: Optional[float] = None,
    in_process: bool = True,
) -> str:
    """Runs `passes` on `module` and returns the text that results.

    `module` is a :class:`commsched.ir.Module` or MLIR text; `passes` are
    flags such as ``--commsched-raise-comms``; `timeout` is in seconds. Where
    the passes run is said above. Raises OptError if they fail, OptTimeout if
    they take longer, and FileNotFoundError if there is nothing to run them.
    """
    return _run(module, passes, timeout, in_process=in_process).decode()


def run_bytes(
    module: Union[bytes, object],
    *passes: str,
    timeout: Optional[float] = None,
    in_process: bool = True,
) -> bytes:
    """As :func:`run`, for bytecode: takes it as bytes, and gives it with the
    flag ``--emit-bytecode``."""
    return _run(module, passes, timeout, in_process=in_process)


def _run(
    module: object,
    passes: Sequence[str],
    timeout: Optional[float],
    *,
    in_process: bool = True,
    wants_output: bool = True,
) -> bytes:
    data = module if isinstance(module, bytes) else str(module).encode()
    extension = _extension() if in_process and timeout is None else None
    if extension is not None:
        status, output, errors = extension.run(
            data, list(passes), wants_output
        )
        if status == "succeeded":
            _pass_warnings_on(errors)
            return output
        # The program says what is wrong with an option; the extension cannot.
        if status == "failed" or (status == "invalid option" and not find()):
            raise OptError(1, errors.decode(errors="replace"))
    discard = () if wants_output else ("-o", os.devnull)
    return _call([_require(), *passes, *discard, "-"], data, timeout)


def _check_runner(timeout: Optional[float]) -> None:
    """As :func:`check_version`, unless the passes run within this process,
    in an extension of this package's version."""
    if timeout is not None or _extension() is None or find() is not None:
        check_version()


def _call(command: list, data: bytes, timeout: Optional[float]) -> bytes:
    try:
        done = subprocess.run(
            command,
            input=data,
            capture_output=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        raise OptTimeout(
            f"{PROGRAM} has not ended after {timeout:g} s"
        ) from None
    if done.returncode != 0:
        raise OptError(done.returncode, done.stderr.decode(errors="replace"))
    _pass_warnings_on(done.stderr)
    return done.stdout


def _pass_warnings_on(diagnostics: bytes) -> None:
    """Gives the warnings among `diagnostics` as Python's, each text once."""
    text = diagnostics.decode(errors="replace")
    found = re.findall(r"^.*?: warning: (.*)$", text, re.MULTILINE)
    for message in dict.fromkeys(found):
        warnings.warn(message, OptWarning, stacklevel=4)


# -- Programs before and after ---------------------------------------------


class Reports(NamedTuple):
    """By name of a function: what `commsched-report` says of it.

    The keys of a report are those of ``docs/reference/report.md``. A function
    that cannot be simulated, such as one with a dynamic size, has none.
    """

    before: dict
    after: dict


class ProgramRun(NamedTuple):
    """What passes made of a program; `reports` is None if none were asked
    for."""

    before: Program
    after: Program
    reports: Optional[Reports]


def run_programs(
    module: Union[bytes, object],
    *passes: str,
    first: Sequence[str] = (),
    reports: bool = False,
    timeout: Optional[float] = None,
) -> ProgramRun:
    """Runs `passes` once, and returns the program before and after them.

    `module` is as for :func:`run` or bytecode. `first` are flags of passes
    that run earlier: the program before is what they leave. `reports` asks for
    reports on both. `timeout` is in seconds.

    Raises FileNotFoundError if there is no `commsched-opt`, VersionError if it
    is of another version than this package, OptError if it fails, OptTimeout if
    it takes longer, and ProgramError if it writes what cannot be read.
    """
    _check_runner(timeout)
    with tempfile.TemporaryDirectory(prefix="commsched-") as name:
        folder = pathlib.Path(name)
        _run(
            module,
            [
                *first,
                *_exports(folder, "before", reports),
                *passes,
                *_exports(folder, "after", reports),
            ],
            timeout,
            wants_output=False,
        )
        return ProgramRun(
            from_json((folder / "before.json").read_bytes()),
            from_json((folder / "after.json").read_bytes()),
            _both_reports(folder) if reports else None,
        )


class ReportedText(NamedTuple):
    """The text that passes made of a module, and the reports."""

    text: str
    reports: Reports


def run_reports(
    module: Union[bytes, object],
    *passes: str,
    first: Sequence[str] = (),
    last: Sequence[str] = (),
    timeout: Optional[float] = None,
) -> ReportedText:
    """As :func:`run_programs`, but returns the text after the flags `last`,
    which follow the second report, in place of the programs."""
    _check_runner(timeout)
    with tempfile.TemporaryDirectory(prefix="commsched-") as name:
        folder = pathlib.Path(name)
        flags = [
            *first,
            _report_flag(folder, "before"),
            *passes,
            _report_flag(folder, "after"),
            *last,
        ]
        text = _run(module, flags, timeout).decode()
        return ReportedText(text, _both_reports(folder))


def _exports(folder: pathlib.Path, when: str, reports: bool) -> list:
    flags = [flag("commsched-export-json", {"file": folder / f"{when}.json"})]
    return [*flags, _report_flag(folder, when)] if reports else flags


def _report_flag(folder: pathlib.Path, when: str) -> str:
    output = {"format": "json", "output": folder / f"{when}.report"}
    return flag("commsched-report", output)


def _both_reports(folder: pathlib.Path) -> Reports:
    def read(when: str) -> dict:
        lines = (folder / f"{when}.report").read_text("utf-8").splitlines()
        return {report["function"]: report for report in map(json.loads, lines)}

    return Reports(read("before"), read("after"))
