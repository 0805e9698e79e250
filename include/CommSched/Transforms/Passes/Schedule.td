//===- Schedule.td - Passes that schedule blocks -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_SCHEDULE_TD
#define COMMSCHED_TRANSFORMS_PASSES_SCHEDULE_TD

include "CommSched/Transforms/Passes/Options.td"

/// What passes that make a schedule have in common, in C++ SchedulingPass.
defvar schedulingOptions =
    !listconcat([BudgetOption<"the baseline">], rewritingOptions);

def Schedule : Pass<"commsched-schedule", "::mlir::func::FuncOp"> {
  let summary = "make the shortest step that fits a memory budget";
  let description = [{
    Puts the operations of every block that holds collectives into the order
    with the shortest simulated step of all that it knows whose live bytes never
    exceed the budget. Starts, waits, computation, and the order of collectives
    on a stream may change; sends, receives, blocking communication and what
    `commsched.order` numbers keep theirs. The order of the program is one of
    the candidates, and so is that of `commsched-simple-overlap`: no step gets
    longer, unless the program is over the budget, and nothing changes where
    nothing gets better. All ranks have to run the pass on the same program with
    the same costs.

    `memory-budget` is a number of live bytes, arguments included, such as
    `68719476736`, `64GiB` or `640MB`, or a percentage over the baseline, which
    is the peak of the input of the first memory-aware pass (`commsched.baseline_peak_bytes`). A block in a
    loop or a branch may take what that leaves beside what is live around it,
    and is scheduled before the block around it, which then sees its new time;
    of a function with several blocks, each may take its own peak. Where no
    order that is known fits, the one that needs least is taken, with a warning
    that says what takes the memory; `commsched.over_budget_bytes` then keeps on
    the function by how much, for reports. With `strict` that is an error. The
    schedules for the least peak of an order that is known, and for 0, 5, 10, 20, 50
    and 100 % over the baseline, are candidates for every larger budget, so that
    more memory never makes these longer (up to 65,536 operations). Up to 4,096
    operations so are those for 1 and 2 %, and in bodies of functions of up to
    1,024 operations those for budgets from the least peak to twice the baseline, in
    steps of 5 % of the baseline. Where other orders of the computation take less
    memory than that of the program, schedules begin with these, too.

    With `budget-on=reserved`, a budget in bytes limits what the `allocator`
    reserves for the schedule of a function. Where that is more, the limit of
    live bytes is lowered by the excess and the block is scheduled again, four
    times at most; then the schedule that reserves least is taken.
    `reserved-bytes` of a budget in bytes are kept free for what is not part of
    the program, such as the state of an optimizer. See docs/guide/allocator.md.

    An operation whose time is not known counts as the least by what is known of
    it, and a value of unknown size as 0 bytes, each with a remark; with `strict`
    it is an error. `commsched.runtime_ns` gives the time, and
    `commsched.size_hints` the size. See docs/guide/cost-model.md.

    `buckets=auto` merges collectives where that makes the step shorter by a
    thousandth or more, or fit the budget: those of sharded parameters by blocks
    of the model, parts of blocks, or sizes, all others by size, whichever makes
    the best schedule. The sizes of a kind of collective may differ along the
    step. Permutes, broadcasts and all-to-alls are not merged with
    `buckets=gathers-and-reductions`. A program that has buckets of sharded
    parameters already keeps those. `mode` limits how members travel; with
    `bitwise`, reductions of more than two ranks travel side by side. See
    docs/guide/bucketing.md for what may share a bucket, and for `bitwise`.

    `split=auto` divides exposed collectives into 2 to `max-chunks` chunks,
    together with the computation around them, where that makes the step shorter
    by more than a thousandth: one chunk is communicated while another one is
    computed. Every element stays what it was. `split=sums` also divides
    computation that adds up, whose chunks add in another order; `bitwise`
    excludes it. See docs/guide/splitting.md.

    Collectives are taken to be longer than they are, in case that times are
    off, where that makes the step no longer than by a thousandth. By how much,
    and what operations that run at once take from each other, is the module's;
    see `commsched-set-costs`. A group of which it is not known what it shares
    with others is taken to share it with all, which a remark says.

    With `pipeline-loops`, iterations of loops that hold collectives overlap as
    by `commsched-pipeline-loops`, before any block is scheduled, and what
    `commsched-assume-fusion` has written is renewed. A function with such
    loops, all of them with constant bounds, and up to 65,536 operations is also
    scheduled as a whole for 0, 1, 2, 5, 10, 20, 50 and 100 % where those are
    less than the budget, and the schedule in which it is shortest is taken: no
    larger budget makes it longer than one of these. As merged collectives leave
    other loops to overlap, all of this is done again while that makes the
    function shorter by more than a thousandth.

    A remark for each block gives step time and peak memory before and after,
    the budget, and the origin of the schedule; `LoopsWithinLess` says that a
    function is scheduled as for a smaller budget.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::commsched::CommSchedDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
  let options = !listconcat(schedulingOptions, allocatorOptions, [
    ReservedBytes<"The part of a budget in bytes that the device holds beside "
                  "the program, such as 12GiB">,
    Option<"pipelineLoops", "pipeline-loops", "bool", /*default=*/"false",
           "Overlap the iterations of loops that hold collectives before, as "
           "commsched-pipeline-loops does">,
  ]);
}

def Frontier : Pass<"commsched-frontier", "::mlir::ModuleOp"> {
  let summary = "write step time against peak memory for several budgets";
  let description = [{
    Schedules every function as `commsched-schedule` does, for several memory
    budgets, and writes the points between which there is a choice: step time
    and peak memory of each schedule, without those that take both more time and
    more memory than another one. The budgets are `memory-budget`, the least peak
    of an order that is known, percentages over the baseline from 0 to 100, and no
    limit. The module stays as it is.

    A file that ends in `.json` gets an array with an object for each point, any
    other one CSV. Functions come in the order of the module. A remark
    `BlockNotInFrontier` names each block with collectives that is not the only
    one of its function: the frontier is without it.
  }];
  // Of what schedules in chunks are found on.
  let dependentDialects = [
    "::mlir::commsched::CommSchedDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
  let options = !listconcat(schedulingOptions, [
    Option<"file", "file", "std::string", /*default=*/"\"-\"",
           "File to write, as JSON if it ends in .json and else as CSV; - is "
           "CSV on standard output">,
  ]);
}

def ChooseImplementations
    : Pass<"test-commsched-choose-implementations", "::mlir::func::FuncOp"> {
  let summary = "choose what carries out each collective, by its price";
  let description = [{
    Chooses one of the implementations that the target lists
    (`commsched.implementations`) for each collective, sets
    `commsched.implementation`, and puts the block into the order that is best
    for the choice. A faster implementation pays where a collective is exposed,
    one with a smaller tax on computation where it is hidden. The step never
    gets longer than it was, and its live bytes stay within `memory-budget`,
    unless the program exceeds it already. See docs/guide/implementations.md.

    Collectives that name an implementation keep it. What was measured of a
    collective is the price of the implementation that ran; the others have
    their own. Collectives whose time is pinned stay as they are, since it would
    be the same for all; so do sends and
    receives, whose other end another program may carry out; barriers; and
    transfers to and from the host. A program for a target without a list stays
    as it is. All ranks have to run the pass on the same program with the same
    costs.

    A remark for each block gives the step time before and after, and how many
    collectives each implementation carries out.
  }];
  let options = [BudgetOption<"the baseline">];
}

def DumpProblem : Pass<"commsched-dump-problem", "::mlir::ModuleOp"> {
  let summary = "write the scheduling problem of each function as JSON";
  let description = [{
    Writes what `commsched-schedule` reads of every function whose body is one
    block: names, costs and streams of operations, dependences, and buffers with
    their sizes. The IR is not part of it, so that it can go with a bug report;
    `commsched.read_problems` of the Python package reads it. The format is described in
    `include/CommSched/Report/ProgramJson.h`. On the command line,
    `--commsched-dump-problem=FILE` is short for
    `--commsched-dump-problem=file=FILE`. The module stays as it is.

    Times and sizes that are not known are those of `commsched-schedule`. A
    remark names each function with several blocks, which is left out.
  }];
  let options = [
    Option<"file", "file", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_SCHEDULE_TD
