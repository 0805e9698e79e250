# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole modules compile in jaxlib after scheduling if they did before, and the
results of eight devices are the same, bit for bit."""

import pathlib
import re
import sys

import pytest

pytest.importorskip("jax")

sys.path.append(
    str(pathlib.Path(__file__).parents[2] / "test/Conversion/Forms/Inputs")
)

import jax_models  # noqa: E402, F401  Makes eight devices of the processor.
import whole_modules  # noqa: E402
from check_forms import read_forms  # noqa: E402

from commsched import opt  # noqa: E402
from commsched.jax import convert  # noqa: E402

pytestmark = pytest.mark.usefixtures("opt_program")

SCHEDULE = (
    "--convert-stablehlo-to-commsched",
    "--commsched-set-costs=assume-fusion",
    "--commsched-pipeline",
    "--convert-commsched-to-stablehlo",
    "--mlir-print-op-generic",
)

# Running them ends the process or takes no end; random numbers are others in
# each run.
NOT_RUN = {
    "ids-mixed-unknown",
    "infeed",
    "ragged-all-to-all",
    "random-numbers",
    "reducer-converts",
    "region-branch",
    "send-recv",
}

PAIR = """channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      use_global_device_ids"""
OF_REPLICAS = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
SUM = """({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%s) : (tensor<f32>) -> ()
    })"""
KINDS = {
    "all_gather": ("all_gather_dim = 0 : i64,", "", "8x3", "12x2"),
    "all_reduce": ("", SUM, "4x3", "6x2"),
    "reduce_scatter": ("scatter_dimension = 0 : i64,", SUM, "2x3", "3x2"),
    "all_to_all": (
        "split_dimension = 0 : i64, concat_dimension = 0 : i64,"
        "split_count = 2 : i64,",
        "",
        "4x3",
        "6x2",
    ),
}


def two_of(kind, partitions, sharding=""):
    """A module with two collectives of one group, which are merged."""
    dims, region, first, second = KINDS[kind]
    members = PAIR if partitions == 2 else OF_REPLICAS
    if kind == "all_to_all":
        members = members.replace("use_global_device_ids", "").rstrip(", \n")
    first, second = f"tensor<{first}xf32>", f"tensor<{second}xf32>"

    def one(value, of, to):
        return (
            f'"stablehlo.{kind}"({value}) <{{{dims} {members}}}> {region} '
            f"{sharding} : ({of}) -> {to}"
        )

    return f"""
module attributes {{mhlo.num_partitions = {partitions} : i32,
                    mhlo.num_replicas = {3 - partitions} : i32}} {{
  func.func @main(%a: tensor<4x3xf32>, %b: tensor<6x2xf32>)
      -> ({first}, {second}) {{
    %0 = {one("%a", "tensor<4x3xf32>", first)}
    %1 = {one("%b", "tensor<6x2xf32>", second)}
    return %0, %1 : {first}, {second}
  }}
}}
"""


def loop_of(partitions):
    """A module that gathers two parts in each of four iterations."""
    members = PAIR if partitions == 2 else OF_REPLICAS
    types = "tensor<i32>, tensor<2x4xf32>, tensor<4x4xf32>"

    def gather(value):
        return (
            f'"stablehlo.all_gather"({value}) <{{all_gather_dim = 0 : i64, '
            f"{members}}}> : (tensor<2x4xf32>) -> tensor<4x4xf32>"
        )

    return f"""
module attributes {{mhlo.num_partitions = {partitions} : i32,
                    mhlo.num_replicas = {3 - partitions} : i32}} {{
  func.func @main(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>)
      -> tensor<4x4xf32> {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:3 = "stablehlo.while"(%zero, %a, %b) ({{
    ^bb0(%i: tensor<i32>, %w: tensor<2x4xf32>, %x: tensor<4x4xf32>):
      %four = stablehlo.constant dense<4> : tensor<i32>
      %c = stablehlo.compare LT, %i, %four
        : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }}, {{
    ^bb0(%i: tensor<i32>, %w: tensor<2x4xf32>, %x: tensor<4x4xf32>):
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %v = stablehlo.add %w, %w : tensor<2x4xf32>
      %g = {gather("%w")}
      %h = {gather("%v")}
      %p = stablehlo.dot_general %x, %g, contracting_dims = [1] x [0]
        : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %q = stablehlo.maximum %p, %h : tensor<4x4xf32>
      stablehlo.return %next, %w, %q : {types}
    }}) : ({types}) -> ({types})
    return %r#2 : tensor<4x4xf32>
  }}
}}
"""


def results_of(text):
    replicas, partitions = whole_modules.counts(text)
    executable = whole_modules.compile_text(text, replicas, partitions)
    return whole_modules.run(executable, replicas * partitions)


def assert_same_results(text):
    """Returns the scheduled module."""
    before = convert.convert_text(text.encode())
    after = opt.run(before, *SCHEDULE)
    assert results_of(before) == results_of(after)
    return after


def count_of(kind, text):
    return len(re.findall(rf'"stablehlo\.{kind}"\(', text))


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_merged_collectives(kind, partitions):
    after = assert_same_results(two_of(kind, partitions))
    assert count_of(kind, after) == 1


@pytest.mark.parametrize("sharding", ["manual", "replicated"])
@pytest.mark.parametrize("kind", ["all_gather", "all_reduce"])
def test_merged_collectives_with_sharding(kind, sharding):
    marks = f'{{mhlo.sharding = "{{{sharding}}}"}}'
    after = assert_same_results(two_of(kind, 2, marks))
    assert count_of(kind, after) == 1


@pytest.mark.parametrize("partitions", [1, 2])
def test_loops(partitions):
    assert_same_results(loop_of(partitions))


def test_forms_of_collectives():
    """Each form that jaxlib runs as it is written gives the same results after
    scheduling."""
    equal = 0
    for name, content in sorted(read_forms().items()):
        # Without a count of devices XLA runs one, of which groups have more.
        is_run = "mhlo.num_" in content and not name.startswith("odd-")
        if name in NOT_RUN or not is_run:
            continue
        try:
            before = convert.convert_text(content.encode())
            expected = results_of(before)
        except Exception:  # jaxlib's errors have no common public name.
            continue
        after = opt.run(before, *SCHEDULE)
        assert results_of(after) == expected, name
        equal += 1
    assert equal >= 40
