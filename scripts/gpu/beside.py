# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much longer a product takes beside other work on the device.

The other work is enqueued first, on a stream of its own, and is long enough to
last until the products have ended; a sample in which it did not is repeated
with more of it. The tax is the time beside over the time alone, less one
(docs/guide/profiling.md, "Tax"). On a processor a thread stands for the stream.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any, Optional

import torch
import torch.distributed as dist

#: Collectives by the name of the dialect.
COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce")

#: Rows, results and inputs of the products, all in bf16.
PRODUCTS = ((8192, 4096, 4096), (8192, 14336, 4096), (2048, 4096, 4096))
#: Bytes that each piece of the other work moves: a full buffer.
OTHER_BYTES = 256 << 20
#: How long the products of a sample take together, in nanoseconds.
SAMPLE_NS = 30_000_000
SAMPLES = 7
#: How often the other work may turn out too short before the sample is given
#: up; there is twice as much of it each time.
ATTEMPTS = 6


class _Lane:
    """A stream for the other work, or a thread on a processor."""

    def __init__(self, device: torch.device):
        self.device = device
        self._gpu = device.type == "cuda"
        self._stream = torch.cuda.Stream(device) if self._gpu else None

    def start(self, other: Callable[[], Any], count: int) -> None:
        """Begins `count` calls of `other`; returns when the first has."""
        if self._gpu:
            begun, self._end = (
                torch.cuda.Event(enable_timing=True) for _ in "12")
            with torch.cuda.stream(self._stream):
                begun.record()
                for _ in range(count):
                    other()
                self._end.record()
            torch.cuda.current_stream().wait_event(begun)
            return
        begun = threading.Event()

        def work() -> None:
            for _ in range(count):
                other()
                begun.set()
            self._end_ns = time.perf_counter_ns()

        self._thread = threading.Thread(target=work)
        self._thread.start()
        begun.wait()

    def time(self, run: Callable[[], Any], count: int) -> float:
        """The time of `count` calls of `run` on the other stream, in ns."""
        if self._gpu:
            begin, self._stop = (
                torch.cuda.Event(enable_timing=True) for _ in "12")
            begin.record()
            for _ in range(count):
                run()
            self._stop.record()
            self._stop.synchronize()
            return begin.elapsed_time(self._stop) * 1e6
        begin = time.perf_counter_ns()
        for _ in range(count):
            run()
        self._stop_ns = time.perf_counter_ns()
        return self._stop_ns - begin

    def outlasted(self) -> bool:
        """Waits for the other work; whether it ended after the products."""
        if self._gpu:
            self._end.synchronize()
            return self._stop.elapsed_time(self._end) > 0
        self._thread.join()
        return self._end_ns > self._stop_ns


def _largest(value: float, device: torch.device) -> float:
    """The largest of the ranks' values, so that all decide alike."""
    if not dist.is_initialized():
        return value
    shared = torch.tensor([value], dtype=torch.float64, device=device)
    dist.all_reduce(shared, dist.ReduceOp.MAX)
    return shared.item()


def tax_of(
    product: Callable[[], Any],
    other: Callable[[], Any],
    device: torch.device,
    sample_ns: int = SAMPLE_NS,
    samples: int = SAMPLES,
) -> Optional[dict[str, float]]:
    """The times of `product` alone and beside `other` in nanoseconds, and the
    tax; None if the other work never outlasted the products."""
    lane = _Lane(device)
    for run in (product, other):
        lane.time(run, 3)
    one = _largest(lane.time(product, 3) / 3, device)
    count = max(3, round(sample_ns / one))
    others = 2 + round(
        2 * count * one / _largest(lane.time(other, 3) / 3, device))
    alone, beside = [], []
    attempts = 0
    while len(beside) < samples:
        _largest(0, device)  # The ranks meet.
        alone.append(lane.time(product, count) / count)
        _largest(0, device)
        lane.start(other, others)
        taken = lane.time(product, count) / count
        if _largest(not lane.outlasted(), device) == 0:
            beside.append(taken)
            continue
        attempts += 1
        others *= 2
        if attempts == ATTEMPTS:
            return None
    both = [_largest(statistics.median(t), device) for t in (alone, beside)]
    return {
        "alone_ns": round(both[0]),
        "beside_ns": round(both[1]),
        "tax": round(both[1] / both[0] - 1, 4),
    }


def _copies(device: torch.device, size: int) -> dict[str, Callable]:
    pinned = device.type == "cuda"
    source = torch.ones(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    host = torch.ones(size, dtype=torch.uint8, pin_memory=pinned)
    return {
        "copy": lambda: target.copy_(source),
        "offload": lambda: host.copy_(source, non_blocking=True),
        "reload": lambda: target.copy_(host, non_blocking=True),
    }


def _collectives(device: torch.device, size: int) -> dict[str, Callable]:
    ranks = dist.get_world_size()
    full = torch.ones(size // 2 // ranks * ranks, dtype=torch.bfloat16,
                      device=device)
    part = torch.ones(full.numel() // ranks, dtype=torch.bfloat16,
                      device=device)
    return {
        "all_gather": lambda: dist.all_gather_into_tensor(full, part),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, full),
        "all_reduce": lambda: dist.all_reduce(full),
    }


def measure_tax(device: torch.device, small: bool) -> dict[str, Any]:
    """What copies take from products, or what collectives take if a launcher
    has started ranks."""
    size = 1 << 18 if small else OTHER_BYTES
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        others = _collectives(device, size)
    else:
        others = _copies(device, size)
    rows = []
    for m, n, k in ((128, 64, 64),) if small else PRODUCTS:
        x, y = (torch.rand(shape, dtype=torch.bfloat16, device=device)
                for shape in ((m, k), (k, n)))
        result = torch.empty((m, n), dtype=torch.bfloat16, device=device)
        for kind, other in others.items():
            found = tax_of(lambda: torch.mm(x, y, out=result), other, device,
                           *(100_000, 2) if small else ())
            if found is None:
                print(f"left out {kind} beside {m}x{n}x{k}: it never lasted "
                      "as long as the products")
                continue
            rows.append({"beside": kind, "bytes": size, "ranks": ranks,
                         "m": m, "n": n, "k": k, "type": "bf16", **found})
    if dist.is_initialized():
        dist.destroy_process_group()
    if not rows:
        raise SystemExit("error: nothing could be measured beside a product")
    return {"tax": rows}
