# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of traced training steps, put back."""

import copy

import pytest

torch = pytest.importorskip("torch")

from commsched import opt  # noqa: E402
from commsched.torch import GraphSpec, ImportOptions, import_graphs  # noqa: E402
from commsched.torch.rewriting import Plan, apply_plan, make_plan  # noqa: E402
from commsched.torch.rewriting.dependences import Storages  # noqa: E402
from torch_step import StepOptions, trace_step  # noqa: E402

MERGE_COPY = [
    "--test-commsched-annotate-fsdp",
    "--commsched-bucket-all-gather=mode=copy multi-dtype deduplicate plan=auto",
    "--commsched-bucket-reduce-scatter=mode=copy plan=auto",
    "--commsched-schedule",
]
MERGE_COALESCED = [
    "--commsched-bucket-all-gather=mode=coalesced cap-mb=1",
    "--commsched-bucket-reduce-scatter=mode=coalesced cap-mb=1",
    "--commsched-raise-comms",
    "--commsched-sink-waits",
]
HYBRID = [
    "--commsched-bucket-reduce-scatter=mode=copy",
    "--commsched-bucket-all-reduce=mode=copy",
    "--commsched-reorder-for-peak-memory",
]


@pytest.fixture(scope="module")
def steps():
    """By replicas: the step, and its module's text."""
    found = {}
    for replicas in (1, 2):
        step = trace_step(
            StepOptions("llama3-tiny", shards=4, replicas=replicas, layers=2)
        )
        forward = step.graphs["forward"]
        specs = [
            GraphSpec(
                kind, gm, kind, forward=forward if kind == "backward" else None
            )
            for kind, gm in step.graphs.items()
        ]
        options = ImportOptions(groups=step.groups)
        found[replicas] = step, str(import_graphs(specs, options))
    return found


def peak(gm):
    """Returns the most bytes that are live at once, without the inputs."""
    storages, last, sizes = Storages(), {}, {}
    nodes = list(gm.graph.nodes)
    inputs = set()
    for index, node in enumerate(nodes):
        storages.visit(node)
        for key in storages.of(node):
            last[key] = index
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor):
                size = value.untyped_storage().nbytes()
                sizes[key] = max(size, sizes.get(key, 0))
            if node.op == "placeholder":
                inputs.add(key)
        for source in node.all_input_nodes:
            for key in storages.of(source):
                last[key] = index
    live, most, seen = 0, 0, set()
    for index, node in enumerate(nodes):
        touched = dict.fromkeys(
            key
            for source in (*node.all_input_nodes, node)
            for key in storages.of(source)
            if key not in inputs
        )
        for key in touched:
            if key not in seen:
                seen.add(key)
                live += sizes.get(key, 0)
        most = max(most, live)
        for key in touched:
            if last[key] == index:
                live -= sizes.get(key, 0)
    return most


@pytest.mark.parametrize(
    "replicas, passes",
    [
        (1, ["--commsched-pipeline"]),
        (1, ["--commsched-pipeline=bitwise"]),
        (1, MERGE_COPY),
        (1, MERGE_COALESCED),
        (2, ["--commsched-pipeline"]),
        (2, HYBRID),
    ],
)
def test_schedules_are_put_back(opt_program, steps, replicas, passes):
    step, text = steps[replicas]
    run = opt.run_programs(text, *passes)
    merged = 0
    for kind, traced in step.graphs.items():
        gm = copy.deepcopy(traced)
        plan = make_plan(run.before, run.after, kind)
        apply_plan(gm, plan)
        names = [node.name for node in gm.graph.nodes]
        kept = set(names)
        wanted = [e for e in plan.order if isinstance(e, str) and e in kept]
        placed = set(wanted)
        assert [name for name in names if name in placed] == wanted
        merged += len(plan.buckets)
        values = [n for n in gm.graph.nodes if n.op == "call_function"]
        assert all("val" in node.meta for node in values)
    assert merged


def test_what_the_module_does_not_hold_takes_no_memory(opt_program, steps):
    step, text = steps[1]
    run = opt.run_programs(text)
    for kind, traced in step.graphs.items():
        gm = copy.deepcopy(traced)
        plan = make_plan(run.before, run.after, kind)
        assert plan.is_identity
        apply_plan(gm, Plan(plan.order))
        assert peak(gm) <= peak(traced)


def test_a_round_trip_changes_nothing(opt_program, steps):
    for step, text in steps.values():
        run = opt.run_programs(text)
        for kind, traced in step.graphs.items():
            before = [(n, n.args) for n in traced.graph.nodes]
            apply_plan(traced, make_plan(run.before, run.after, kind))
            assert [(n, n.args) for n in traced.graph.nodes] == before
