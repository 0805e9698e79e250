# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.profile matches traces to programs and writes costs."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("ijson")

from commsched import opt  # noqa: E402
from commsched.profile.__main__ import main  # noqa: E402
from test_profile_traces import complete, gpu_events, write  # noqa: E402

PROGRAM = """
commsched.group @dp size(2)
func.func @step(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<32x64xf32>) {
  %y = commsched.compute "aten.mm"(%x, %w) {commsched.name = "mm"}
      : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %r = commsched.compute "aten.relu"(%y) {commsched.name = "relu"}
      : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %a = commsched.all_reduce %r on @dp reduction(sum)
      {commsched.name = "sum"}
      : tensor<32x64xf32> -> !commsched.future<tensor<32x64xf32>>
  %b = commsched.wait %a : !commsched.future<tensor<32x64xf32>>
  %z = commsched.compute "aten.mm"(%x, %w) {commsched.name = "mm_1"}
      : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %g = commsched.all_gather %z on @dp dim(0) {commsched.name = "gather"}
      : tensor<32x64xf32> -> !commsched.future<tensor<64x64xf32>>
  %o = commsched.wait %g : !commsched.future<tensor<64x64xf32>>
  %q = commsched.compute "aten.mm"(%o, %w) {commsched.name = "mm_2"}
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %q, %b : tensor<64x64xf32>, tensor<32x64xf32>
}
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "step.mlir"
    path.write_text(PROGRAM)
    return str(path)


def operator(name, begin, length, *shapes):
    return complete(name, "cpu_op", begin, length, **{
        "Input Dims": [list(shape) for shape in shapes],
        "Input type": ["float"] * len(shapes)})


def host_step(number, slower=0):
    """A step without a GPU; `slower` microseconds for the all_reduce."""
    at = 1000 * number
    small, square = (32, 64), (64, 64)
    return [
        complete(f"ProfilerStep#{number}", "user_annotation", at, 900),
        operator("aten::mm", at + 1, 10, small, square),
        operator("aten::relu", at + 20, 5, small),
        operator("aten::clamp_min", at + 21, 3, small),
        complete("gloo:all_reduce", "user_annotation", at + 30, 100 + slower,
                 thread=2, **{"Input Dims": [small], "Input type": ["float"]}),
        operator("aten::mm", at + 140, 12, small, square),
        complete("gloo:all_gather", "user_annotation", at + 160, 50, thread=2,
                 **{"Input Dims": [small], "Input type": ["float"]}),
        operator("aten::mm", at + 300, 30, square, square),
        operator("aten::sin", at + 350, 1, small),
    ]


def times(path):
    with open(path, encoding="utf-8") as file:
        costs = json.load(file)
    return costs, {
        row["name"]: row["time_ns"] for row in costs["operations"]
        if "name" in row}


def test_costs(program, tmp_path, capsys):
    trace = write(tmp_path / "t.json", [
        *host_step(0), *host_step(1, slower=20), *host_step(2, slower=50)])
    output = str(tmp_path / "costs.json")
    assert main([trace, "--program", program, "-o", output,
                 "--format=json"]) == 0
    costs, by_name = times(output)
    assert by_name == {"mm": 10_000, "relu": 5_000, "sum": 120_000,
                       "mm_1": 12_000, "gather": 50_000, "mm_2": 30_000}
    # 30 us over the two medians, rounded up.
    assert costs["slack_percent"] == -(-100 * 30 // 170)
    types = "(tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>"
    # The lower of the two in the middle of six.
    assert [row["time_ns"] for row in costs["operations"]
            if row.get("types") == types] == [10_000]
    assert {row["collective"]: row["bytes"] for row in costs["rows"]} == {
        "all_gather": 64 * 64 * 4, "all_reduce": 32 * 64 * 4}
    report = json.loads(capsys.readouterr().out)
    # 10 + 5 + 120 + 12 + 50 + 30: every wait is behind its start.
    assert report["step"]["predicted_ns"] == 227_000
    assert report["step"]["measured_ns"] == 900_000
    assert report["not_in_trace"] == []
    # What `relu` calls is part of it.
    assert report["not_in_program"] == {"aten.sin": 3}
    assert report["matched"] == {"operations": 6, "activities": 18}


def test_text(program, tmp_path, capsys):
    trace = write(tmp_path / "t.json", host_step(0)[:-3])
    assert main([trace, "--program", program]) == 0
    text = capsys.readouterr().out
    assert "4 operations matched by 4 activities of 1 steps" in text
    assert "2 operations not in the trace: gather, mm_2" in text


def test_scheduling_gain(program, tmp_path, capsys):
    trace = write(tmp_path / "t.json", host_step(0))
    assert main([trace, "--program", program, "--exposure",
                 "--format=json"]) == 0
    report = json.loads(capsys.readouterr().out)
    predicted = report["predicted"]
    assert predicted["step_ns"] == 207_000
    # The second product, 12 us, runs beside the all_reduce.
    assert predicted["scheduled_ns"] <= 195_000
    gathers = [c for c in report["collectives"] if c["kind"] == "all_gather"]
    assert gathers[0]["name"] == "gather"
    assert gathers[0]["exposed_ns"] == 50_000 and gathers[0]["limited_by"]
    assert main([trace, "--program", program, "--exposure"]) == 0
    assert "behind commsched-pipeline" in capsys.readouterr().out


def test_gloo_reduces_for_scatters(tmp_path):
    """Gloo has no reduce_scatter: an all_reduce of that size that is none of
    the program's is one."""
    program = tmp_path / "step.mlir"
    program.write_text("""
commsched.group @dp size(2)
func.func @step(%x: tensor<32x64xf32>)
    -> (tensor<16x64xf32>, tensor<32x64xf32>) {
  %s = commsched.reduce_scatter %x on @dp reduction(sum) dim(0)
      {commsched.name = "scatter"}
      : tensor<32x64xf32> -> !commsched.future<tensor<16x64xf32>>
  %y = commsched.wait %s : !commsched.future<tensor<16x64xf32>>
  %r = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.name = "reduce"}
      : tensor<32x64xf32> -> !commsched.future<tensor<32x64xf32>>
  %z = commsched.wait %r : !commsched.future<tensor<32x64xf32>>
  return %y, %z : tensor<16x64xf32>, tensor<32x64xf32>
}""")
    events = [
        complete("gloo:all_reduce", "user_annotation", 100 * i, 10 + i, **{
            "Input Dims": [[32, 64]], "Input type": ["float"]})
        for i in range(3)]
    trace = write(tmp_path / "t.json", [
        complete("aten::sin", "cpu_op", 0, 1), *events])
    output = str(tmp_path / "costs.json")
    assert main([trace, "--program", str(program), "-o", output]) == 0
    assert times(output)[1] == {"reduce": 10_000, "scatter": 11_000}


def test_trace_without_shapes(program, tmp_path):
    events = host_step(0)
    for event in events:
        event["args"].pop("Input Dims", None)
    trace = write(tmp_path / "t.json", events)
    output = str(tmp_path / "costs.json")
    assert main([trace, "--program", program, "-o", output]) == 0
    assert times(output)[1]["mm_2"] == 30_000


def test_other_model(program, tmp_path, capsys):
    trace = write(tmp_path / "t.json", [
        operator("aten::mm", 0, 10, (8, 8), (8, 8))])
    output = tmp_path / "costs.json"
    assert main([trace, "--program", program, "-o", str(output)]) == 1
    error = capsys.readouterr().err
    assert trace in error and "expected a trace of the same model" in error
    assert "'aten.mm' of f32[8, 8], f32[8, 8]" in error
    assert not output.exists()


def test_errors(program, tmp_path, capsys):
    trace = write(tmp_path / "t.json", host_step(0))
    missing = str(tmp_path / "none" / "costs.json")
    assert main([trace, "--program", program, "-o", missing]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    assert main([trace, "--program", str(tmp_path / "none.mlir")]) == 1
    assert "none.mlir" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([trace])


def test_several_programs(program, tmp_path, capsys):
    """A forward and a backward in files of their own."""
    backward = tmp_path / "backward.mlir"
    backward.write_text("""
func.func @backward(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %y = commsched.compute "aten.sin"(%x) {commsched.name = "sin"}
      : (tensor<32x64xf32>) -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}""")
    trace = write(tmp_path / "t.json", host_step(0))
    output = str(tmp_path / "costs.json")
    both = [trace, "--program", program, "--program", str(backward)]
    assert main([*both, "-o", output, "--format=json"]) == 0
    costs, by_name = times(output)
    assert by_name["sin"] == 1_000 and by_name["mm_2"] == 30_000
    assert {row["name"]: row["function"] for row in costs["operations"]
            if "name" in row}["sin"] == "backward"
    report = json.loads(capsys.readouterr().out)
    assert report["step"]["predicted_ns"] == 208_000
    assert report["not_in_program"] == {}
    assert main([*both, "--exposure", "--format=json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["predicted"]["scheduled_ns"] <= 196_000
    assert main([*both, "--program", program]) == 1
    assert "has a function '@step', and so has" in capsys.readouterr().err


def test_torch_profiler(program, tmp_path):
    """A real trace of two gloo ranks."""
    pytest.importorskip("torch")
    from profiled_ranks import record
    from ranks import run_ranks

    run_ranks(record, 2, args=(str(tmp_path),))
    traces = [str(tmp_path / f"{rank}.json.gz") for rank in range(2)]
    output = str(tmp_path / "costs.json")
    assert main([*traces, "--program", program, "-o", output]) == 0
    costs, by_name = times(output)
    assert sorted(by_name) == ["gather", "mm", "mm_1", "mm_2", "relu", "sum"]
    counts = {row["count"] for row in costs["operations"] if "name" in row}
    assert counts == {6}


def find_runner():
    """The path of commsched-run, beside commsched-opt or on PATH."""
    beside = Path(opt.find()).with_name("commsched-run")
    return str(beside) if beside.exists() else shutil.which("commsched-run")


def test_timeline_of_a_run(program, tmp_path, capsys):
    """The timeline of three repetitions on threads."""
    runner = find_runner()
    if runner is None:
        pytest.skip("no commsched-run")
    timeline = str(tmp_path / "timeline.json")
    done = subprocess.run(
        [runner, program, "--ranks=2", f"--timeline={timeline}",
         "--iterations=3", "--modelled-times", "--emulate-data=0"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    output = str(tmp_path / "costs.json")
    assert main([timeline, "--program", program, "-o", output,
                 "--format=json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["not_in_trace"] == [] and report["not_in_program"] == {}
    assert report["ranks"] == 2 and report["steps"] == 6
    assert report["matched"] == {"operations": 6, "activities": 36}
    # Modelled times are those of the model, on every machine.
    step = report["step"]
    assert step["predicted_ns"] == step["model_ns"]


def test_timeline_of_all_runs(program, tmp_path, capsys):
    """The measured runs are steps; the warm-up is none."""
    runner = find_runner()
    if runner is None:
        pytest.skip("no commsched-run")
    timeline = str(tmp_path / "timeline.json")
    done = subprocess.run(
        [runner, program, "--ranks=2", f"--timeline={timeline}", "--repeat=4",
         "--timeline-runs=all", "--modelled-times", "--emulate-data=0"],
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert main([timeline, "--program", program, "--format=json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ranks"] == 2 and report["steps"] == 8
    assert report["matched"] == {"operations": 6, "activities": 48}
    # The last computation of a run does not last until the next run begins.
    step = report["step"]
    assert step["predicted_ns"] == step["model_ns"]


def test_gpu_trace(tmp_path, capsys):
    """Kernels get the operation of the operator that launched them."""
    program = tmp_path / "step.mlir"
    program.write_text("""
commsched.group @dp size(2)
func.func @step(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>, %s: tensor<16xf32>)
    -> (tensor<8x8xf32>, tensor<32xf32>) {
  %y = commsched.compute "aten.mm"(%x, %w) {commsched.name = "mm"}
      : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %g = commsched.all_gather %s on @dp dim(0) {commsched.name = "gather"}
      : tensor<16xf32> -> !commsched.future<tensor<32xf32>>
  %o = commsched.wait %g : !commsched.future<tensor<32xf32>>
  return %y, %o : tensor<8x8xf32>, tensor<32xf32>
}""")
    events = gpu_events()
    events.append(complete("cuLaunchKernel", "cuda_driver", 1050, 1,
                           correlation=7))
    events.append(complete("void fused_kernel()", "kernel", 1970, 1, 7,
                           correlation=7))
    # Launched in no step.
    events.append(complete("memset", "gpu_memset", 5000, 1, 7))
    traces = [
        write(tmp_path / f"{rank}.json", events,
              distributedInfo={"rank": rank}) for rank in range(2)]
    output = str(tmp_path / "costs.json")
    assert main([*traces, "--program", str(program), "-o", output,
                 "--format=json"]) == 0
    costs, by_name = times(output)
    # 40 and 41 us on both ranks: the lower of the two in the middle.
    assert by_name == {"mm": 40_000, "gather": 50_000}
    assert costs["slack_percent"] == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ranks"] == 2 and report["steps"] == 4
    assert report["not_in_program"] == {"void fused_kernel()": 2}
    assert report["outside_steps"] == 2
    assert report["step"]["measured_ns"] == 60_000
