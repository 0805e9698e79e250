# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched: schedule the collectives of distributed training programs.

These modules need nothing but Python:

* :mod:`commsched.ir` writes modules of the ``commsched`` dialect as text;
* :mod:`commsched.opt` runs passes on them, as ``commsched-opt`` does;
* :mod:`commsched.batches` chooses the number of micro-batches of a step;
* :mod:`commsched.program` reads what results, operation by operation;
* :mod:`commsched.solver` schedules problems on arrays, without modules: its
  names are those of this package, too.

:mod:`commsched.torch` turns PyTorch graphs into such modules and needs the
extra ``commsched[torch]``; :mod:`commsched.jax` schedules functions that JAX has
lowered, and needs ``commsched[jax]``; :mod:`commsched.plot` draws step time
against memory, and needs ``commsched[plot]``.
"""

__version__ = "0.1.0"

from .solver import (  # noqa: E402  (needs the version)
    Problem,
    Schedule,
    lower_bound,
    read_problems,
    schedule,
    simulate,
)

__all__ = [
    "Problem",
    "Schedule",
    "lower_bound",
    "read_problems",
    "schedule",
    "simulate",
]
