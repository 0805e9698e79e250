# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.demo repeat: what it says of a step that repeats, and its errors."""

import os
import subprocess
import sys

import pytest

# The reduction hides under nothing of its own repetition, and under @forward of
# the next one.
STEP = """
commsched.group @g size(2)

func.func @forward(
    %w: tensor<100xi8> {commsched.role = "parameter", commsched.source =
      {function = @optimizer, result = 0 : i64, iterations = 1 : i64}},
    %x: tensor<100xi8> {commsched.role = "input"})
    -> (tensor<100xi8>, tensor<100xi8>) {
  %e = commsched.compute "embed"(%x) {commsched.runtime_ns = 40000000}
      : (tensor<100xi8>) -> tensor<100xi8>
  %y = commsched.compute "product"(%e, %w) {commsched.runtime_ns = 60000000}
      : (tensor<100xi8>, tensor<100xi8>) -> tensor<100xi8>
  return %y, %w : tensor<100xi8>, tensor<100xi8>
}

func.func @backward(
    %y: tensor<100xi8> {commsched.freeable, commsched.source =
      {function = @forward, result = 0 : i64}}) -> tensor<100xi8> {
  %f = commsched.all_reduce %y on @g reduction(max)
      {commsched.runtime_ns = 30000000}
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %d = commsched.wait %f : !commsched.future<tensor<100xi8>>
  return %d : tensor<100xi8>
}

func.func @optimizer(
    %w: tensor<100xi8> {commsched.freeable, commsched.source =
      {function = @forward, result = 1 : i64}},
    %d: tensor<100xi8> {commsched.freeable, commsched.source =
      {function = @backward, result = 0 : i64}}) -> tensor<100xi8> {
  %n = commsched.compute "update"(%w, %d) {commsched.runtime_ns = 10000000}
      : (tensor<100xi8>, tensor<100xi8>) -> tensor<100xi8>
  return %n : tensor<100xi8>
}
"""


@pytest.fixture
def repeat(opt_program, tmp_path):
    """Runs the script on a step; returns what it prints, a list of words for
    each line, or its error."""

    def repeat(step, *options, fails=False):
        path = tmp_path / "step.mlir"
        path.write_text(step, encoding="utf-8")
        command = [sys.executable, "-m", "commsched.demo", "repeat", path]
        command += ["--output-dir", tmp_path, *options]
        environment = {**os.environ, "COMMSCHED_OPT": opt_program}
        result = subprocess.run(
            command, capture_output=True, text=True, env=environment
        )
        assert result.returncode == fails, result.stderr
        return result.stderr if fails else [
            line.split() for line in result.stdout.splitlines()
        ]

    return repeat


def test_periods_get_shorter_with_what_is_scheduled_together(repeat, tmp_path):
    lines = repeat(STEP, "--memory-budget=100%")
    assert " ".join(lines[1]) == (
        "simulated: costs pinned in the program (commsched.runtime_ns)"
    )
    periods = {" ".join(line[:2]): line[2:] for line in lines if "ms" in line}
    apart, steady = periods["functions apart"], periods["steady state"]
    assert apart[:4] == ["140.0", "ms", "27.3", "%"]
    assert steady[:6] == ["110.0", "ms", "0.0", "%", "0.0", "ms"]
    assert steady[-1] == "2"
    assert ["bound", "of", "the", "period:", "110.0", "ms,"] in [
        line[:6] for line in lines
    ]
    assert (tmp_path / "step.steady.mlirbc").exists()
    assert (tmp_path / "step.steady.trace.json").exists()


def test_without_memory_repetitions_do_not_overlap(repeat):
    lines = repeat(STEP, "--memory-budget=0%")
    (steady,) = [line for line in lines if line[:2] == ["steady", "state"]]
    assert steady[-1] == "1"


def test_a_module_without_a_step_that_repeats_is_an_error(repeat):
    error = repeat("func.func @f() { return }", fails=True)
    assert error.startswith("error: the module has no step that repeats")


def test_a_budget_that_is_none_is_an_error(repeat):
    assert "'memory-budget'" in repeat(STEP, "--memory-budget=much", fails=True)
