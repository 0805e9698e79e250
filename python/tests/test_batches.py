# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commsched.batches: the number of micro-batches is chosen by the same budget."""

import warnings

import pytest

from commsched import batches, opt

pytestmark = pytest.mark.skipif(not opt.is_available(), reason="no commsched-opt")
ROWS = 64


def make(count):
    """A step of 64 rows that gathers its parameter for each micro-batch: smaller
    ones take less memory, and longer."""
    rows = ROWS // count
    shard, part, batch, whole = (
        f"tensor<{size}x64xf32>" for size in (8, rows, ROWS, 64)
    )
    time = f"{{commsched.runtime_ns = {2000 * rows + 500} : i64}}"
    return f"""
commsched.group @all size(8)
func.func @step(
    %w: {shard} {{commsched.role = "parameter", commsched.carried = 0 : i64}},
    %x: {batch} {{commsched.role = "input"}}) -> {shard} {{
  %zero = arith.constant dense<0.0> : {shard}
  %c0 = arith.constant 0 : index
  %rows = arith.constant {rows} : index
  %end = arith.constant {ROWS} : index
  %sum = scf.for %i = %c0 to %end step %rows iter_args(%s = %zero) -> ({shard}) {{
    %b = tensor.extract_slice %x[%i, 0] [{rows}, 64] [1, 1] : {batch} to {part}
    %y, %g = func.call @joint(%w, %b, %b)
        : ({shard}, {part}, {part}) -> ({part}, {shard})
    %more = arith.addf %s, %g : {shard}
    scf.yield %more : {shard}
  }}
  %n = arith.addf %w, %sum : {shard}
  return %n : {shard}
}}
func.func private @joint(%w: {shard} {{commsched.role = "parameter"}},
    %x: {part} {{commsched.role = "input"}},
    %dy: {part} {{commsched.role = "tangent"}}) -> ({part}, {shard})
    attributes {{commsched.num_forward_outputs = 1 : i64}} {{
  %f = commsched.all_gather %w on @all dim(0)
      : {shard} -> !commsched.future<{whole}>
  %p = commsched.wait %f : !commsched.future<{whole}>
  %h = commsched.compute "aten.mm"(%x, %p) {time} : ({part}, {whole}) -> {part}
  %a = commsched.compute "aten.exp"(%h) {time} : ({part}) -> {part}
  %y = commsched.compute "aten.mm"(%a, %p) {time} : ({part}, {whole}) -> {part}
  %d = commsched.compute "aten.mul"(%dy, %a) {time} : ({part}, {part}) -> {part}
  %v = commsched.compute "aten.mm"(%x, %d) {time} : ({part}, {part}) -> {whole}
  %r = commsched.reduce_scatter %v on @all reduction(sum) dim(0)
      : {whole} -> !commsched.future<{shard}>
  %g = commsched.wait %r : !commsched.future<{shard}>
  return %y, %g : {part}, {shard}
}}
"""


def choose(budget, numbers=(4, 1, 2)):
    return batches.choose(make, numbers, f"--commsched-pipeline=memory-budget={budget}")


@pytest.mark.parametrize(
    "budget, numbers, chosen",
    [(69632, (2, 1), 1), (69631, (2, 1), 2), (69631, (1, 4, 2), 4)],
)
def test_the_shortest_that_fits_is_chosen(budget, numbers, chosen):
    choice = choose(budget, numbers)
    assert choice.micro_batches == chosen
    assert f"[{ROWS // chosen}, 64]" in choice.text
    trials = {trial.micro_batches: trial for trial in choice.trials}
    assert list(trials) == sorted(numbers)
    assert trials[1].peak_memory_bytes == 69632
    assert trials[1].over_bytes == 69632 - budget
    assert trials[chosen].step_time_ns == min(
        trial.step_time_ns for trial in choice.trials if not trial.over_bytes
    )


def test_what_does_not_fit_names_all_that_was_tried():
    with pytest.raises(batches.OverBudget) as error:
        choose(53247, (2, 1))
    assert "; 2 micro-batches: " in str(error.value)
    assert str(error.value).endswith("53248 bytes, 1 over the budget")
    assert [trial.micro_batches for trial in error.value.trials] == [1, 2]


def test_only_warnings_about_the_choice_are_passed_on():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose(69632, (1,)).micro_batches == 1
    # A function beside the step takes a byte too many for each number.
    other = """
func.func @other{0}(%x: tensor<{1}xi8>) -> tensor<{1}xi8> {{
  return %x : tensor<{1}xi8>
}}"""
    with pytest.warns(opt.OptWarning, match="'other1'") as caught:
        batches.choose(
            lambda count: make(count) + other.format(count, 69633),
            (2, 1),
            "--commsched-pipeline=memory-budget=69632",
        )
    assert len(caught) == 1
    with pytest.raises(ValueError, match="no number of micro-batches"):
        choose("1MiB", ())
