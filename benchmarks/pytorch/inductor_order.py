#!/usr/bin/env python3
# Part of the CommSched project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compare ways to make Inductor keep a schedule's order.

Compiles the forward and backward of a small sharded language model on a fake
process group, in each way, and counts for each graph

  inversions  pairs of starts, waits and external calls that run in another
              order than CommSched's, read from Inductor's scheduler
  moved       kernels that run on another side of a start or wait than the
              last FX node that they compute
  kernels     generated kernels, beside those of Inductor without CommSched

Kernels are generated and not compiled. Prints a table in Markdown.
"""

import argparse
import bisect
import pathlib
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))

import torch  # noqa: E402
from torch._inductor import config  # noqa: E402
from torch._inductor.custom_graph_pass import CustomGraphPass  # noqa: E402
from torch._inductor.scheduler import Scheduler  # noqa: E402
from torch.utils._ordered_set import OrderedSet  # noqa: E402

import commsched.torch as cs  # noqa: E402
from commsched.torch.private import scheduler as private_scheduler  # noqa: E402
from commsched.torch.tracer.mesh import fake_mesh  # noqa: E402
from generated_code import EXTERNAL, without_compiler  # noqa: E402
from language_model import Model  # noqa: E402

PASSES = ("_pre_fusion_custom_pass", "_post_fusion_custom_pass")
PRECISIONS = {
    "f32": cs.MixedPrecision(torch.float32, torch.float32),
    "bf16": cs.MixedPrecision(torch.bfloat16, torch.float32),
}


class Chained(CustomGraphPass):
    """Runs a pass, then chains starts, waits and external calls with
    Inductor's control dependences."""

    def __init__(self, schedule):
        self.schedule = schedule

    def uuid(self):
        return None

    def __call__(self, graph):
        from torch._inductor.fx_passes.control_dependencies import (
            preserve_node_ordering,
        )

        self.schedule(graph)
        kept = [node for node in graph.nodes if _keeps_place(node)]
        preserve_node_ordering(
            graph,
            {b: OrderedSet([a]) for a, b in zip(kept, kept[1:])},
        )


def _keeps_place(node):
    space, _, name = str(node.target).partition(".")
    return node.op == "call_function" and (
        space == "_c10d_functional" or name.partition(".")[0] in EXTERNAL
    )


def ways(schedule):
    """Returns the options of Inductor for each way; `schedule` are this
    package's own."""
    graph_pass = schedule["post_grad_custom_post_pass"][0]
    bare = {k: v for k, v in schedule.items() if k not in PASSES}
    peak = {**bare, "reorder_for_peak_memory": True}
    sort = {
        "reorder_for_compute_comm_overlap": True,
        "reorder_for_compute_comm_overlap_passes": [
            private_scheduler.sort_by_graph
        ],
    }
    control = {"post_grad_custom_post_pass": [Chained(graph_pass)]}
    return {
        "Inductor alone": {},
        "nothing done": peak,
        "no peak-memory sort": bare,
        "sort at the end": {**peak, **sort},
        "control dependences": {**bare, **control},
        "control dependences, sort": {**bare, **control, **sort},
        "pins, sort (CommSched)": schedule,
    }


class Reader:
    """Reads what Inductor's scheduler ends with."""

    def __init__(self):
        self.graphs = []
        codegen, init = Scheduler.codegen, Scheduler.__init__

        def read(scheduler):
            self.graphs[-1].update(count(scheduler.nodes))
            return codegen(scheduler)

        def timed(scheduler, nodes):
            start = time.process_time()
            init(scheduler, nodes)
            self.graphs.append({"ms": (time.process_time() - start) * 1e3})

        Scheduler.codegen, Scheduler.__init__ = read, timed


def count(nodes):
    """Returns the columns of the table for the nodes of one graph."""
    place = private_scheduler.places(nodes)
    kept = [private_scheduler.keeps_place(node) for node in nodes]
    fixed = [p for p, k in zip(place, kept) if k]
    inversions = sum(
        a > b for i, a in enumerate(fixed) for b in fixed[i + 1 :]
    )
    ordered = sorted(fixed)
    passed = moved = kernels = 0
    for p, k, node in zip(place, kept, nodes):
        if k:
            passed += 1
        elif not node.is_extern() and not is_nop(node):
            kernels += 1
            moved += bisect.bisect(ordered, p) != passed
    return {
        "scheduled": private_scheduler.is_scheduled(),
        "inversions": inversions,
        "moved": moved,
        "kernels": kernels,
    }


def is_nop(node):
    return type(node).__name__ == "NopKernelSchedulerNode"


def run(layers, precision, buckets, names):
    """Yields (name, forward's columns, backward's columns)."""
    with fake_mesh(8) as mesh, without_compiler():
        model = Model(layers)
        cs.shard_parameters(model, mesh, PRECISIONS[precision])
        tokens = torch.zeros(2, 8, dtype=torch.long)
        schedule = cs.inductor_options(buckets=buckets)
        for name, options in ways(schedule).items():
            if names and name not in names:
                continue
            torch._dynamo.reset()
            reader.graphs.clear()
            with config.patch(force_disable_caches=True):
                torch.compile(model, options=options)(tokens).backward()
            if options and not all(g["scheduled"] for g in reader.graphs):
                raise SystemExit(f"{name}: a graph was not scheduled")
            yield name, *reader.graphs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--precision", nargs="*", default=list(PRECISIONS))
    parser.add_argument("--buckets", nargs="*", default=["off", "auto"])
    parser.add_argument("--way", nargs="*", help="only these")
    args = parser.parse_args()
    torch.set_num_threads(1)
    # Ways that undo the schedule are the point here.
    warnings.simplefilter("ignore", cs.CommSchedWarning)
    columns = ("inversions", "moved", "kernels", "ms")
    print("| model | way | " + " | ".join(columns) + " |")
    print("| --- " * (2 + len(columns)) + "|")
    for layers in args.layers:
        for precision in args.precision:
            for buckets in args.buckets:
                label = f"{layers} layers, {precision}, buckets {buckets}"
                for row in run(layers, precision, buckets, args.way):
                    name, forward, backward = row
                    cells = [
                        f"{forward[c]:.0f} + {backward[c]:.0f}"
                        for c in columns
                    ]
                    print(f"| {label} | {name} | " + " | ".join(cells) + " |")
                    sys.stdout.flush()


reader = Reader()

if __name__ == "__main__":
    main()
