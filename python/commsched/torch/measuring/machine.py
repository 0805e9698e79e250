# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rates of a processor, for operators that no profile has.

The passes price what is not measured, such as the copies into and out of
merged collectives, by the fields of a target (docs/guide/cost-model.md,
"Targets"). For an accelerator these are those of a preset; for a processor
they are measured here.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Callable, Iterable, Mapping, Optional

import torch
import torch.distributed as dist

from commsched.torch.measuring.collectives import measure_slowdown
from commsched.torch.measuring.operators import own_clock

_COPIED_BYTES = 64 << 20
_MATRIX_SIZE = 512
_SMALL_CALLS = 200

#: Seconds of one thread that show whether a machine is busy, and the part of its
#: share of the cores that it has on one that is not.
_LOOK, _UNDISTURBED = 0.1, 0.9
_SLOWEST_IS_LARGEST = ("compute_slowdown", "kernel_launch_ns")
_RATES = {
    "peak_tflops_f64": torch.float64,
    "peak_tflops_f32": torch.float32,
    "peak_tflops_bf16": torch.bfloat16,
}


def measure_target(
    device: Optional[torch.device] = None,
    repeats: int = 5,
    group: Optional[dist.ProcessGroup] = None,
) -> dict[str, float]:
    """Returns the fields of a profile's `target`: GB/s of memory, TFLOP/s of
    matrix products, and nanoseconds of the smallest operator; with a `group`,
    whose ranks all call this, what computation loses beside its collectives.
    Empty for a device that a preset describes."""
    if device is not None and device.type != "cpu":
        return {}
    source = torch.ones(_COPIED_BYTES // 4)
    copy = torch.empty_like(source)
    copied = _seconds(lambda: copy.copy_(source), repeats)
    small = torch.ones(16)

    def run_small() -> None:
        for _ in range(_SMALL_CALLS):
            torch.neg(small)

    fields = {
        # A copy reads and writes.
        "memory_gb_s": 2 * _COPIED_BYTES / copied / 1e9,
        "memory_efficiency": 1.0,
        "compute_efficiency": 1.0,
        "kernel_launch_ns": _seconds(run_small, repeats) / _SMALL_CALLS * 1e9,
        # As the next wider type that has a rate.
        "peak_tflops_f16": 0.0,
        "peak_tflops_f8": 0.0,
        "peak_tops_i8": 0.0,
    }
    for field, element in _RATES.items():
        matrix = torch.ones(_MATRIX_SIZE, _MATRIX_SIZE, dtype=element)
        product = _seconds(lambda: torch.mm(matrix, matrix), repeats)
        fields[field] = 2 * _MATRIX_SIZE**3 / product / 1e12
    if group is not None:
        fields["compute_slowdown"] = measure_slowdown(group, repeats)
    return {field: float(f"{fields[field]:.4g}") for field in sorted(fields)}


def is_busy() -> bool:
    """Whether other programs take processor time from the ranks of this machine,
    which all call this at once."""
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE") or dist.get_world_size())
    share = min(1.0, len(os.sched_getaffinity(0)) / ranks)
    begin, own = time.perf_counter(), time.thread_time()
    while (passed := time.perf_counter() - begin) < _LOOK:
        pass
    return time.thread_time() - own < _UNDISTURBED * share * passed


def slowest(targets: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Returns the target of the ranks together: the longest launch, the largest
    slowdown, and the lowest of every other field."""
    merged: dict[str, float] = {}
    for target in targets:
        for field, value in target.items():
            choose = max if field in _SLOWEST_IS_LARGEST else min
            merged[field] = choose(merged.get(field, value), value)
    return merged


def _seconds(run: Callable[[], object], repeats: int) -> float:
    """The median time of `run`, after one call that warms up."""
    clock, times = own_clock(), []
    for _ in range(repeats + 1):
        begin = clock()
        run()
        times.append(clock() - begin)
    return statistics.median(times[1:]) / 1e9
