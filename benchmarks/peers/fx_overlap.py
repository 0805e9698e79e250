#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peer `fx`: Inductor's schedule_overlap_bucketing, the scheduler of
collectives on FX graphs, on the functions of a problem dump.

It runs unmodified, with its defaults, on the graphs of fx_standin.py, except
for

  - collective_bucketing, which it is named after;
  - custom_runtime_estimation: the costs of the dump, by fx_costs.py;
  - compute_estimator: the one that does not need a GPU. It takes the costs of
    the dump as well, and spares the pass to gather those of all ranks;
  - the memory it may add, with --memory-increase;
  - its questions about the machine, which are answered as on an H100.

The answer is written for `commsched-peers --external`.
"""

import argparse
import contextlib
import gc
import json
import signal
import sys
import time
from unittest import mock

from torch._inductor import comm_analysis
from torch._inductor.fx_passes import bucketing, overlap_scheduling
from torch.utils import _runtime_estimation

import fx_costs
import fx_standin

# What Inductor asks of the GPU, and what an H100 would answer.
MACHINE = (
    (_runtime_estimation, "get_device_tflops", lambda dtype: 989.0),
    (_runtime_estimation, "get_gpu_dram_gbps", lambda: 3350),
    (
        comm_analysis,
        "get_gpu_type",
        lambda: comm_analysis.NVIDIA_GPU_TYPE.HOPPER,
    ),
)


class TooSlow(BaseException):
    """The pass has used up its time. Nothing in it may catch this."""


def read_answer(standin):
    """The order and the buckets of the scheduled graph. A merged collective is
    its members one after the other, after the casts that it has taken in."""
    order, buckets, seen = [], [], set()
    nodes = standin.nodes
    producers = {v: i for i, node in enumerate(nodes) for v in node["results"]}
    waits = {node["start"]: i for i, node in enumerate(nodes) if node["start"] >= 0}
    kept = {node.meta.get(fx_standin.INDEX) for node in standin.graph.nodes}

    def append(index):
        if index not in seen:
            seen.add(index)
            order.append(index)

    for node in standin.graph.nodes:
        index = node.meta.get(fx_standin.INDEX)
        if index is not None:
            append(index)
        elif bucketing.get_collective_type(node):
            members = standin.find_members(node)
            if len({nodes[member]["key"] for member in members} | {-1}) != 2:
                names = ", ".join(nodes[member]["name"] for member in members)
                raise fx_standin.Unsupported(f"{names} merged, whose keys differ")
            buckets.append(members)
            for member in members:
                for value in nodes[member]["operands"]:
                    if value in producers and producers[value] not in kept:
                        append(producers[value])
            for member in members:
                append(member)
        elif bucketing.is_wait_tensor(node):
            for member in standin.find_members(node):
                append(waits[member])
    return order, buckets


def find_memory_knobs(increase):
    """The knobs for a memory increase such as "5%"; none for "default"."""
    if increase == "default":
        return {}
    # The larger of the two is what the pass allows.
    return {
        "max_memory_increase_gb": 0.0,
        "max_memory_increase_ratio": float(increase.rstrip("%")) / 100,
    }


@contextlib.contextmanager
def limited(seconds):
    """Raises TooSlow in this thread when it has used so much time."""

    def stop(*_):
        raise TooSlow

    begin = time.thread_time()
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    # Python ignores what a handler raises within a destructor.
    if time.thread_time() - begin > seconds:
        raise TooSlow


def schedule(function, increase, seconds, pre_bucketing=True):
    """The entry of the answer for one function of the dump."""
    with contextlib.ExitStack() as stack:
        for module, name, answer in MACHINE:
            stack.enter_context(mock.patch.object(module, name, answer))
        groups = stack.enter_context(fx_standin.process_groups(function["streams"]))
        standin = fx_standin.StandIn(function, groups)
        costs = fx_costs.Costs(standin)
        stack.enter_context(limited(seconds))
        gc.collect()
        gc.disable()
        stack.callback(gc.enable)
        begin = time.thread_time_ns()
        overlap_scheduling.schedule_overlap_bucketing(
            standin.module,
            collective_bucketing=True,
            custom_runtime_estimation=costs.estimate,
            compute_estimator="analytical",
            pre_bucketing_fsdp_collectives=pre_bucketing,
            **find_memory_knobs(increase),
        )
        time_ns = time.thread_time_ns() - begin
    order, buckets = read_answer(standin)
    return {
        "function": function["function"],
        "order": order,
        "buckets": buckets,
        "schedule_ms": time_ns / 1e6,
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("dump", help="what commsched-peers --dump has written")
    parser.add_argument("-o", "--output", required=True, help="file of the answer")
    parser.add_argument(
        "--memory-increase",
        default="default",
        help="over the input's peak, such as 5%%, or Inductor's default: 5%% or "
        "1 GiB, whatever is more",
    )
    parser.add_argument(
        "--timeout", type=float, default=600.0, help="processor seconds a function"
    )
    parser.add_argument(
        "--no-pre-bucketing",
        action="store_true",
        help="merge no collectives before scheduling",
    )
    options = parser.parse_args(arguments)
    with open(options.dump, encoding="utf-8") as file:
        functions = json.load(file)["functions"]
    answers = []
    for function in functions:
        try:
            answer = schedule(
                function,
                options.memory_increase,
                options.timeout,
                not options.no_pre_bucketing,
            )
        except TooSlow:
            sys.exit(f"{function['function']}: not done in {options.timeout:g} s")
        except fx_standin.Unsupported as error:
            sys.exit(f"{function['function']}: {error}")
        answers.append(answer)
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump({"functions": answers}, file)


if __name__ == "__main__":
    main()
