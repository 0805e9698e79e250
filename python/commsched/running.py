# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What frontends check before they run commsched-opt, and how they report
that it failed."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator

from commsched import opt
from commsched.program import ProgramError

# A note of a diagnostic, but for MLIR's own on the operation as it is printed.
_NOTE = re.compile(r"\A\S+:\d+:\d+: note: (?!see current operation)(.*)\Z")
_LOCATION = re.compile(r"\A(<stdin>|-|loc\([^)]*\)):(\d+:\d+: )? ?")


class RunError(RuntimeError):
    """commsched-opt cannot be run, or it failed; says what to do about it."""


def check_program() -> None:
    """Raises RunError unless there is a commsched-opt of this version."""
    try:
        opt.check_version()
    except FileNotFoundError as error:
        raise RunError(
            f"{error}; build commsched-opt, or let {opt.VARIABLE} name it"
        ) from error
    except (OSError, opt.VersionError, opt.OptError) as error:
        raise RunError(str(error)) from error


@contextlib.contextmanager
def run_errors() -> Iterator[None]:
    """Makes a RunError of whatever goes wrong when commsched-opt runs."""
    try:
        yield
    except opt.OptError as error:
        raise RunError(_why(error)) from error
    except (opt.OptTimeout, ProgramError) as error:
        raise RunError(f"'{opt.find()}': {error}") from error
    except FileNotFoundError as error:
        raise RunError(
            f"'{opt.find()}' did not write what it was asked for"
        ) from error


def _why(error: opt.OptError) -> str:
    """Returns why commsched-opt failed, in one line, notes included; where in
    the module is of no use to a reader who never sees it."""
    if error.returncode < 0:
        return f"'{opt.find()}' was ended by signal {-error.returncode}"
    lines = [line for line in error.stderr.splitlines() if line.strip()]
    first = _LOCATION.sub("", lines[0]) if lines else str(error)
    of_first = itertools.takewhile(lambda x: ": error: " not in x, lines[1:])
    notes = [found[1] for found in map(_NOTE.match, of_first) if found]
    return "; ".join([f"'{opt.find()}' failed: {first}", *notes])
