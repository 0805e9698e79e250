# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of small steps against the optimum, by testsupport/optimum, which has the
simulator check each: none is shorter than can be; and that the optimum is one."""

import random
import statistics
from itertools import islice
from types import SimpleNamespace

import pytest

import exact as exact_solver
import joint_optima as joint_steps
import merges as merged_steps
import optima
import splits
from seeds import first_seed, runs, seeds, turns

#: Problems with more orders are not tried.
MOST_ORDERS = 2000
#: Which of the stored proofs are found anew.
SAMPLE = random.Random(first_seed()).sample(range(200), min(200, 4 * runs()))
#: What is worst, or was at some time, and the gap that may be left.
WORST = {
    "experts_154": 0.02,
    "experts_166": 0.04,
    "hybrid_139": 0.04,
    "sharded_168": 0.11,
    # A reduce-scatter that frees memory holds up a gather behind it.
    "experts_52": 0.01,
    # Its products follow on arguments and gathers alone.
    "sharded_96": 0.01,
    "experts_76": 0.01,
    "experts_82": 0.01,
    "halved_99": 0.01,
    "halved_189": 0.01,
    "replicated_26": 0.01,
    "tangled_137": 0.01,
}


@pytest.fixture
def exact():
    """The solver; skipped without OR-tools."""
    if exact_solver.SKIP_REASON:
        pytest.skip(exact_solver.SKIP_REASON)
    return exact_solver


@pytest.fixture
def tool(built):
    return built("commsched-parity")


def make_tiny_problem(seed):
    """All kinds of operations, few enough to try every order."""
    rng = random.Random(seed)
    nodes, dependences, buffers = [], [], []

    def add(kind, stream=-1, start=-1):
        node = len(nodes)
        cost = 0 if kind == "wait" else rng.choice([0, rng.randint(1, 9)])
        nodes.append([kind, cost, stream, False, start])
        if start >= 0:
            dependences.append([start, node, "data"])
        elif node and rng.random() < 0.25:
            dependences.append([rng.randrange(node), node, "data"])
        if kind == "start" or rng.random() < 0.3:
            buffers.append([rng.randint(0, 9), node, rng.random() < 0.9, []])
        for _, producer, _, users in buffers:
            if producer < node and rng.random() < 0.15 or producer == start >= 0:
                users.append(node)
        return node

    buffers.append([rng.randint(0, 9), -1, rng.random() < 0.5, []])
    for _ in range(rng.randint(3, 6)):
        kind = rng.choice(["compute"] * 4 + ["start"] * 4 + ["blocking"])
        node = add(kind, -1 if kind == "compute" else rng.randrange(2))
        if kind == "start":
            add("wait", start=node)
    return {"nodes": nodes, "dependences": dependences, "buffers": buffers}


def list_orders(after, placed=()):
    """Every legal order, given what comes after each operation."""
    if len(placed) == len(after):
        yield placed
    for node in range(len(after)):
        rest = set(range(len(after))) - {*placed}
        if node in rest and not any(after[other] >> node & 1 for other in rest):
            yield from list_orders(after, (*placed, node))


def test_the_solver_agrees_with_every_order_tried(exact):
    limited = impossible = 0
    for seed in seeds(60):
        problem = make_tiny_problem(seed)
        orders = list(islice(list_orders(exact.close(problem)), MOST_ORDERS))
        if len(orders) == MOST_ORDERS:
            continue
        costs = [optima.simulate(problem, order) for order in orders]
        peaks = sorted({c["peak_memory_bytes"] for c in costs})
        for limit in (peaks[0] - 1, *peaks):
            steps = [
                c["step_time_ns"] for c in costs if c["peak_memory_bytes"] <= limit
            ]
            found = exact.solve(problem, limit)
            if not steps:
                assert found is None
                impossible += 1
                continue
            assert found.step_ns == min(steps)
            mine = optima.simulate(problem, found.order)
            assert mine["step_time_ns"] == found.step_ns
            assert mine["peak_memory_bytes"] <= limit
            limited += min(steps) > min(c["step_time_ns"] for c in costs)
    assert limited and impossible >= 20


def test_proofs_are_reproduced(exact, tool):
    proofs = optima.read_proofs()
    assert sorted(proofs) == list(range(optima.NUM_STEPS))
    for seed, problem in optima.get_problems(tool, SAMPLE).items():
        assert optima.prove(tool, seed, problem) == proofs[seed]


def test_schedules_are_near_the_optimum(tool):
    proofs = [
        proof
        for seed, proof in optima.read_proofs().items()
        # All in a campaign, and else one in eight and the worst.
        if runs() > 1 or seed % 8 == 0 or optima.SmallStep(seed).name in WORST
    ]
    outcomes = optima.schedule(tool, optima.SCHEDULE, proofs)
    gaps = sorted(outcome.gap for outcome in outcomes)
    assert len(gaps) == len(proofs) >= 30
    assert gaps[0] >= 0, "shorter than the shortest: the solver or the model is wrong"
    assert statistics.median(gaps) <= 0.01
    assert sum(gap > 0.05 for gap in gaps) <= 0.05 * len(gaps)
    assert all(outcome.fits for outcome in outcomes)
    by_name = {optima.SmallStep(o.seed).name: o for o in outcomes}
    for name, most in WORST.items():
        assert by_name[name].gap <= most, name


def test_split_steps_are_near_the_optimum(exact, tool, opt_program):
    options = SimpleNamespace(opt=opt_program, tool=tool, max_chunks=3, seconds=60)
    results = [splits.Result(options, seed) for seed in (0, 2, 3, 4)]
    assert sum(result.gain > 0.01 for result in results) >= 2
    assert all(0 <= result.get_gap("best") <= 0.005 for result in results)
    gaps = [result.get_gap("chosen") for result in results]
    assert max(gaps) <= 0.01, gaps


@pytest.fixture
def merges(exact, opt_program):
    """The comparison of merged steps, and its options."""
    merged_steps.options = SimpleNamespace(opt=opt_program, seconds=60)
    return merged_steps


def test_no_other_way_to_merge_is_shorter(merges, exact):
    """Bounds leave out ways, but not the best one."""
    for seed in turns((1, 2), 1):
        result = merges.Result(merges.options, seed)
        found = [
            exact.solve(problem, result.limit, seconds=60)
            for _, problem in result.ways
        ]
        assert result.optimum_ns == min(way.step_ns for way in found if way)
        assert result.optimum_ns < result.unmerged_ns


def test_merged_steps_are_near_the_optimum(merges):
    seeds = (0, 1, 4, 5, 8, 10, 16, 18, 20)
    results = [merges.Result(merges.options, seed) for seed in seeds]
    assert sum(result.get_gap("unmerged") > 0.05 for result in results) >= 6
    gaps = [result.get_gap("auto") for result in results]
    assert 0 <= min(gaps) and max(gaps) <= 0.005, gaps


@pytest.fixture
def joint(exact, tool, opt_program):
    """The comparison of joint functions, and its options."""
    joint_steps.options = SimpleNamespace(
        opt=opt_program, tool=tool, budgets=3, seconds=60,
        ways=["commsched-pipeline"],
    )
    return joint_steps


def test_fitted_steps_are_near_the_optimum(joint):
    way, *_ = joint.options.ways
    results = [
        result for seed in (1, 2, 3, 5, 8, 9)
        for result in joint.compare(joint.options, seed)
    ]
    gaps = sorted(r.get_gap(way) for r in results if r.ours[way] is not None)
    assert len(gaps) >= 6
    assert gaps[0] >= 0, "shorter than the shortest: the solver or the model is wrong"
    assert statistics.median(gaps) <= 0.01
    assert gaps[-1] <= 0.05
