//===- Schedule.td - The pass that schedules steps ---------*- tablegen -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_SCHEDULE_TD
#define COMMSCHED_TRANSFORMS_PASSES_SCHEDULE_TD

include "mlir/Pass/PassBase.td"

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
    `68719476736`, `64GiB` or `640MB`, or a percentage over the baseline, which is the peak of the input of the
    first memory-aware pass (`commsched.baseline_peak_bytes`). Blocks other than
    the only one of the function's body may not exceed their own peak. Where no
    order that is known fits, the one that needs least is taken, and a remark
    gives both figures; with `strict` that is an error.

    An operation whose time is not known is an error: give it
    `commsched.runtime_ns`, or a static size and run
    `commsched-estimate-runtime`. A block with a value of unknown size stays as
    it is, with a remark.

    `buckets=auto` merges gathers and reductions of sharded parameters where
    that makes the step shorter by a thousandth or more, or fit the budget: by
    blocks of the model, parts of blocks, or sizes, whichever makes the best
    schedule; where there are no sharded parameters, others by size. A program
    that has buckets already keeps those. See docs/guide/bucketing.md for what may
    share a bucket, and for `bitwise`.

    `exclusive-groups`, `link-sharing` and `compute-slowdown` count in what
    operations that run at once take from each other. A group of which it is not
    known what it shares with others is taken to share it with all, which a
    remark says.

    `frontier` writes the points between which there is to choose: for several
    budgets the step time and the peak memory of the schedule, without the
    points that take both more time and more memory than another. Only the
    schedule for `memory-budget` is applied. A file that ends in `.json` is
    JSON, any other CSV.

    A remark for each block tells step time and peak memory before and after,
    the budget, and where the schedule comes from.
  }];
  let dependentDialects = [
    "::mlir::commsched::CommSchedDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"memoryBudget", "memory-budget", "std::string",
           /*default=*/"\"0%\"",
           "Live bytes such as 68719476736, 64GiB or 640MB, or a percentage "
           "over the baseline such as 5%">,
    Option<"strict", "strict", "bool", /*default=*/"false",
           "Fail where the schedule that needs least is over the budget">,
    Option<"buckets", "buckets", "::mlir::commsched::ScheduleBuckets",
           /*default=*/"::mlir::commsched::ScheduleBuckets::Auto",
           "Which collectives to merge: auto or off",
           [{::llvm::cl::values(
               clEnumValN(::mlir::commsched::ScheduleBuckets::Auto, "auto",
                          "what makes the step shorter"),
               clEnumValN(::mlir::commsched::ScheduleBuckets::Off, "off",
                          "none"))}]>,
    Option<"bitwise", "bitwise", "bool", /*default=*/"false",
           "Merge reductions only in a way that leaves every element at its "
           "place of a message">,
    Option<"slack", "slack", "int32_t",
           /*default=*/"40",
           "By how many percent longer than they are collectives are taken to "
           "be, in case that times are off, where that makes the step no longer "
           "than by a thousandth">,
    Option<"exclusiveGroups", "exclusive-groups", "bool", /*default=*/"false",
           "Groups that share more than one device are never in flight "
           "together">,
    Option<"linkSharing", "link-sharing", "bool", /*default=*/"false",
           "Groups on the same link share its bandwidth">,
    Option<"computeSlowdown", "compute-slowdown", "double", /*default=*/"0.0",
           "By which part of its own time computation takes longer beside a "
           "collective in flight, such as 0.19">,
    Option<"target", "target", "::mlir::commsched::TargetPreset",
           /*default=*/"::mlir::commsched::TargetPreset::H100",
           "Preset for modules that do not name one: a100, h100, h200, gh200 "
           "or b200",
           "::mlir::commsched::getTargetPresetValues()">,
    Option<"profile", "profile", "std::string", /*default=*/"",
           "JSON file of measured collectives">,
    Option<"frontier", "frontier", "std::string", /*default=*/"",
           "File for step time against peak memory, as JSON if it ends in "
           ".json and else as CSV; - is CSV on standard output">,
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_SCHEDULE_TD
