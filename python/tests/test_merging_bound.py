# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No schedule of commsched-pipeline, in buckets or in chunks, is shorter than the
merging lower bound of its input."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import seeds

STEPS = Path(__file__).parents[2] / "testsupport" / "steps"
PINNED = re.compile(r"(, )?commsched\.runtime_ns = \d+ : i64")
MODELS = ["--dp=64 --seq=512", "--tp=8 --seq=1024", "--dp=8 --replicas=4 --seq=512"]
OPTIONS = [
    f"mode={mode} split={split}"
    for mode in ("copy", "coalesced", "auto")
    for split in ("off", "auto")
]


@pytest.fixture
def steps(monkeypatch):
    """Makes a module of random steps, with their times or without."""
    monkeypatch.syspath_prepend(str(STEPS))
    import small_steps
    import split_steps

    kinds = {
        "small": (small_steps.PROLOGUE, small_steps.SmallStep),
        "split": (split_steps.PROLOGUE, split_steps.SplitStep),
    }

    def make(kind, isPinned):
        prologue, step = kinds[kind]
        text = prologue + "".join(step(seed).text() for seed in seeds.seeds(6))
        return text if isPinned else PINNED.sub("", text)

    return make


@pytest.fixture
def check(opt_program, tmp_path):
    """Schedules a module. Counts the functions that were merged, split, and that
    are shorter than any order of the input's collectives."""

    def run(text, options):
        program, before, after = (
            tmp_path / name for name in ("step.mlir", "before.json", "after.json")
        )
        program.write_text(text)
        command = [
            opt_program,
            program,
            f"--commsched-report=format=json output={before}",
            f"--commsched-pipeline=memory-budget=200% {options}",
            f"--commsched-report=format=json output={after}",
            "-o",
            "/dev/null",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:1000]
        found = {"merged": 0, "split": 0, "shorter": 0}
        reports = (
            [json.loads(line) for line in file.read_text().splitlines()]
            for file in (before, after)
        )
        for old, new in zip(*reports, strict=True):
            where = options, old["function"]
            bound = old["merging_lower_bound_ns"]
            assert bound <= old["tight_lower_bound_ns"], where
            assert bound <= new["step_time_ns"], where
            assert new["merging_lower_bound_ns"] <= new["step_time_ns"], where
            more = new["num_collectives"] - old["num_collectives"]
            found["merged"] += more < 0
            found["split"] += more > 0
            found["shorter"] += new["step_time_ns"] < old["tight_lower_bound_ns"]
        return found

    return run


@pytest.mark.parametrize("isPinned", (True, False))
@pytest.mark.parametrize("options", seeds.turns(OPTIONS, 1))
def test_small_steps(steps, check, options, isPinned):
    found = check(steps("small", isPinned), options)
    # Without times these collectives are latency and nothing else.
    assert isPinned or found["merged"] > 0
    assert isPinned or found["shorter"] > 0


@pytest.mark.parametrize("isPinned", (True, False))
def test_steps_that_are_split(steps, check, isPinned):
    found = check(steps("split", isPinned), "mode=auto split=auto")
    assert found["split"] > 0
    assert found["shorter"] > 0


@pytest.mark.parametrize("model", seeds.turns(MODELS, 1))
def test_layers_of_models(check, model):
    command = [sys.executable, STEPS / "make_step.py", "--layers=2", *model.split()]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    check(text, seeds.turns(OPTIONS, 1)[0])


# The first iteration prepares its gather beside the collective that it follows.
LOOP = """
commsched.group @outer size(8)
commsched.group @inner size(8)

func.func @loop(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<64xf32> {
  %from = arith.constant 0 : index
  %to = arith.constant 4 : index
  %one = arith.constant 1 : index
  %f = commsched.all_gather %x on @outer dim(0) {commsched.runtime_ns = 300 : i64}
      : tensor<8xf32> -> !commsched.future<tensor<64xf32>>
  %first = commsched.wait %f : !commsched.future<tensor<64xf32>>
  %last = scf.for %i = %from to %to step %one iter_args(%sum = %first)
      -> (tensor<64xf32>) {
    %p = commsched.compute "prepare"(%w, %i) {commsched.runtime_ns = 300 : i64}
        : (tensor<8xf32>, index) -> tensor<8xf32>
    %g = commsched.all_gather %p on @inner dim(0)
        {commsched.runtime_ns = 200 : i64}
        : tensor<8xf32> -> !commsched.future<tensor<64xf32>>
    %v = commsched.wait %g : !commsched.future<tensor<64xf32>>
    %next = commsched.compute "use"(%sum, %v) {commsched.runtime_ns = 300 : i64}
        : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    scf.yield %next : tensor<64xf32>
  }
  return %last : tensor<64xf32>
}
"""


def test_loops_overlap_with_what_is_around(check):
    assert check(LOOP, "pipeline-loops=true")["shorter"] == 1
