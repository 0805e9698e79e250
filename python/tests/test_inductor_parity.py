# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CommSched's orders against those of PyTorch Inductor, by testsupport/inductor,
on fewer steps than there."""

import json
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from torch._inductor import comms
import compare as run
import random_steps
from commsched import opt
from ranks import run_ranks
from seeds import seeds

@pytest.fixture
def parity(built):
    """The harness and its options; skipped where it cannot run."""
    if reason := run.get_skip_reason():
        pytest.skip(reason)
    return run, SimpleNamespace(tool=built("commsched-parity"), graphs=25)


def draw(parity, folder, seed):
    """The problems of random steps, with CommSched's answers."""
    run, options = parity
    path = folder / "steps.mlir"
    path.write_text(random_steps.generate(options.graphs, seed))
    return list(run.dump(options, str(path), [*run.ALL]))


@pytest.fixture
def problems(parity, tmp_path):
    return draw(parity, tmp_path, 1)


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


# -- The times that PyTorch's ranks agree on, and those of
# commsched-align-runtimes.


#: By rank: what a product, a gather and an addition take, in ns.
TIMES = [(100, 40, 7), (300, 10, 9), (200, 30, 8), (400, 20, 6)]

PROGRAM = """
commsched.group @dp size(4)
func.func @step(%a: tensor<4x4xf32>, %s: tensor<4xf32>)
    -> (tensor<4x4xf32>, tensor<16xf32>, tensor<4x4xf32>) {
  %0 = commsched.compute "aten.mm"(%a, %a)
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = commsched.all_gather %s on @dp dim(0)
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %1 = commsched.wait %f : !commsched.future<tensor<16xf32>>
  %2 = commsched.compute "aten.add"(%0, %a)
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<16xf32>, tensor<4x4xf32>
}
"""
NAMES = ["aten.mm", "commsched.all_gather", "commsched.wait", "aten.add"]


class Node:
    """What PyTorch's function asks of a node of the scheduler."""

    def __init__(self, time):
        self.time = time
        self.override_estimated_runtime = None

    def get_estimated_runtime(self):
        return self.time


def aligned(rank, times):
    """What PyTorch makes of the times of a rank."""
    nodes = [Node(time) for time in times[rank]]
    comms.align_runtime_estimations_across_all_distributed_ranks(nodes)
    return [node.override_estimated_runtime for node in nodes]


def write(path, operations, times):
    """Writes the times of a rank as the pass does; returns the path."""
    path.write_text(
        json.dumps({"step": {"operations": operations, "runtime_ns": times}})
    )
    return str(path)


def align(paths):
    """The times of all operations after the pass, in program order."""
    run = opt.run_programs(
        PROGRAM, f"--commsched-align-runtimes=ranks={','.join(paths)}"
    )
    operations = run.after.function("step").operations
    return [op.attributes.get("commsched.runtime_ns") for op in operations[:4]]


@pytest.fixture(autouse=True)
def pytorch():
    if not torch.__version__.startswith("2.13"):
        pytest.skip("other versions align other operations")


def test_all_ranks_take_the_lower_median_of_every_operation(opt_program, tmp_path):
    theirs = run_ranks(aligned, 4, args=(TIMES,))
    product, gather, addition = theirs[0]
    assert theirs[1:] == theirs[:1] * 3
    paths = [
        write(tmp_path / f"{rank}.json", NAMES, [times[0], times[1], 0, times[2]])
        for rank, times in enumerate(TIMES)
    ]
    assert align(paths) == [product, gather, 0, addition] == [200, 20, 0, 7]


def test_other_numbers_of_operations_are_an_error_here(opt_program, tmp_path):
    """PyTorch warns, and the ranks keep their own times."""
    times = [TIMES[0], TIMES[1][:2]]
    assert run_ranks(aligned, 2, args=(times,)) == list(map(list, times))
    paths = [
        write(tmp_path / "0.json", NAMES, [100, 40, 0, 7]),
        write(tmp_path / "1.json", NAMES[:3], [300, 10, 0]),
    ]
    with pytest.raises(opt.OptError, match="has 3 operations there, but 4 here"):
        align(paths)
