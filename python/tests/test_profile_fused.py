# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.profile divides the time of fused kernels among operations."""

import json
import random

import pytest

pytest.importorskip("ijson")

from commsched.profile.__main__ import main, read_trace  # noqa: E402
from commsched.profile.activities import Activity  # noqa: E402
from commsched.profile.fused import (  # noqa: E402
    FusedGroup,
    find_anchors,
    group_fused,
    is_fused,
    split,
)
from commsched.profile.programs import Target  # noqa: E402
from test_profile_costs import operator, times  # noqa: E402
from test_profile_traces import complete, write  # noqa: E402

PROGRAM = """
func.func @step(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>)
    -> tensor<32x64xf32> {
  %a = commsched.compute "aten.neg"(%x) {commsched.name = "neg"}
      : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %b = commsched.compute "aten.mm"(%a, %w) {commsched.name = "mm"}
      : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %c = commsched.compute "aten.exp"(%b)
      {commsched.name = "exp", commsched.runtime_ns = 3000}
      : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %d = commsched.compute "aten.add"(%c, %x)
      {commsched.name = "add", commsched.runtime_ns = 1000}
      : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %e = commsched.compute "aten.mm"(%d, %w) {commsched.name = "mm_1"}
      : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %e : tensor<32x64xf32>
}
"""
SMALL, SQUARE = (32, 64), (64, 64)


def test_synthetic_step(tmp_path, capsys):
    """Compiled products write into given buffers; a kernel computes what is
    between them."""
    program = tmp_path / "step.mlir"
    program.write_text(PROGRAM)
    trace = write(tmp_path / "t.json", [
        complete("graph_0_cpp_fused_neg_0", "cpu_op", 1, 2),
        operator("aten::mm", 10, 10, SMALL, SQUARE, SMALL),
        complete("triton_poi_fused_add_exp_1", "cpu_op", 30, 8),
        operator("aten::mm", 50, 20, SMALL, SQUARE, SMALL),
        operator("aten::_fused_adamw_", 80, 5, SQUARE),
        # Of another graph.
        complete("triton_poi_fused_2", "cpu_op", 90, 3),
    ])
    output = str(tmp_path / "costs.json")
    assert main([trace, "--program", str(program), "-o", output,
                 "--format=json"]) == 0
    costs, by_name = times(output)
    assert by_name == {"neg": 2_000, "mm": 10_000, "exp": 6_000,
                       "add": 2_000, "mm_1": 20_000}
    # Only what runs alone says what its operator takes elsewhere.
    assert {row["operator"] for row in costs["operations"]
            if "types" in row} == {"aten.mm"}
    report = json.loads(capsys.readouterr().out)
    assert report["matched"] == {"operations": 5, "activities": 4}
    assert report["fused"] == {"operations": 3, "kernels": 2}
    assert report["not_in_trace"] == []
    assert report["not_in_program"] == {
        "aten._fused_adamw": 1, "triton_poi_fused_2": 1}
    assert main([trace, "--program", str(program)]) == 0
    assert "3 of these operations by 2 fused kernels" in \
        capsys.readouterr().out


def test_compiled_step(tmp_path, capsys):
    """A real forward and backward by Inductor: all that it has fused is
    matched, and the step is what its kernels take."""
    pytest.importorskip("torch")
    from profiled_compile import STEPS, record
    from ranks import run_ranks

    run_ranks(record, 1, args=(str(tmp_path),))
    trace, program = (str(tmp_path / name)
                      for name in ("step.json.gz", "step.mlir"))
    output = str(tmp_path / "costs.json")
    assert main([trace, "--program", program, "-o", output,
                 "--format=json"]) == 0
    report = json.loads(capsys.readouterr().out)
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


def test_gpu_kernels(tmp_path):
    """Kernels of Triton are those of the compiled graph, or have operators of
    their own."""
    program = tmp_path / "step.mlir"
    program.write_text(PROGRAM)
    product = {"Input Dims": [SMALL, SQUARE, SMALL], "Input type": ["float"]}
    launched = [("triton_poi_fused_neg_0", 1, 2), ("gemm", 2, 10),
                ("triton_poi_fused_add_exp_1", 3, 8), ("gemm", 4, 20)]
    trace = write(tmp_path / "t.json", [
        complete("CompiledFunction", "cpu_op", 1, 90, **{"External id": 1}),
        complete("aten::mm", "cpu_op", 10, 5, **{"External id": 2, **product}),
        complete("triton_poi_fused_add_exp_1", "cpu_op", 20, 5,
                 **{"External id": 3}),
        complete("aten::mm", "cpu_op", 30, 5, **{"External id": 4, **product}),
        *(complete(name, "kernel", 100 * number, length, 7,
                   **{"External id": number})
          for name, number, length in launched)])
    output = str(tmp_path / "costs.json")
    assert main([trace, "--program", str(program), "-o", output]) == 0
    assert times(output)[1] == {"neg": 2_000, "mm": 10_000, "exp": 6_000,
                                "add": 2_000, "mm_1": 20_000}


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
    found = [program.index(name) if name.isupper() else None
             for name in trace]
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
