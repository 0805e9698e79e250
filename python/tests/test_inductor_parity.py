# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched's orders against those of PyTorch Inductor, by testsupport/inductor,
on fewer steps than there; and that what it compares with is sound."""

import contextlib
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from seeds import seeds

torch = pytest.importorskip("torch")

FOLDER = Path(__file__).parents[2] / "testsupport" / "inductor"


@pytest.fixture
def parity(built, monkeypatch):
    """The harness and its options; skipped where it cannot run."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import compare as run

    if reason := run.get_skip_reason():
        pytest.skip(reason)
    tool = built("commsched-parity")
    options = SimpleNamespace(tool=tool, graphs=25)
    return run, options


def draw(parity, folder, seed):
    """The problems of random steps, with CommSched's answers."""
    run, options = parity
    import random_steps

    path = folder / "steps.mlir"
    path.write_text(random_steps.generate(options.graphs, seed))
    return list(run.dump(options, str(path), [*run.ALL]))


@pytest.fixture
def problems(parity, tmp_path):
    return draw(parity, tmp_path, 1)


def check_memory(problem, repairs):
    """What Inductor's check of its own memory tables prints about its function
    that moves collectives, with no budget above the peak."""
    import reference
    import compare as run

    standin = run.build_standin(problem)
    recomputing = replace(
        run.RAISE,
        knobs=(
            ("reorder_iterative_debug_memory_recompute", True),
            ("reorder_iterative_peak_memory_budget", 0.0),
        ),
    )
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        reference.run(standin, recomputing, repairs)
    return text.getvalue()


def test_every_difference_is_explained(parity, tmp_path, capsys):
    run, options = parity
    names = [*run.ALL]
    problems = draw(parity, tmp_path, next(seeds(1)))
    results = [
        result
        for problem in problems
        for result in run.compare(problem, problem["function"], names)
    ]
    assert run.report_unexplained(results) == 0, capsys.readouterr().err
    for name in names:
        of_name = [r for r in results if r.name == name]
        assert any(r.moved for r in of_name), f"{name} moves nothing"
        assert sum(r.agrees for r in of_name) > len(of_name) / 2


def test_exposures_are_inductors(parity, problems):
    """Seen from the wait they always are; seen from the start, but where the
    window ends at the wait of another collective."""
    run, _ = parity
    total = {walk: Counter() for walk in run.WALKS}
    for problem in problems:
        for walk, verdicts in run.compare_exposures(problem).items():
            total[walk] += verdicts
    ahead, back = total.values()
    assert back["same"] == back.total() > 0
    assert ahead["unexplained"] == 0 < ahead["explained"] < ahead["same"]


def test_wrong_exposures_are_seen(parity, problems):
    run, _ = parity
    problem = max(problems, key=lambda p: len(p["exposures"]))
    for exposure in problem["exposures"]:
        exposure[1] += 1
        exposure[2] += 1
    for verdicts in run.compare_exposures(problem).values():
        assert verdicts["unexplained"] == verdicts.total() > 0


def test_differences_are_seen(parity, problems):
    """Inductor is given a problem in which nothing is expensive."""
    run, options = parity
    names = run.BUDGETED
    for problem in problems:
        for node in problem["nodes"]:
            node[3] = False
    results = [
        result
        for problem in problems
        for result in run.compare(problem, problem["function"], names)
    ]
    assert any(r.explanation is None for r in results)


def test_wrong_costs_are_seen(parity, problems):
    run, options = parity
    problem = max(problems, key=lambda p: p["costs"]["step_time_ns"])
    for node in problem["nodes"]:
        node[1] *= 2
    with pytest.raises(ValueError, match="not what the model says"):
        list(run.compare(problem, "tampered", ["raise_comms"]))


def test_repairs_satisfy_inductors_own_check(parity, problems):
    """The stand-ins are sound: once its defects are repaired, Inductor finds
    its tables of memory equal to a recomputation after every swap."""
    import reference

    repairs = tuple(reference.REPAIRS[reference.RAISE])
    assert all(check_memory(p, repairs) == "" for p in problems)
    assert any(check_memory(p, ()) != "" for p in problems)
