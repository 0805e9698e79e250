# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched for JAX: schedules the collectives of a lowered function.

    lowered = jax.jit(step).lower(*args)
    scheduled = commsched.jax.schedule(lowered, memory_budget="5%")
    print(scheduled.report)
    step = scheduled.compile()

* :func:`schedule` takes what `jax.jit(f).lower(...)` gives, and gives a
  :class:`Scheduled`, which compiles and runs in its place.
* :class:`Options` are its options.
* `python -m commsched.jax.convert` makes of StableHLO and HLO in any form what
  commsched-opt reads.
"""

try:
    import jax as _jax  # noqa: F401
except ImportError as error:
    # With the name, `python -m` prints this one line, without a traceback.
    raise ImportError(
        "commsched.jax needs JAX; install it with 'pip install commsched[jax]'",
        name=__name__,
    ) from error

from commsched.jax.options import Options
from commsched.jax.report import Report
from commsched.jax.schedule import Scheduled, ScheduleError, schedule
from commsched.options import OptionsError

__all__ = [
    "Options",
    "OptionsError",
    "Report",
    "Scheduled",
    "ScheduleError",
    "schedule",
]
