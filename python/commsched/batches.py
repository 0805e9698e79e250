# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chooses the number of micro-batches of a step together with its schedule.

The same batch in fewer or more micro-batches is another program, with other
shapes, so that only what makes the step can divide it: a frontend traces it for
a part of the batch, in a loop or with gradients that it adds up. Each number
that is allowed goes through the same passes, with the same memory, and the
shortest step that fits is taken.
"""

from __future__ import annotations

import warnings
from typing import Callable, Iterable, NamedTuple, Optional

from . import opt


class Trial(NamedTuple):
    """What a step takes in so many micro-batches."""

    micro_batches: int
    step_time_ns: int
    peak_memory_bytes: int
    #: By how much it is over the budget of the passes; 0 if it fits.
    over_bytes: int

    def __str__(self) -> str:
        plural = "es" if self.micro_batches > 1 else ""
        over = f", {self.over_bytes} over the budget" if self.over_bytes else ""
        return (
            f"{self.micro_batches} micro-batch{plural}: {self.step_time_ns} ns, "
            f"{self.peak_memory_bytes} bytes{over}"
        )


class OverBudget(RuntimeError):
    """The step fits in no number of micro-batches; the message has them all."""

    def __init__(self, trials: list[Trial]):
        super().__init__(
            "no number of micro-batches fits into the memory: "
            + "; ".join(map(str, trials))
        )
        self.trials = trials


class Choice(NamedTuple):
    """The step that was chosen, as text, and all that were tried."""

    micro_batches: int
    text: str
    trials: list[Trial]


def choose(
    make: Callable[[int], object],
    numbers: Iterable[int],
    *passes: str,
    timeout: Optional[float] = None,
) -> Choice:
    """Runs `passes` on what `make` gives for each of `numbers`, and returns the
    shortest step that is within their budget, of equal ones that with the
    fewest micro-batches.

    `make(n)` returns the step of the same batch in n micro-batches, as
    :func:`commsched.opt.run` takes it: a module whose first function is the
    step. `passes` have a budget in bytes. Warnings are those about the step
    that is chosen. `timeout` is in seconds, for each number.

    Raises OverBudget if nothing fits, ValueError if there are no numbers, and
    what :func:`commsched.opt.run_reports` does.
    """
    runs = [_try(make(n), n, passes, timeout) for n in sorted(set(numbers))]
    if not runs:
        raise ValueError("no number of micro-batches is allowed")
    trials = [trial for trial, _, _ in runs]
    fitting = [run for run in runs if not run[0].over_bytes]
    if not fitting:
        raise OverBudget(trials)
    best, text, caught = min(fitting, key=lambda run: run[0].step_time_ns)
    for warning in caught:
        warnings.warn(warning, stacklevel=2)
    return Choice(best.micro_batches, text, trials)


def _try(module, number, passes, timeout):
    """The trial, its text, and the warnings about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = opt.run_reports(module, *passes, timeout=timeout)
    # That a part is over its share, which is estimated, is not decisive.
    step = next(iter(run.reports.after.values()))
    trial = Trial(
        number,
        step["step_time_ns"],
        step["peak_memory_bytes"],
        step.get("over_budget", 0),
    )
    return trial, run.text, [warning.message for warning in caught]
