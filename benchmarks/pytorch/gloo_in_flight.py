# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds how many collectives PyTorch's gloo carries at a time.

    python benchmarks/pytorch/gloo_in_flight.py --runs 5 --seconds 4

Each run is a job of four new processes that start so many collectives of one
kind as a case says (`one_gather`: a gather, the others reduce-scatters), wait
for them in order, and compare what they deliver with what it has to be, until
the time is over. They go to the group of all ranks, to
one of two, or in turn to both of a rank's groups in a mesh of 2 x 2. Nothing of
CommSched takes part. A line for each case says how many of its runs ended
otherwise, and how: by a signal, by a wrong value, or not at all.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

RANKS = 4

#: The mesh of each layout of groups, and how many of its dimensions are used.
LAYOUTS = {"all": ((RANKS,), 1), "pairs": ((2, 2), 1), "mesh": ((2, 2), 2)}

#: Seconds that the other ranks have to end after one failed.
GRACE = 2.0

#: Exit status of a rank that got a wrong value.
WRONG = 3

ops = torch.ops._c10d_functional


def _start(kind: str, value: torch.Tensor, group) -> torch.Tensor:
    size, name = group.size(), group.group_name
    if kind == "all_gather":
        return ops.all_gather_into_tensor(value, size, name)
    if kind == "reduce_scatter":
        return ops.reduce_scatter_tensor(value, "sum", size, name)
    if kind == "all_to_all":
        parts = [value.numel() // size] * size
        return ops.all_to_all_single(value, parts, parts, name)
    return ops.all_reduce(value, "sum", name)


def _is_right(kind: str, got: torch.Tensor, number: int, size: int) -> bool:
    sums = kind in ("reduce_scatter", "all_reduce")
    return bool((got == number * (size if sums else 1)).all())


def rank_main(rank: int, store: str, case, options) -> None:
    kind, layout, flying = case
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", store=dist.FileStore(store, RANKS), rank=rank, world_size=RANKS
    )
    shape, used = LAYOUTS[layout]
    mesh = init_device_mesh("cpu", shape)
    members = [mesh.get_group(dim) for dim in range(used)]
    go_on = torch.ones(1)
    end = time.monotonic() + options.seconds
    while go_on.item():
        started = []
        for number in range(flying):
            each = kind
            if kind == "one_gather":
                each = "reduce_scatter" if number else "all_gather"
            group = members[number % len(members)]
            value = torch.full((options.elements,), float(number + 1))
            started.append((each, group.size(), _start(each, value, group)))
            del value
        matrix = torch.ones(64, 64)
        matrix @ matrix
        for number, (each, size, result) in enumerate(started):
            if not _is_right(each, ops.wait_tensor(result), number + 1, size):
                os._exit(WRONG)
        go_on = torch.tensor([float(time.monotonic() < end)])
        dist.all_reduce(go_on, dist.ReduceOp.MIN)
    os._exit(0)


def run_job(main: Callable[[int], None], limit: float) -> str:
    """Forks the ranks, which `main` runs; returns how they ended that did not
    end well, "" if all did. Errors of those whose peer is gone do not count."""
    pids = []
    for rank in range(RANKS):
        pid = os.fork()
        if pid == 0:
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                main(rank)
            finally:
                os._exit(1)
        pids.append(pid)
    ends, pending = set(), set(pids)
    deadline = time.monotonic() + limit
    while pending:
        for pid in list(pending):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                pending.discard(pid)
                ends.add(_describe(status))
        if any(ends):
            deadline = min(deadline, time.monotonic() + GRACE)
        if pending and time.monotonic() > deadline:
            ends.add("" if any(ends) else "no end")
            for pid in pending:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            break
        time.sleep(0.01)
    ends.discard("")
    return "/".join(sorted(ends - {"error"} or ends))


def _describe(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code == WRONG:
        return "wrong value"
    return signal.Signals(-code).name if code < 0 else "error" if code else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    kinds = ["all_gather", "reduce_scatter", "all_reduce", "all_to_all"]
    add("--kinds", nargs="+", default=kinds, choices=[*kinds, "one_gather"])
    add("--layouts", nargs="+", default=list(LAYOUTS), choices=LAYOUTS)
    add("--in-flight", nargs="+", type=int, default=[1, 2, 4, 8, 20])
    add("--elements", type=int, default=4096)
    add("--runs", type=int, default=5, help="jobs of each case")
    add("--seconds", type=float, default=4, help="that a job runs")
    options = parser.parse_args()
    failed = 0
    for case in itertools.product(
        options.kinds, options.layouts, options.in_flight
    ):
        ends = collections.Counter()
        for _ in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                store = os.path.join(folder, "store")
                ends[run_job(
                    lambda rank: rank_main(rank, store, case, options),
                    4 * options.seconds + 30,
                )] += 1
        bad = options.runs - ends.pop("", 0)
        failed += bad
        how = ", ".join(f"{end} {count}" for end, count in ends.items())
        kind, layout, flying = case
        print(
            f"{kind:14} {layout:5} {flying:3} in flight: "
            f"{bad} of {options.runs} failed  {how}",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
