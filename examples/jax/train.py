# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train a small transformer as JAX compiles it and as CommSched schedules it.

    python examples/jax/train.py

trains the same model several times from the same weights on the same batches:
as `jax.jit` compiles the step, as CommSched orders it, and with merged
collectives. The parameters are sharded over eight devices: processors, if
there are no others. It compares losses and all weights in every bit, and prints
what was scheduled.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

os.environ.setdefault(
    "XLA_FLAGS", "--xla_force_host_platform_device_count=8"
)

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType  # noqa: E402

sys.path.append(str(Path(__file__).parents[1] / "models"))

import commsched.jax  # noqa: E402
import jax_llama as llama  # noqa: E402
import jax_step as step  # noqa: E402

#: By name of a run: the options of `commsched.jax.schedule`, or None.
RUNS: dict[str, Optional[dict[str, Any]]] = {
    "jax": None,
    "order": {"buckets": "off"},
    "order and buckets": {"buckets": "auto"},
}


class Run:
    """A model that trains in one way, and what was seen of it."""

    def __init__(self, name: str, options: step.StepOptions, mesh: Any):
        self.name = name
        self.state, *self.batch = step.random_arguments(options, mesh)
        lowered = step.make_step(options, mesh).lower(self.state, *self.batch)
        self.report = None
        if RUNS[name] is not None:
            scheduled = commsched.jax.schedule(lowered, **RUNS[name])
            self.report = scheduled.report
            lowered = scheduled.lowered
        self.function: Callable[..., Any] = lowered.compile()
        self.losses: list[float] = []
        self.times: list[float] = []

    def step(self) -> None:
        """Trains one step and keeps its loss and time."""
        start = time.perf_counter()
        self.state, loss = self.function(self.state, *self.batch)
        self.losses.append(float(loss))
        self.times.append(time.perf_counter() - start)

    def equals(self, other: Run) -> bool:
        """Whether all losses and the weights have equal bits."""
        mine, theirs = jax.device_get((self.state, other.state))
        pairs = zip(jax.tree.leaves(mine), jax.tree.leaves(theirs))
        return self.losses == other.losses and all(
            np.array_equal(a, b, equal_nan=True) for a, b in pairs
        )


def parse(arguments: Optional[list[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--layers", type=int, default=2)
    add("--seq", type=int, default=64, help="tokens of a sequence")
    add("--steps", type=int, default=10)
    add("--scan", action="store_true", help="loop over the layers")
    return parser.parse_args(arguments)


def main(arguments: Optional[list[str]] = None) -> int:
    given = parse(arguments)
    options = step.StepOptions(
        model="llama3-tiny",
        devices=jax.device_count(),
        layers=given.layers,
        sequence=given.seq,
        scan=given.scan,
    )
    mesh = jax.make_mesh(
        (options.devices,), (llama.AXIS,), axis_types=(AxisType.Auto,)
    )
    runs = [Run(name, options, mesh) for name in RUNS]
    for _ in range(given.steps):
        for run in runs:
            run.step()
    differs = False
    for run in runs:
        if run.report is not None:
            print(f"{run.name}\n{run.report}\n")
    for run in runs:
        equal = run.equals(runs[0])
        differs |= not equal
        milliseconds = statistics.median(run.times) * 1e3
        print(
            f"{run.name:18} loss {run.losses[-1]:.6f}, "
            f"{milliseconds:7.1f} ms a step, "
            + ("equal to jax" if equal else "different from jax")
        )
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
