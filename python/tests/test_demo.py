# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.demo schedule and repeat: what they say of a step, and their
errors."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import seeds
from commsched import demo
from commsched.demo import Failure, Point

# @small takes 1,001 bytes and 250 ms, and 100 bytes more make it 150 ms; @large
# takes 2,000 bytes.
STEP = """
commsched.group @g size(2)

func.func @small(%x: tensor<100xi8>) -> (tensor<100xi8>, tensor<1xi8>) {
  %l = commsched.compute "large"(%x) {commsched.runtime_ns = 100000000}
      : (tensor<100xi8>) -> tensor<900xi8>
  %s = commsched.compute "small"(%l) {commsched.runtime_ns = 50000000}
      : (tensor<900xi8>) -> tensor<1xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 100000000, commsched.name = "f"}
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<100xi8>>
  return %w, %s : tensor<100xi8>, tensor<1xi8>
}

func.func @large(%x: tensor<1000xi8>) -> tensor<1000xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 10000000, commsched.name = "f"}
      : tensor<1000xi8> -> !commsched.future<tensor<1000xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<1000xi8>>
  return %w : tensor<1000xi8>
}
"""
GROUP, *FUNCTIONS = STEP.split("func.func")
SMALL, LARGE = (f"{GROUP}func.func{function}" for function in FUNCTIONS)


def run_demo(
    name, step, *options, program, folder, fails=False, draws=False
):
    """Runs a command on a step; returns the words of each line it prints.
    Only if it draws, it finds a browser, which takes longest to start."""
    environment = {**os.environ, "COMMSCHED_OPT": program}
    if not draws:
        environment["PATH"] = ""
    path = folder / "step.mlir"
    path.write_text(step, encoding="utf-8")
    command = [sys.executable, "-m", "commsched.demo", name, path, *options]
    command += ["--output-dir", folder]
    result = subprocess.run(
        command, capture_output=True, text=True, env=environment
    )
    assert result.returncode == fails, result.stderr
    text = result.stderr if fails else result.stdout
    return [line.split() for line in text.splitlines()]


@pytest.fixture
def schedule(opt_program, tmp_path):
    """Runs `schedule` on a step as `run_demo` does."""
    where = {"program": opt_program, "folder": tmp_path}
    return functools.partial(run_demo, "schedule", **where)


@pytest.fixture
def repeat(opt_program, tmp_path):
    """The same for `repeat`."""
    where = {"program": opt_program, "folder": tmp_path}
    return functools.partial(run_demo, "repeat", **where)


@pytest.fixture(scope="module")
def small(opt_program, tmp_path_factory):
    """What the script prints of @small alone, and the folder that it writes."""
    folder = tmp_path_factory.mktemp("small")
    where = {"program": opt_program, "folder": folder}
    return run_demo("schedule", SMALL, **where), folder


def test_functions_and_the_step_are_compared(schedule, tmp_path):
    lines = schedule(STEP, "--memory-budget=10%")
    step_times = [line for line in lines if line[:2] == ["step", "time"]]
    assert step_times == [
        "step time 250.0 ms 150.0 ms -40.0 %".split(),
        "step time 10.0 ms 10.0 ms".split(),
        "step time 260.0 ms 160.0 ms -38.5 %".split(),
    ]
    gaps = [line[-4:] for line in lines if line[:3] == ["step", "above", "it"]]
    assert gaps == [
        "66.7 % 0.0 %".split(),
        "0.0 % 0.0 %".split(),
        "62.5 % 0.0 %".split(),
    ]
    assert "collectives 2 2".split() in lines
    assert ["@small"] in lines and ["whole", "step"] in lines
    for ending in (
        "scheduled.mlirbc",
        "before.trace.json",
        "after.trace.json",
        "frontier.csv",
    ):
        assert (tmp_path / f"step.{ending}").stat().st_size


def test_says_what_the_times_rest_on(schedule):
    step = SMALL.replace("{commsched.runtime_ns = 50000000}", "")
    assert " ".join(schedule(step, "--target=b200")[1]) == (
        "simulated: target b200; costs: model (2 of 3 operations pinned)"
    )


def test_one_function_is_the_step(schedule, small):
    lines, _ = small
    assert "step time 250.0 ms 250.0 ms".split() in lines
    assert not any(line[:1] == ["whole"] for line in lines)
    lines = schedule(SMALL, "--memory-budget=9.9%")
    assert "step time 250.0 ms 250.0 ms".split() in lines
    lines = schedule(SMALL, "--memory-budget=10%")
    assert "step time 250.0 ms 150.0 ms -40.0 %".split() in lines


def test_what_more_memory_buys(schedule, small):
    says_none = "No larger budget gives a shorter one.".split()
    lines, _ = small
    start = next(i for i, line in enumerate(lines) if line[:1] == ["small"])
    assert lines[start][-5:] == "250.0 ms 66.7 % 1".split()
    assert lines[start + 1][-5:] == "150.0 ms 0.0 % 1".split()
    assert says_none not in lines
    assert says_none in schedule(LARGE)


def test_draws_where_matplotlib_is(small):
    lines, folder = small
    picture = str(folder / "step.frontier.png")
    drawn = ["drawn:", picture] in lines
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        assert not drawn
        assert any("./python[plot]" in " ".join(line) for line in lines)
    else:
        assert drawn and Path(picture).stat().st_size


def test_writes_the_timeline(schedule, tmp_path):
    lines = schedule(SMALL, "--memory-budget=2000B", draws=True)
    page = tmp_path / "step.timeline.html"
    assert ["timeline:", str(page)] in lines
    text = page.read_text()
    for key, time in (("before", 250000000), ("after", 150000000)):
        step = text.index(f'"{key}":')
        assert text.index(f'"step_time_ns":{time}', step) < step + 200
    assert '"frontier":' in text
    picture = tmp_path / "step.timeline.png"
    if shutil.which("chromium"):
        assert ["drawn:", str(picture)] in lines
        assert picture.stat().st_size
    else:
        assert any(line[:3] == ["not", "drawn:", "no"] for line in lines)


@pytest.mark.parametrize(
    "budget", seeds.turns(["5gb", "-5%", "%", "5%%", "nan%"], 2)
)
def test_refuses_what_is_no_budget(schedule, budget):
    (line, *_) = schedule(STEP, f"--memory-budget={budget}", fails=True)
    assert line[0] == "error:" and f"'{budget}'" in line


def test_refuses_a_target_that_is_not_known(schedule):
    (line, *_) = schedule(STEP, "--target=abacus", fails=True)
    assert line[0] == "error:" and "'abacus';" in line


def test_a_module_without_functions_is_an_error(schedule):
    (line, *_) = schedule("commsched.group @g size(2)\n", fails=True)
    assert "no function" in " ".join(line)


def test_a_step_has_the_frontier_of_what_runs_one_after_the_other():
    forward = [Point(10, 10, 50, 40, 3), Point(30, 25, 45, 41, 2)]
    backward = [Point(20, 20, 90, 80, 7), Point(None, 40, 80, 80, 7)]
    assert demo.add_up_frontiers([forward, backward]) == [
        Point(20, 20, 140, 120, 10),
        Point(25, 25, 135, 121, 9),
        Point(40, 40, 125, 121, 9),
    ]
    # What one function would gain from, another one cannot do.
    rest = [Point(40, 40, 125, 121, 9)]
    assert demo.add_up_frontiers([forward, backward[1:]]) == rest


def report_of(*collectives, **numbers):
    """A report of collectives, given by name and bytes."""
    entry = {"group": "g", "kind": "all_gather", "exposed_ns": 0}
    listed = [
        {**entry, "name": name, "bytes": size} for name, size in collectives
    ]
    return {"collectives": listed, **numbers}


def test_communication_is_that_before():
    before = {"f": report_of(("x", 8), ("y", 8))}
    chunks = (("x.chunk0", 4), ("x.chunk1", 4))
    demo.check_same_communication(before, {"f": report_of(*chunks, ("y", 8))})
    for wrong in (chunks, (*chunks, ("y", 7)), (*chunks, ("y", 8), ("z", 8))):
        with pytest.raises(Failure, match="does not communicate what it did"):
            demo.check_same_communication(before, {"f": report_of(*wrong)})


def test_both_steps_are_compared_with_what_merging_could_give(capsys):
    rest = dict.fromkeys(
        ("compute_time_ns", "comm_time_ns", "exposed_comm_ns"), 10**6
    )
    rest["peak_memory_bytes"] = 1

    def version(name, step, tight, merging):
        return report_of(
            (name, 8),
            step_time_ns=step * 10**6,
            tight_lower_bound_ns=tight * 10**6,
            merging_lower_bound_ns=merging * 10**6,
            **rest,
        )

    demo.print_versions("@f", version("x", 30, 20, 12), version("y", 15, 15, 14))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert "merging lower bound 12.0 ms 12.0 ms".split() in lines
    assert "step above it 150.0 % 25.0 %".split() in lines


# -- A step that repeats ---------------------------------------------------

# The reduction hides under nothing of its own repetition, and under @forward of
# the next one.
REPEATED = """
commsched.group @g size(2)

func.func @step(
    %w: tensor<100xi8> {commsched.role = "parameter", commsched.carried = 0 : i64},
    %x: tensor<100xi8> {commsched.role = "input"}) -> tensor<100xi8> {
  %y = call @forward(%w, %x)
      : (tensor<100xi8>, tensor<100xi8>) -> tensor<100xi8>
  %d = call @backward(%y) : (tensor<100xi8>) -> tensor<100xi8>
  %n = call @optimizer(%w, %d)
      : (tensor<100xi8>, tensor<100xi8>) -> tensor<100xi8>
  return %n : tensor<100xi8>
}

func.func private @forward(
    %w: tensor<100xi8> {commsched.role = "parameter"},
    %x: tensor<100xi8> {commsched.role = "input"}) -> tensor<100xi8> {
  %e = commsched.compute "embed"(%x) {commsched.runtime_ns = 40000000}
      : (tensor<100xi8>) -> tensor<100xi8>
  %y = commsched.compute "product"(%e, %w) {commsched.runtime_ns = 60000000}
      : (tensor<100xi8>, tensor<100xi8>) -> tensor<100xi8>
  return %y : tensor<100xi8>
}

func.func private @backward(
    %y: tensor<100xi8> {commsched.freeable}) -> tensor<100xi8> {
  %f = commsched.all_reduce %y on @g reduction(max)
      {commsched.runtime_ns = 30000000}
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %d = commsched.wait %f : !commsched.future<tensor<100xi8>>
  return %d : tensor<100xi8>
}

func.func private @optimizer(
    %w: tensor<100xi8> {commsched.freeable},
    %d: tensor<100xi8> {commsched.freeable}) -> tensor<100xi8> {
  %n = commsched.compute "update"(%w, %d) {commsched.runtime_ns = 10000000}
      : (tensor<100xi8>, tensor<100xi8>) -> tensor<100xi8>
  return %n : tensor<100xi8>
}
"""


def test_periods_get_shorter_with_what_is_scheduled_together(repeat, tmp_path):
    lines = repeat(REPEATED, "--memory-budget=100%")
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
    lines = repeat(REPEATED, "--memory-budget=0%")
    (steady,) = [line for line in lines if line[:2] == ["steady", "state"]]
    assert steady[-1] == "1"


def test_a_module_without_a_step_that_repeats_is_an_error(repeat):
    (line, *_) = repeat("func.func @f() { return }", fails=True)
    assert " ".join(line).startswith(
        "error: the module has no step that repeats"
    )


def test_a_budget_that_is_none_is_an_error(repeat):
    lines = repeat(REPEATED, "--memory-budget=much", fails=True)
    assert any("'memory-budget'" in word for line in lines for word in line)
