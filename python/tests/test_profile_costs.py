# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.profile matches traces to programs and writes costs."""

import json
import random
import subprocess

import pytest

from commsched.profile.__main__ import main, read_trace
from commsched.profile.activities import Activity
from commsched.profile.fused import (
    FusedGroup,
    find_anchors,
    group_fused,
    is_fused,
    split,
)
from commsched.profile.programs import Target
from test_profile_traces import complete, gpu_events, write

PROGRAM = """
!s = tensor<32x64xf32>
!q = tensor<64x64xf32>
commsched.group @dp size(2)
func.func @step(%x: !s, %w: !q) -> (!q, !s) {
  %y = commsched.compute "aten.mm"(%x, %w) {commsched.name = "mm"} : (!s, !q) -> !s
  %r = commsched.compute "aten.relu"(%y) {commsched.name = "relu"} : (!s) -> !s
  %a = commsched.all_reduce %r on @dp reduction(sum) {commsched.name = "sum"}
      : !s -> !commsched.future<!s>
  %b = commsched.wait %a : !commsched.future<!s>
  %z = commsched.compute "aten.mm"(%x, %w) {commsched.name = "mm_1"} : (!s, !q) -> !s
  %g = commsched.all_gather %z on @dp dim(0) {commsched.name = "gather"}
      : !s -> !commsched.future<!q>
  %o = commsched.wait %g : !commsched.future<!q>
  %q = commsched.compute "aten.mm"(%o, %w) {commsched.name = "mm_2"} : (!q, !q) -> !q
  return %q, %b : !q, !s
}
"""


@pytest.fixture
def program(tmp_path):
    """Writes a program; returns its path."""

    def write_program(text=PROGRAM, name="step"):
        path = tmp_path / f"{name}.mlir"
        path.write_text(text)
        return str(path)

    return write_program


@pytest.fixture
def measure(tmp_path, capsys):
    """Runs the command; returns the cost file, what it says of operations by name,
    and the report. A trace is a path or a list of events."""

    def run(traces, *programs):
        traces = [
            trace if isinstance(trace, str) else
            write(tmp_path / f"{rank}.json", trace, distributedInfo={"rank": rank})
            for rank, trace in enumerate(traces)
        ]
        output = tmp_path / "costs.json"
        given = [word for path in programs for word in ("--program", path)]
        command = [*traces, *given, "-o", str(output), "--format=json"]
        assert main(command) == 0
        costs = json.loads(output.read_text())
        named = {row["name"]: row for row in costs["operations"] if "name" in row}
        return costs, named, json.loads(capsys.readouterr().out)

    return run


def times(named):
    return {name: row["time_ns"] for name, row in named.items()}


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


def test_costs(program, measure):
    trace = [*host_step(0), *host_step(1, slower=20), *host_step(2, slower=50)]
    costs, named, report = measure([trace], program())
    assert times(named) == {"mm": 10_000, "relu": 5_000, "sum": 120_000,
                            "mm_1": 12_000, "gather": 50_000, "mm_2": 30_000}
    # 30 us over the two medians, rounded up.
    assert costs["slack_percent"] == -(-100 * 30 // 170)
    types = "(tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>"
    # The lower of the two in the middle of six.
    assert [row["time_ns"] for row in costs["operations"]
            if row.get("types") == types] == [10_000]
    assert {row["collective"]: row["bytes"] for row in costs["rows"]} == {
        "all_gather": 64 * 64 * 4, "all_reduce": 32 * 64 * 4}
    # 10 + 5 + 120 + 12 + 50 + 30: every wait is behind its start.
    assert report["step"]["predicted_ns"] == 227_000
    assert report["step"]["measured_ns"] == 900_000
    assert report["not_in_trace"] == []
    # What `relu` calls is part of it.
    assert report["not_in_program"] == {"aten.sin": 3}
    assert report["matched"] == {"operations": 6, "activities": 18}


def test_scheduling_gain(program, tmp_path, capsys):
    command = [write(tmp_path / "t.json", host_step(0)), "--program", program()]
    assert main([*command, "--exposure", "--format=json"]) == 0
    report = json.loads(capsys.readouterr().out)
    predicted = report["predicted"]
    assert predicted["step_ns"] == 207_000
    # The second product, 12 us, runs beside the all_reduce.
    assert predicted["scheduled_ns"] <= 195_000
    gathers = [c for c in report["collectives"] if c["kind"] == "all_gather"]
    assert gathers[0]["name"] == "gather"
    assert gathers[0]["exposed_ns"] == 50_000 and gathers[0]["limited_by"]
    assert main([*command, "--exposure"]) == 0
    assert "behind commsched-pipeline" in capsys.readouterr().out


def test_gloo_reduces_for_scatters(program, measure):
    """Gloo has no reduce_scatter: an all_reduce of that size that is none of
    the program's is one."""
    path = program("""
!s = tensor<32x64xf32>
!h = tensor<16x64xf32>
commsched.group @dp size(2)
func.func @step(%x: !s) -> (!h, !s) {
  %s = commsched.reduce_scatter %x on @dp reduction(sum) dim(0) {commsched.name = "scatter"}
      : !s -> !commsched.future<!h>
  %y = commsched.wait %s : !commsched.future<!h>
  %r = commsched.all_reduce %x on @dp reduction(sum) {commsched.name = "reduce"}
      : !s -> !commsched.future<!s>
  %z = commsched.wait %r : !commsched.future<!s>
  return %y, %z : !h, !s
}""")
    events = [
        complete("gloo:all_reduce", "user_annotation", 100 * i, 10 + i, **{
            "Input Dims": [[32, 64]], "Input type": ["float"]})
        for i in range(3)]
    trace = [complete("aten::sin", "cpu_op", 0, 1), *events]
    _, named, _ = measure([trace], path)
    assert times(named) == {"reduce": 10_000, "scatter": 11_000}


def test_trace_without_shapes(program, measure, tmp_path, capsys):
    events = host_step(0)
    for event in events:
        event["args"].pop("Input Dims", None)
    _, named, _ = measure([events], program())
    assert times(named)["mm_2"] == 30_000
    trace = write(tmp_path / "t.json", host_step(0)[:-3])
    assert main([trace, "--program", program()]) == 0
    text = capsys.readouterr().out
    assert "4 operations matched by 4 activities of 1 steps" in text
    assert "2 operations not in the trace: gather, mm_2" in text


def test_other_model(program, tmp_path, capsys):
    trace = write(tmp_path / "t.json", [operator("aten::mm", 0, 10, (8, 8), (8, 8))])
    output = tmp_path / "costs.json"
    assert main([trace, "--program", program(), "-o", str(output)]) == 1
    error = capsys.readouterr().err
    assert trace in error and "expected a trace of the same model" in error
    assert "'aten.mm' of f32[8, 8], f32[8, 8]" in error
    assert not output.exists()
    missing = str(tmp_path / "none" / "costs.json")
    trace = write(tmp_path / "t.json", host_step(0))
    for words, message in (
        (["--program", program(), "-o", missing], "No such file or directory"),
        (["--program", str(tmp_path / "none.mlir")], "none.mlir"),
    ):
        assert main([trace, *words]) == 1
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([trace])


def test_several_programs(program, measure, tmp_path, capsys):
    """A forward and a backward in files of their own."""
    forward, backward = program(), program("""
func.func @backward(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %y = commsched.compute "aten.sin"(%x) {commsched.name = "sin"}
      : (tensor<32x64xf32>) -> tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}""", "backward")
    _, named, report = measure([host_step(0)], forward, backward)
    assert times(named)["sin"] == 1_000 and times(named)["mm_2"] == 30_000
    assert named["sin"]["function"] == "backward"
    assert report["step"]["predicted_ns"] == 208_000
    assert report["not_in_program"] == {}
    trace = write(tmp_path / "t.json", host_step(0))
    both = [trace, "--program", forward, "--program", backward]
    assert main([*both, "--exposure", "--format=json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["predicted"]["scheduled_ns"] <= 196_000
    assert main([*both, "--program", forward]) == 1
    assert "has a function '@step', and so has" in capsys.readouterr().err


def test_torch_profiler(program, measure, tmp_path):
    """A real trace of two gloo ranks."""
    pytest.importorskip("torch")
    from profiled import record_ranks
    from ranks import run_ranks

    run_ranks(record_ranks, 2, args=(str(tmp_path),))
    traces = [str(tmp_path / f"{rank}.json.gz") for rank in range(2)]
    _, named, _ = measure(traces, program())
    assert sorted(named) == ["gather", "mm", "mm_1", "mm_2", "relu", "sum"]
    assert {row["count"] for row in named.values()} == {6}


@pytest.mark.parametrize("runs, steps, activities", [
    # Three repetitions on threads.
    (["--iterations=3"], 6, 36),
    # The measured runs are steps; the warm-up is none.
    (["--repeat=4", "--timeline-runs=all"], 8, 48),
])
def test_timeline_of_a_run(program, tmp_path, measure, built, runs, steps, activities):
    timeline = str(tmp_path / "timeline.json")
    subprocess.run(
        [built("commsched-run"), program(), "--ranks=2", f"--timeline={timeline}",
         "--modelled-times", "--emulate-data=0", *runs], check=True)
    *_, report = measure([timeline], program())
    assert report["not_in_trace"] == [] and report["not_in_program"] == {}
    assert report["ranks"] == 2 and report["steps"] == steps
    assert report["matched"] == {"operations": 6, "activities": activities}
    # Modelled times are those of the model, on every machine; the last
    # computation of a run does not last until the next run begins.
    step = report["step"]
    assert step["predicted_ns"] == step["model_ns"]


def test_gpu_trace(program, measure):
    """Kernels get the operation of the operator that launched them."""
    path = program("""
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
    events.append(complete("cuLaunchKernel", "cuda_driver", 1050, 1, correlation=7))
    events.append(complete("void fused_kernel()", "kernel", 1970, 1, 7, correlation=7))
    # Launched in no step.
    events.append(complete("memset", "gpu_memset", 5000, 1, 7))
    costs, named, report = measure([events, events], path)
    # 40 and 41 us on both ranks: the lower of the two in the middle.
    assert times(named) == {"mm": 40_000, "gather": 50_000}
    assert costs["slack_percent"] == 0
    assert report["ranks"] == 2 and report["steps"] == 4
    assert report["not_in_program"] == {"void fused_kernel()": 2}
    assert report["outside_steps"] == 2
    assert report["step"]["measured_ns"] == 60_000


# -- commsched.profile divides the time of fused kernels among operations.


FUSED_PROGRAM = """
!s = tensor<32x64xf32>
!q = tensor<64x64xf32>
func.func @step(%x: !s, %w: !q) -> !s {
  %a = commsched.compute "aten.neg"(%x) {commsched.name = "neg"} : (!s) -> !s
  %b = commsched.compute "aten.mm"(%a, %w) {commsched.name = "mm"} : (!s, !q) -> !s
  %c = commsched.compute "aten.exp"(%b)
      {commsched.name = "exp", commsched.runtime_ns = 3000} : (!s) -> !s
  %d = commsched.compute "aten.add"(%c, %x)
      {commsched.name = "add", commsched.runtime_ns = 1000} : (!s, !s) -> !s
  %e = commsched.compute "aten.mm"(%d, %w) {commsched.name = "mm_1"} : (!s, !q) -> !s
  return %e : !s
}
"""
SMALL, SQUARE = (32, 64), (64, 64)


#: What the products take in traces of it, and what the kernels have taken.
FUSED_TIMES = {"neg": 2_000, "mm": 10_000, "exp": 6_000, "add": 2_000, "mm_1": 20_000}


def test_synthetic_step(program, measure, tmp_path, capsys):
    """Compiled products write into given buffers; a kernel computes what is
    between them."""
    path, trace = program(FUSED_PROGRAM), [
        complete("graph_0_cpp_fused_neg_0", "cpu_op", 1, 2),
        operator("aten::mm", 10, 10, SMALL, SQUARE, SMALL),
        complete("triton_poi_fused_add_exp_1", "cpu_op", 30, 8),
        operator("aten::mm", 50, 20, SMALL, SQUARE, SMALL),
        operator("aten::_fused_adamw_", 80, 5, SQUARE),
        # Of another graph.
        complete("triton_poi_fused_2", "cpu_op", 90, 3),
    ]
    costs, named, report = measure([trace], path)
    assert times(named) == FUSED_TIMES
    # Only what runs alone says what its operator takes elsewhere.
    assert {row["operator"] for row in costs["operations"]
            if "types" in row} == {"aten.mm"}
    assert report["matched"] == {"operations": 5, "activities": 4}
    assert report["fused"] == {"operations": 3, "kernels": 2}
    assert report["not_in_trace"] == []
    assert report["not_in_program"] == {"aten._fused_adamw": 1, "triton_poi_fused_2": 1}
    assert main([write(tmp_path / "t.json", trace), "--program", path]) == 0
    assert "3 of these operations by 2 fused kernels" in capsys.readouterr().out


def test_compiled_step(measure, tmp_path):
    """A real forward and backward by Inductor: all that it has fused is
    matched, and the step is what its kernels take."""
    pytest.importorskip("torch")
    from profiled import STEPS, record
    from ranks import run_ranks

    run_ranks(record, 1, args=(str(tmp_path),))
    trace, program = (str(tmp_path / name) for name in ("step.json.gz", "step.mlir"))
    *_, report = measure([trace], program)
    assert report["not_in_trace"] == []
    assert not any("fused" in name for name in report["not_in_program"])
    activities = [activity for step in read_trace(trace, {"aten.mm"}).steps
                  for activity in step.activities]
    kernels = sum(map(is_fused, activities))
    assert report["fused"]["kernels"] == kernels > 2 * STEPS
    by_operator = {o["operator"]: o for o in report["operators"]}
    # Four products each forward, by input and by weight.
    assert by_operator["aten.addmm"]["operations"] == 4
    assert by_operator["aten.mm"]["operations"] == 8
    assert {"aten.exp", "aten.rsqrt", "aten.sigmoid"} < set(by_operator)
    step = report["step"]
    assert 0 < step["predicted_ns"] <= step["measured_ns"]


def test_gpu_kernels(program, measure):
    """Kernels of Triton are those of the compiled graph, or have operators of
    their own."""
    product = {"Input Dims": [SMALL, SQUARE, SMALL], "Input type": ["float"]}
    launched = [("triton_poi_fused_neg_0", 1, 2), ("gemm", 2, 10),
                ("triton_poi_fused_add_exp_1", 3, 8), ("gemm", 4, 20)]
    trace = [
        complete("CompiledFunction", "cpu_op", 1, 90, **{"External id": 1}),
        complete("aten::mm", "cpu_op", 10, 5, **{"External id": 2, **product}),
        complete("triton_poi_fused_add_exp_1", "cpu_op", 20, 5, **{"External id": 3}),
        complete("aten::mm", "cpu_op", 30, 5, **{"External id": 4, **product}),
        *(complete(name, "kernel", 100 * number, length, 7, **{"External id": number})
          for name, number, length in launched)]
    _, named, _ = measure([trace], program(FUSED_PROGRAM))
    assert times(named) == FUSED_TIMES


def computation(name, begin):
    return Activity(name, begin, begin + 1, 1)


def targets(names, free=""):
    return [Target("step", name, name, name, "", None, None, None, "", "",
                   name in free, None, None, "nccl") for name in names]


def groups(program, trace, free=""):
    """Of one-letter operations: upper-case ones run alone, '+' is a fused
    kernel, '?' is in no operation."""
    activities = [
        computation("cpp_fused_0" if name == "+" else name, index)
        for index, name in enumerate(trace)]
    found = [program.index(name) if name.isupper() else None for name in trace]
    return group_fused(targets(program, free), activities, found)


@pytest.mark.parametrize("program, trace, expected", [
    ("AbcD", "A+D", [([1, 2], [1])]),
    ("AbCdE", "A+C+E", [([1], [1]), ([3], [3])]),
    # The kernel runs behind the next anchor, or before it.
    ("AbCdE", "AC+E", [([1, 3], [2])]),
    ("AbCDeF", "A+CD+F", [([1], [1]), ([4], [4])]),
    ("ABcD", "A+BD", [([2], [1])]),
    # Before the first anchor and behind the last.
    ("aBc", "+B+", [([0], [0]), ([2], [2])]),
    ("aBc", "+?+B+?+", [([0], [2]), ([2], [4])]),
    ("aB", "?B", []),
    ("AB", "A+B", []),
    # Without anchors nothing is known.
    ("ab", "+", []),
    # B runs out of order.
    ("ABcDE", "B+ADE", [([2], [1])]),
    # Views take no time.
    ("AvbC", "A+C", [([2], [1])]),
])
def test_groups(program, trace, expected):
    assert groups(program, trace, free="v") == [
        FusedGroup(*group) for group in expected]


def longest_increasing(values):
    """The length of the longest subsequence that increases, in quadratic
    time."""
    lengths = []
    for index, value in enumerate(values):
        lengths.append(1 + max((lengths[i] for i in range(index)
                                if values[i] < value), default=0))
    return max(lengths, default=0)


def test_random_orders():
    """As many products as possible are anchors, and every operation between
    has part of some kernel, whatever the order of the products."""
    rng = random.Random(7)
    for _ in range(300):
        count = rng.randint(1, 12)
        order = rng.sample(range(count), count)
        names = [f"{letter}{i}" for i in range(count) for letter in "AB"]
        # Each second operation is fused, and each product has a kernel.
        activities, found = [], []
        for i in order:
            activities += [computation("mm", len(activities)),
                           computation("cpp_fused_0", len(activities) + 1)]
            found += [2 * i, None]
        program = targets(names)
        anchors = find_anchors(program, found)
        assert len(anchors) == longest_increasing(order)
        assert anchors == sorted(anchors)
        assert [t for _, t in anchors] == sorted(t for _, t in anchors)
        assert all(found[position] == target for position, target in anchors)
        shared = group_fused(program, activities, found)
        operations = [i for group in shared for i in group.operations]
        assert sorted(operations) == list(range(1, 2 * count, 2))
        kernels = [i for group in shared for i in group.kernels]
        assert len(set(kernels)) == len(kernels)


def test_split():
    assert split(10, [1, 1, 1]) == [3, 3, 4]
    assert split(7, [0, 0]) == [3, 4]
    assert split(9, [0, 3, 6]) == [0, 3, 6]
    rng = random.Random(3)
    for _ in range(200):
        weights = [rng.randrange(5) for _ in range(rng.randint(1, 9))]
        total = rng.randrange(1000)
        parts = split(total, weights)
        assert sum(parts) == total and min(parts) >= 0
