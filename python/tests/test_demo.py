# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.demo schedule and repeat: what they say of a step, and their
errors."""

import functools
import shutil
from pathlib import Path

import pytest

from commsched import demo
from commsched.demo import Failure
from commsched.plot import Point

# @small takes 1,001 bytes and 250 ms, and 100 bytes more make it 150 ms; @large
# takes 2,000 bytes.
STEP = """
!x = tensor<100xi8>
!y = tensor<1000xi8>
commsched.group @g size(2)
func.func @small(%x: !x) -> (!x, tensor<1xi8>) {
  %l = commsched.compute "large"(%x) {commsched.runtime_ns = 100000000} : (!x) -> tensor<900xi8>
  %s = commsched.compute "small"(%l) {commsched.runtime_ns = 50000000}
      : (tensor<900xi8>) -> tensor<1xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 100000000, commsched.name = "f"} : !x -> !commsched.future<!x>
  %w = commsched.wait %f : !commsched.future<!x>
  return %w, %s : !x, tensor<1xi8>
}
func.func @large(%x: !y) -> !y {
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 10000000, commsched.name = "f"} : !y -> !commsched.future<!y>
  %w = commsched.wait %f : !commsched.future<!y>
  return %w : !y
}
"""
GROUP, *FUNCTIONS = STEP.split("func.func")
SMALL, LARGE = (f"{GROUP}func.func{function}" for function in FUNCTIONS)


@pytest.fixture
def run_demo(opt_program, tmp_path, monkeypatch, capsys):
    """Runs a command on a step; returns the words of each line it prints.
    Only if it draws, it finds a browser, which takes longest to start."""
    monkeypatch.setenv("COMMSCHED_OPT", opt_program)

    def run(name, step, *options, fails=False, draws=False):
        path = tmp_path / "step.mlir"
        path.write_text(step, encoding="utf-8")
        with monkeypatch.context() as patch:
            if not draws:
                patch.setenv("PATH", "")
            status = demo.main([name, str(path), *options, "--output-dir", str(tmp_path)])
        assert status == fails
        printed = capsys.readouterr()
        text = printed.err if fails else printed.out
        return [line.split() for line in text.splitlines()]

    return run


@pytest.fixture
def schedule(run_demo):
    return functools.partial(run_demo, "schedule")


@pytest.fixture
def small(schedule):
    """What the script prints of @small alone."""
    return schedule(SMALL)


def test_functions_and_the_step_are_compared(schedule, tmp_path):
    lines = schedule(STEP, "--memory-budget=10%")
    assert [line for line in lines if line[:2] == ["step", "time"]] == [
        "step time 250.0 ms 150.0 ms -40.0 %".split(),
        "step time 10.0 ms 10.0 ms".split(),
        "step time 260.0 ms 160.0 ms -38.5 %".split(),
    ]
    gaps = [" ".join(line[-4:]) for line in lines if line[:3] == ["step", "above", "it"]]
    assert gaps == ["66.7 % 0.0 %", "0.0 % 0.0 %", "62.5 % 0.0 %"]
    assert "collectives 2 2".split() in lines
    assert ["@small"] in lines and ["whole", "step"] in lines
    for ending in ("scheduled.mlirbc", "before.trace.json", "after.trace.json",
                   "frontier.csv"):
        assert (tmp_path / f"step.{ending}").stat().st_size


def test_says_what_the_times_rest_on(schedule):
    step = SMALL.replace("{commsched.runtime_ns = 50000000}", "")
    assert " ".join(schedule(step, "--target=b200")[1]) == (
        "simulated: target b200; costs: model (2 of 3 operations pinned)"
    )


def test_one_function_is_the_step(schedule, small, tmp_path):
    assert "step time 250.0 ms 250.0 ms".split() in small
    assert not any(line[:1] == ["whole"] for line in small)
    picture = str(tmp_path / "step.frontier.png")
    drawn = ["drawn:", picture] in small
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        assert not drawn
        assert any("./python[plot]" in " ".join(line) for line in small)
    else:
        assert drawn and Path(picture).stat().st_size
    lines = schedule(SMALL, "--memory-budget=9.9%")
    assert "step time 250.0 ms 250.0 ms".split() in lines


def test_what_more_memory_buys(schedule, small):
    says_none = "No larger budget gives a shorter one.".split()
    start = next(i for i, line in enumerate(small) if line[:1] == ["small"])
    assert small[start][-5:] == "250.0 ms 66.7 % 1".split()
    assert small[start + 1][-5:] == "150.0 ms 0.0 % 1".split()
    assert says_none not in small
    assert says_none in schedule(LARGE)


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


@pytest.mark.parametrize("name, step, option, said", [
    *(("schedule", STEP, f"--memory-budget={budget}", f"'{budget}'")
      for budget in ("5gb", "-5%", "%", "5%%", "nan%")),
    ("schedule", STEP, "--target=abacus", "'abacus';"),
    ("schedule", "commsched.group @g size(2)\n", "--target=h100", "no function"),
    ("repeat", "func.func @f() { return }", "--target=h100",
     "the module has no step that repeats"),
    ("repeat", "REPEATED", "--memory-budget=much", "'memory-budget'"),
])
def test_errors(run_demo, name, step, option, said):
    step = REPEATED if step == "REPEATED" else step
    lines = run_demo(name, step, option, fails=True)
    text = " ".join(word for line in lines for word in line)
    assert text.startswith("error: ") and said in text


def test_a_step_has_the_frontier_of_what_runs_one_after_the_other():
    forward = [Point(10, 50, 40, 10, 3), Point(25, 45, 41, 30, 2)]
    backward = [Point(20, 90, 80, 20, 7), Point(40, 80, 80, None, 7)]
    assert demo.add_up_frontiers([forward, backward]) == [
        Point(20, 140, 120, 20, 10),
        Point(25, 135, 121, 25, 9),
        Point(40, 125, 121, 40, 9),
    ]
    # What one function would gain from, another one cannot do.
    rest = [Point(40, 125, 121, 40, 9)]
    assert demo.add_up_frontiers([forward, backward[1:]]) == rest


def report_of(*collectives, **numbers):
    """A report of collectives, given by name and bytes."""
    entry = {"group": "g", "kind": "all_gather", "exposed_ns": 0}
    listed = [{**entry, "name": name, "bytes": size} for name, size in collectives]
    return {"collectives": listed, **numbers}


def test_communication_is_that_before():
    before = {"f": report_of(("x", 8), ("y", 8))}
    chunks = (("x.chunk0", 4), ("x.chunk1", 4))
    demo.check_same_communication(before, {"f": report_of(*chunks, ("y", 8))})
    for wrong in (chunks, (*chunks, ("y", 7)), (*chunks, ("y", 8), ("z", 8))):
        with pytest.raises(Failure, match="does not communicate what it did"):
            demo.check_same_communication(before, {"f": report_of(*wrong)})


def test_both_steps_are_compared_with_what_merging_could_give(capsys):
    keys = ("compute_time_ns", "comm_time_ns", "exposed_comm_ns", "peak_memory_bytes")

    def version(name, *bounds):
        titles = ("step_time_ns", "tight_lower_bound_ns", "merging_lower_bound_ns")
        times = {key: time * 10**6 for key, time in zip(titles, bounds)}
        return report_of((name, 8), **times, **dict.fromkeys(keys, 10**6))

    demo.print_versions("@f", version("x", 30, 20, 12), version("y", 15, 15, 14))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert "merging lower bound 12.0 ms 12.0 ms".split() in lines
    assert "step above it 150.0 % 25.0 %".split() in lines


# -- A step that repeats ---------------------------------------------------

# The reduction hides under nothing of its own repetition, and under @forward of
# the next one.
REPEATED = """
!t = tensor<100xi8>
commsched.group @g size(2)
func.func @step(%w: !t {commsched.role = "parameter", commsched.carried = 0 : i64},
    %x: !t {commsched.role = "input"}) -> !t {
  %y = call @forward(%w, %x) : (!t, !t) -> !t
  %d = call @backward(%y) : (!t) -> !t
  %n = call @optimizer(%w, %d) : (!t, !t) -> !t
  return %n : !t
}
func.func private @forward(
    %w: !t {commsched.role = "parameter"}, %x: !t {commsched.role = "input"}) -> !t {
  %e = commsched.compute "embed"(%x) {commsched.runtime_ns = 40000000} : (!t) -> !t
  %y = commsched.compute "product"(%e, %w) {commsched.runtime_ns = 60000000} : (!t, !t) -> !t
  return %y : !t
}
func.func private @backward(%y: !t {commsched.freeable}) -> !t {
  %f = commsched.all_reduce %y on @g reduction(max) {commsched.runtime_ns = 30000000}
      : !t -> !commsched.future<!t>
  %d = commsched.wait %f : !commsched.future<!t>
  return %d : !t
}
func.func private @optimizer(
    %w: !t {commsched.freeable}, %d: !t {commsched.freeable}) -> !t {
  %n = commsched.compute "update"(%w, %d) {commsched.runtime_ns = 10000000} : (!t, !t) -> !t
  return %n : !t
}
"""


def test_periods_get_shorter_with_what_is_scheduled_together(run_demo, tmp_path):
    lines = run_demo("repeat", REPEATED, "--memory-budget=100%")
    assert " ".join(lines[1]) == (
        "simulated: costs pinned in the program (commsched.runtime_ns)"
    )
    periods = {" ".join(line[:2]): line[2:] for line in lines if "ms" in line}
    apart, steady = periods["functions apart"], periods["steady state"]
    assert apart[:4] == ["140.0", "ms", "27.3", "%"]
    assert steady[:6] == ["110.0", "ms", "0.0", "%", "0.0", "ms"]
    assert steady[-1] == "2"
    assert "bound of the period: 110.0 ms,".split() in [line[:6] for line in lines]
    assert (tmp_path / "step.steady.mlirbc").exists()
    assert (tmp_path / "step.steady.trace.json").exists()
    # Without memory repetitions do not overlap.
    lines = run_demo("repeat", REPEATED, "--memory-budget=0%")
    (steady,) = [line for line in lines if line[:2] == ["steady", "state"]]
    assert steady[-1] == "1"
