# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of traced training steps, put back."""

import copy

import pytest
import torch
from commsched import opt
from commsched.torch import GraphSpec, ImportOptions, import_graphs
from commsched.torch.compiling.options import Options
from commsched.torch.compiling.schedule import import_options
from commsched.torch.rewriting import apply_plan, make_plan
from graphs import names
from torch_step import StepOptions, trace_step

#: By what part what is promised and what is made may differ.
TOLERANCE = 0.01
KINDS = ("all-gather", "reduce-scatter", "all-reduce")


def merging(options):
    return [f"--commsched-bucket-{kind}={options}" for kind in KINDS]


#: Of the pipeline the budget is large, so that it merges.
WAYS = {
    "nothing": [],
    "copy": merging("mode=copy"),
    "coalesced": merging("mode=coalesced"),
    "blocks": merging("mode=copy plan=auto"),
    "bytes": [
        "--test-commsched-annotate-fsdp",
        "--commsched-bucket-all-gather=mode=copy multi-dtype deduplicate plan=auto",
        "--commsched-schedule",
    ],
    "small": [
        *merging("mode=coalesced cap-mb=1"),
        "--commsched-raise-comms",
        "--commsched-sink-waits",
    ],
    "peak memory": [*merging("mode=copy"), "--commsched-reorder-for-peak-memory"],
    "pipeline": ["--commsched-pipeline=memory-budget=200%"],
    "pipeline, copy": ["--commsched-pipeline=memory-budget=200% mode=copy"],
    "pipeline, bitwise": ["--commsched-pipeline=memory-budget=200% bitwise"],
}


@pytest.fixture(scope="module")
def step():
    """Sharded, with a replica: scattered gradients are all-reduced, too."""
    return trace_step(StepOptions("llama3-tiny", shards=4, replicas=2, layers=2))


def imported(step, graphs):
    specs = [
        GraphSpec(
            kind,
            gm,
            kind,
            forward=graphs["forward"] if kind == "backward" else None,
        )
        for kind, gm in graphs.items()
    ]
    options = ImportOptions(groups=step.groups, separate_copies=True)
    return str(import_graphs(specs, options))


def check_order(gm, plan):
    """The nodes that the plan names have its order, and all have values."""
    kept = names(gm)
    wanted = [e for e in plan.order if isinstance(e, str) and e in set(kept)]
    assert [name for name in kept if name in set(wanted)] == wanted
    values = [n for n in gm.graph.nodes if n.op == "call_function"]
    assert all("val" in node.meta for node in values)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_made_takes_what_was_promised(opt_program, step, way):
    """Buckets are priced as the operators that they become."""
    run = opt.run_programs(imported(step, step.graphs), *WAYS[way], reports=True)
    made, merged = {}, 0
    for kind, traced in step.graphs.items():
        plan = make_plan(run.before, run.after, kind)
        made[kind] = apply_plan(copy.deepcopy(traced), plan)
        check_order(made[kind], plan)
        merged += len(plan.buckets)
    assert bool(merged) == (way != "nothing")
    again = opt.run_programs(imported(step, made), reports=True).reports.after
    for kind, promised in run.reports.after.items():
        for key in ("step_time_ns", "peak_memory_bytes"):
            assert again[kind][key] == pytest.approx(promised[key], rel=TOLERANCE)


def test_what_is_compiled_is_imported_so(step):
    graph = step.graphs["forward"]
    assert import_options(Options(), graph).separate_copies
