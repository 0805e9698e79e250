# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scheduler on arrays: the same answers as the pass, errors, and threads."""

import array
import json
import os
import pathlib
import random
import subprocess
import threading
import time

import pytest

import commsched
from commsched import solver

pytestmark = pytest.mark.usefixtures("extension")

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


def step():
    """A gather in front of two computations, of which the second reads it."""
    problem = commsched.Problem()
    problem.compute(60, expensive=True)
    gather = problem.start(100, 0)
    gathered = problem.wait(gather)
    last = problem.compute(60, after=[gathered])
    problem.buffer(8, users=[gather, gathered], freed=False)
    problem.buffer(64, gather, users=[gathered, last])
    return problem


def test_small_step():
    problem = step()
    before = commsched.simulate(problem)
    assert before.step_ns == 220
    assert before.exposed_comm_ns == 100
    assert list(before.order) == [0, 1, 2, 3]
    after = commsched.schedule(problem)
    assert after.step_ns == 160 == commsched.lower_bound(problem)
    assert (after.compute_ns, after.comm_ns, after.exposed_comm_ns) == (120, 100, 40)
    assert after.peak_bytes == 72
    assert list(after.order) == [1, 0, 2, 3]
    assert list(after.begin_ns) == [0, 0, 60, 100]
    assert list(after.end_ns) == [60, 100, 100, 160]
    assert list(after.exposed_ns) == [0, 40, 40, 0]
    assert after.origin in solver.ORIGINS
    assert len(problem) == 4 and problem.kind(2) == "wait"


# -- Dumps ---------------------------------------


@pytest.mark.parametrize("budget", ["0%", "1201"])
def test_dumps_are_scheduled_as_by_the_pass(built, tmp_path, budget):
    path = tmp_path / "problem.json"
    done = subprocess.run(
        [built("commsched-opt"), EXAMPLES / "timeline.mlir",
         f"--commsched-dump-problem={path}",
         f"--commsched-schedule=buckets=off memory-budget={budget}",
         "--commsched-report=format=json", "-o", os.devnull],
        capture_output=True, check=True, timeout=60,
    )
    problems = commsched.read_problems(path.read_text())
    for line in done.stdout.splitlines():
        report = json.loads(line)
        problem = problems[report["function"]]
        found = commsched.schedule(problem, memory_budget=budget)
        assert found.step_ns == report["step_time_ns"]
        assert found.exposed_comm_ns == report["exposed_comm_ns"]
        assert found.peak_bytes == report["peak_memory_bytes"]
        assert commsched.lower_bound(problem) == report["tight_lower_bound_ns"]


def test_numbers_near_the_limit_of_integers():
    text = (HERE / "problems" / "bytes-near-limit.json").read_text()
    for problem in commsched.read_problems(text).values():
        before = commsched.simulate(problem)
        found = commsched.schedule(problem, memory_budget="0%", effort=10000)
        assert found.peak_bytes <= before.peak_bytes
    text = (HERE / "problems" / "time-near-limit.json").read_text()
    with pytest.raises(ValueError, match="dependences is out of range"):
        commsched.read_problems(text)
    # A budget that nothing meets.
    for budget in (1, "1B"):
        assert commsched.schedule(step(), memory_budget=budget).peak_bytes == 72


def test_contention():
    problem = commsched.Problem()
    starts = [problem.start(100, stream) for stream in (0, 1)]
    for start in starts:
        problem.wait(start)
    assert commsched.schedule(problem).step_ns == 100
    assert commsched.schedule(problem, exclusive=[(0, 1)]).step_ns == 200
    assert commsched.simulate(problem, links=[0, 0]).step_ns == 200
    problem.compute(100)
    order = [0, 1, 4, 2, 3]
    slow = commsched.simulate(problem, order, compute_slowdown=0.1)
    assert slow.step_ns == 110


# -- Arrays ----------------------------------------------------------------


def arrays(convert):
    return commsched.Problem.from_arrays(
        convert([0, 1, 2, 0]),
        convert([60, 100, 0, 60]),
        convert([-1, 0, -1, -1]),
        convert([-1, -1, 1, -1]),
        dependences=(convert([2]), convert([3])),
        buffers=(convert([8, 64]), convert([-1, 1]), convert([0, 1])),
        uses=(convert([0, 0, 1, 1]), convert([1, 2, 2, 3])),
        expensive=convert([0]),
    )


def test_arrays_of_each_kind():
    expected = commsched.schedule(step())
    assert commsched.schedule(arrays(list)) == expected
    assert commsched.schedule(arrays(tuple)) == expected
    longs = arrays(lambda values: array.array("q", values))
    assert commsched.schedule(longs) == expected
    numpy = pytest.importorskip("numpy")
    for kind in ("int8", "int32", "int64"):
        problem = arrays(lambda values: numpy.array(values, dtype=kind))
        assert commsched.schedule(problem) == expected
    order = numpy.asarray(expected.order)
    assert order.dtype == numpy.int32 and order.tolist() == [1, 0, 2, 3]


def test_arrays_that_do_not_fit():
    for kinds, costs, error in [
        ([0], [1, 2], "different lengths, 1 and 2"),
        ([300], [1], "a value of kinds is out of range"),
        ([0], [2**63], "a value of costs_ns is out of range"),
        ([7], [1], "node 0 has kind 7, but kinds are numbered from 0 to 3"),
    ]:
        with pytest.raises(ValueError, match=error):
            commsched.Problem.from_arrays(kinds, costs).check()
    with pytest.raises(TypeError, match="costs_ns must be integers"):
        commsched.Problem.from_arrays([0], [1.5])
    with pytest.raises(TypeError, match="kinds must be integers"):
        commsched.Problem.from_arrays(None, [1])


# -- Errors ----------------------------------------------------------------


def test_problems_that_are_not_sound():
    """unittests/Schedule has what is wrong with them."""
    problem = step()
    problem.check()
    problem.depend(0, 3)
    problem.depend(3, 0)
    for use in (
        problem.check,
        lambda: commsched.schedule(problem),
        lambda: commsched.simulate(problem),
        lambda: commsched.lower_bound(problem),
    ):
        with pytest.raises(ValueError, match="form a cycle of 2 nodes"):
            use()


def test_program_that_is_no_order():
    problem = step()
    problem.depend(0, 3)
    problem.check()
    with pytest.raises(ValueError, match="at position 0 comes before node 3"):
        commsched.schedule(problem)
    assert commsched.simulate(problem, [1, 2, 3, 0]).step_ns == 220


def test_values_that_are_not_taken():
    problem = step()
    for values in ([0, 1, 3, 2], [0, 1], [0, 0, 1, 2], [0, 1, 2, 9]):
        with pytest.raises(ValueError, match="node|order"):
            commsched.simulate(problem, values)
    for options, error in [
        ({"memory_budget": -1}, "memory_budget -1 is not from 0"),
        ({"memory_budget": "much"}, "memory_budget must be .* 'much'"),
        ({"memory_budget": "99999999999TB"}, "must be at most"),
        ({"slack_percent": -1}, "slack_percent -1 is not from 0"),
        ({"effort": -1}, "effort -1 is not from 0"),
        ({"exclusive": [(0, 5)]}, "exclusive stream 5 is not one of the 1"),
        ({"exclusive": [(0, 0)]}, "stream 0 is exclusive with itself"),
        ({"exclusive": [(0,)]}, "which is no pair"),
        ({"links": [0, 0]}, "there are links for 2 streams"),
        ({"compute_slowdown": -1.0}, "slows down by -1000000 millionths"),
        ({"compute_slowdown": float("nan")}, "is out of range"),
    ]:
        with pytest.raises(ValueError, match=error):
            commsched.schedule(problem, **options)
    with pytest.raises(TypeError, match="slack_percent must be an integer"):
        commsched.schedule(problem, slack_percent=1.5)
    # A value that is refused leaves nothing behind.
    for add in (
        lambda: problem.compute(2**63),
        lambda: problem.start(1, "dp"),
        lambda: problem.depend(0, 1.5),
        lambda: problem.buffer("64GiB"),
    ):
        with pytest.raises((TypeError, ValueError)):
            add()
    with pytest.raises(ValueError, match="none of data, memory"):
        problem.depend(3, 0, kind="reads")
    assert commsched.schedule(problem) == commsched.schedule(step())


@pytest.mark.parametrize("text, error", [
    ("", "Expecting value"),
    ("[]", "no dump of problems"),
    ('{"version": 2, "functions": []}', "version 2 is not supported, only 1"),
    ('{"version": 1, "functions": [{"function": "f"}]}', "'nodes'"),
    ('{"version": 1, "functions": [{"function": "f", "nodes": [["jump"]]}]}',
     "IndexError"),
])
def test_texts_that_are_no_dump(text, error):
    with pytest.raises(ValueError, match=error):
        commsched.read_problems(text)


# -- Threads ---------------------------------------------------------------


def large_problem():
    rng = random.Random(1)
    problem = commsched.Problem()
    ready = [problem.compute(100)]
    for _ in range(12000):
        gather = problem.start(rng.randint(50, 150), 0, after=ready[-1:])
        ready.append(problem.compute(rng.randint(50, 150), after=ready[-1:]))
        ready.append(problem.wait(gather))
        problem.buffer(rng.randint(1, 100), gather, users=ready[-1:])
    return problem


def test_other_threads_run_meanwhile():
    problem = large_problem()
    results = []
    workers = [
        threading.Thread(target=lambda: results.append(commsched.schedule(problem)))
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    turns = 0
    while any(worker.is_alive() for worker in workers):
        time.sleep(0.001)
        turns += 1
    assert results[0] == results[1]
    # With the lock held there would be a turn or two.
    assert turns > 10
