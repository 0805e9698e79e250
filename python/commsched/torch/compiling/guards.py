# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What happens where PyTorch has changed: nothing is scheduled, with one warning,
and steps run as without this package."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import commsched
import torch

from commsched.torch import private
from commsched.torch.compiling import records
from commsched.torch.compiling.options import Options

#: The groups of names that every way in needs.
COMMON = ("graphs", "compiling", "ranks")


class ScheduleError(RuntimeError):
    """A graph could not be scheduled, and `strict` is set."""


def find_obstacle(options: Options, *groups: str) -> str:
    """Returns why nothing can be scheduled with this PyTorch, and warns of it once;
    "" if nothing is in the way.

    `groups` are those of `private.names` that are needed beside COMMON. With
    `options.strict` an obstacle is a ScheduleError.
    """
    missing = private.names.missing(*COMMON, *groups)
    if missing is None:
        return ""
    message = (
        f"PyTorch {torch.__version__} has other interfaces than CommSched "
        f"{commsched.__version__} uses, and nothing is scheduled: {missing}"
    )
    if options.strict:
        raise ScheduleError(message)
    records.warn_once(message, cause="names of PyTorch")
    return missing


@contextlib.contextmanager
def guarded(what: str, options: Options) -> Iterator[None]:
    """Ends the block on an exception, with a warning that CommSched does not do
    `what`. With `options.strict` it is a ScheduleError."""
    try:
        yield
    except ScheduleError:
        raise
    except Exception as error:
        message = f"CommSched does not {what}: {type(error).__name__}: {error}"
        if options.strict:
            raise ScheduleError(message) from error
        records.warn_once(message)
