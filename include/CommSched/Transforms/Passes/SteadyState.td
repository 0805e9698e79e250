//===- SteadyState.td - Passes on programs that repeat -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_STEADYSTATE_TD
#define COMMSCHED_TRANSFORMS_PASSES_STEADYSTATE_TD

include "CommSched/Transforms/Passes/Options.td"

/// Of passes on what repeats, in C++ CyclicPass.
defvar cyclicOptions = [
  BudgetOption<"those of the program without overlap">,
  Option<"maxDepth", "max-depth", "int32_t", /*default=*/"3",
         "How many repetitions may be in progress at once, from 1 to 8">,
];

def PipelineLoops
    : Pass<"commsched-pipeline-loops", "::mlir::func::FuncOp"> {
  let summary = "overlap communication with other iterations of its loop";
  let description = [{
    Schedules the body of each `scf.for` that holds collectives as a program
    that repeats: the gathers of the next iteration run beside the computation
    of this one, and the reductions of this one beside the computation of the
    next. The period, the time from one iteration to the next, is as short as
    rotations of the body make it, and the live bytes of all iterations that are
    in progress are within the budget; see docs/guide/whole-steps.md. What
    begins before the loop and ends after it is peeled. A loop with
    collectives in flight from one iteration to the next is marked
    `commsched.pipelined`.

    All ranks have to run the pass on the same program with the same costs.

    Gathers of what no iteration changes, such as those of parameters in a loop
    over micro-batches, run once, in front of the loop, if that is shorter and
    what they deliver fits; the number of iterations must be known.

    A loop that its communication limits is also scheduled with the gathers of
    an iteration merged, which saves launches; the better one is taken.

    Where the number of iterations is not known, an `scf.if` takes the pipelined
    loop from the least number of iterations that it pays for, and the loop as
    it was for fewer, unless fewer count (by `commsched.trip_count` on the loop,
    or 16 without it). All ranks have the same number.

    With `unroll`, all iterations of a short loop are also scheduled as one
    program; the better one is taken, and a remark gives both times.

    An `scf.while` that counts up to a bound is scheduled as an `scf.for`. A
    `stablehlo.while` that counts from one constant to another remains one.

    A loop stays as it is, with a remark that says why, if it has too few
    iterations, if it may end early, if an iteration takes a value from further back than the
    iteration before, or if the period gets no shorter. Times and sizes that are
    not known are those of `commsched-schedule`.
  }];
  let options = !listconcat(cyclicOptions, [
    Option<"mergeGathers", "merge-gathers", "bool", /*default=*/"true",
           "Merge gathers of an iteration where that makes the loop shorter">,
    Option<"unroll", "unroll", "int32_t", /*default=*/"0",
           "Unroll loops of up to so many iterations, at most 1024, where that "
           "is shorter than the pipelined loop; 0 unrolls none">,
  ]);
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def SteadyState : Pass<"test-commsched-steady-state", "::mlir::ModuleOp"> {
  let summary = "overlap communication with other repetitions of its step";
  let description = [{
    Schedules each step that repeats, a function with arguments that its own
    results feed (`commsched.carried`), as one period, like
    the body of a loop in `commsched-pipeline-loops`: the last reductions of a
    repetition run beside the optimizer and the beginning of the next one, and
    the first gathers of the next one beside the end of this one. A step that
    calls its parts is made one function by `test-commsched-merge-step` before.

    Where repetitions overlap, three functions are added behind the step
    (`commsched.steady_state`), which whoever runs the step calls instead of it:

      - `@<step>_prologue` takes the arguments of the step, and the inputs of
        all repetitions that are in progress but one. It returns the state.
      - `@<step>_steady`, once for each further repetition, takes the state, the
        inputs of one repetition and the arguments that are the same in all. It
        returns the new state and the results of one repetition.
      - `@<step>_epilogue` takes the state and returns the results of the last
        repetitions.

    The state is what one call hands to the next, futures of collectives in
    flight included. With a depth of S repetitions in progress, K repetitions
    are a call of the prologue, K - (S - 1) of the steady state, and one of the
    epilogue. The step itself stays for fewer. Where the period gets shorter
    without overlap, the operations of the step are only put into another order.

    A `memory-budget` in percent is one over `commsched.baseline_peak_bytes` of
    the step, where an earlier pass has set it. With `budget-on=reserved`, one in
    bytes limits what the `allocator` reserves in a run: a schedule that takes
    more is made again for less, four times at most. With `choose-implementations`,
    each collective is carried out by what the target lists
    (`commsched.implementations`) such that the period is shortest; it is never
    longer than without.

    All ranks have to run the pass on the same program with the same costs.

    A step stays as it is, with a remark that says why, if its body is not one
    block, if a repetition overwrites in place what the one before has yet to
    return, or if the period gets no shorter. Times and sizes that are not known
    are those of `commsched-schedule`. See docs/guide/whole-steps.md.
  }];
  let options = !listconcat(cyclicOptions, reservedOptions, [
    Option<"required", "required", "bool", /*default=*/"false",
           "Fail where no function repeats">,
    Option<"chooseImplementations", "choose-implementations", "bool",
           /*default=*/"false",
           "Choose what carries out each collective of the period, where the "
           "target lists several implementations">,
  ]);
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::commsched::CommSchedDialect",
    "::mlir::scf::SCFDialect",
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_STEADYSTATE_TD
