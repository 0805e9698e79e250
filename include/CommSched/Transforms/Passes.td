//===- Passes.td - CommSched's passes ----------------------*- tablegen -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_TD
#define COMMSCHED_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

def EstimateRuntime : Pass<"commsched-estimate-runtime", "::mlir::func::FuncOp"> {
  let summary = "write the estimated time of every operation on it";
  let description = [{
    Sets `commsched.runtime_ns` on every operation that is not pinned, in the
    function's body and in regions inside it. Collectives take the time of the
    measured table `profile` where it covers them, else that of the model. Other
    operations take the larger of their arithmetic and their memory traffic on
    the target, by their own account where they have one and else by the bytes
    of their operands and results. Waits, constants and views take 0.

    Terminators are left alone, and so are the bodies of operations that account
    for them themselves, such as those of linalg. An operation with a dynamic
    size stays as it is, with a remark.

    The target is what the device "GPU" of the module's DLTI target system
    specification says: its key `commsched.preset` names the preset to start
    from, and its other `commsched.` keys override single fields. Without that
    key the preset is the option `target`; without a specification it is all
    there is.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"h100\"",
           "Preset for modules that do not name one: a100, h100, h200, gh200 "
           "or b200">,
    Option<"profile", "profile", "std::string", /*default=*/"",
           "JSON file of measured collectives">,
    Option<"model", "model", "std::string", /*default=*/"\"nccl\"",
           "What prices a collective that the profile does not cover: nccl">,
  ];
  let dependentDialects = ["::mlir::commsched::CommSchedDialect"];
}

def AlignRuntimes : Pass<"commsched-align-runtimes", "::mlir::ModuleOp"> {
  let summary = "make ranks that measured different times agree on them";
  let description = [{
    Ranks that schedule with different times may decide differently, and then
    wait for each other forever. This pass takes two runs on every rank, with
    the files carried between ranks in between:

     * `output=FILE` writes this rank's times as JSON, and changes nothing: for
       each function, what its operations are and what they take, by
       `commsched.runtime_ns` and else by estimate for the module's target.
     * `ranks=FILE,FILE,…` reads the files of all ranks, this one's included, in
       any order, and sets `commsched.runtime_ns` of each operation to the
       median; of an even number of times, to the lower of the two in the
       middle. A remark tells how far the ranks are apart.

    The operations are those that `commsched-estimate-runtime` writes a time on,
    free ones included. A time that is not known, as a size is dynamic, is
    `null`; the median is that of the ranks that know one, and an operation
    whose time no rank knows is left without.

    A file that lists other functions, or other operations in a function, than
    the module has, is an error, and nothing is aligned.
  }];
  let options = [
    Option<"output", "output", "std::string", /*default=*/"",
           "File for the times of this rank; - is standard output">,
    ListOption<"ranks", "ranks", "std::string",
               "Files with the times of all ranks">,
  ];
  let dependentDialects = ["::mlir::commsched::CommSchedDialect"];
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

def OrderCollectives
    : Pass<"commsched-order-collectives", "::mlir::func::FuncOp"> {
  let summary = "fix the order of collectives to the order of the program";
  let description = [{
    Numbers the collectives of each block in program order, whatever their
    group, with `commsched.order`. Later passes keep that order, so that all
    ranks launch all collectives alike. A block whose collectives are already
    numbered in ascending order is left as it is; one whose numbers contradict
    the program order is an error.
  }];
}

class CommSched_ListSchedulePass<string flag>
    : Pass<flag, "::mlir::func::FuncOp">;

def RaiseComms : CommSched_ListSchedulePass<"commsched-raise-comms"> {
  let summary = "start collectives as early as their operands allow";
  let description = [{
    List scheduling in which an operation comes the earlier the earlier the
    first collective that depends on it. Collectives keep their relative order.
    The result is never an invalid order; a remark for each collective says how
    far its start moved and what holds it.
  }];
}

def SinkWaits : CommSched_ListSchedulePass<"commsched-sink-waits"> {
  let summary = "wait for collectives as late as their users allow";
  let description = [{
    List scheduling in which a wait comes after everything that does not need
    it. A remark for each collective says how far its wait moved and which
    operation needs the result.
  }];
}

def ReorderComputeForOverlap
    : CommSched_ListSchedulePass<"commsched-reorder-compute-for-overlap"> {
  let summary = "put enough computation behind each start to hide it";
  let description = [{
    Raises starts, sinks waits, and after each start places ready computation
    until its time covers that of the collective. The times are
    `commsched.runtime_ns`, or the estimates of the default target where there
    are none.
  }];
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

def Report : Pass<"commsched-report", "::mlir::ModuleOp"> {
  let summary = "simulate each function and print what its schedule costs";
  let description = [{
    Simulates the body of every function with the time and memory model, and
    prints step time, exposed communication, lower bound, peak memory and every
    collective. `format=json` prints one object a line and function,
    `format=table` is for people, and `format=trace` is a Chrome trace with one
    track a stream and a counter of live bytes. Functions without a body are
    skipped.
  }];
  let options = [
    Option<"format", "format", "::mlir::commsched::ReportFormat",
           /*default=*/"::mlir::commsched::ReportFormat::Table",
           "How to print: table, json or trace",
           [{::llvm::cl::values(
               clEnumValN(::mlir::commsched::ReportFormat::Table, "table",
                          "for people"),
               clEnumValN(::mlir::commsched::ReportFormat::Json, "json",
                          "one object a line and function"),
               clEnumValN(::mlir::commsched::ReportFormat::Trace, "trace",
                          "Chrome trace event JSON"))}]>,
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_TD
