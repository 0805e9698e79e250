//===- Passes.td - CommSched's passes ----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_TD
#define COMMSCHED_TRANSFORMS_PASSES_TD

include "CommSched/Transforms/Passes/Options.td"
include "CommSched/Transforms/Passes/Costs.td"
include "CommSched/Transforms/Passes/Orders.td"
include "CommSched/Transforms/Passes/Buckets.td"
include "CommSched/Transforms/Passes/Fsdp.td"
include "CommSched/Transforms/Passes/Joint.td"
include "CommSched/Transforms/Passes/Memory.td"
include "CommSched/Transforms/Passes/Regions.td"
include "CommSched/Transforms/Passes/Schedule.td"
include "CommSched/Transforms/Passes/Split.td"
include "CommSched/Transforms/Passes/SteadyState.td"
include "CommSched/Transforms/Passes/Steps.td"

def ReportFormat : OptionEnum<"ReportFormat",
    "The output format of commsched-report.", [
      OptionValue<"Table", 0, "table", "for people">,
      OptionValue<"Json", 1, "json", "one object a line and function">,
      OptionValue<"Trace", 2, "trace", "Chrome trace event JSON">,
      OptionValue<"Html", 3, "html", "a page with the timeline">,
    ]>;

def Report : Pass<"commsched-report", "::mlir::ModuleOp"> {
  let summary = "simulate each function and print what its schedule costs";
  let description = [{
    Simulates the body of every function with the time and memory model, and
    prints step time, exposed communication, lower bound, peak memory and every
    collective. `format=json` prints one object a line and function,
    `format=table` is for people, and `format=trace` is a Chrome trace with one
    track a stream and a counter of live bytes. `format=html` is a page for a
    browser, which needs no network. With `before`, a file with the module
    before it was scheduled, the page shows both, and with `frontier`, the file
    that `commsched-frontier` or a pipeline wrote, step times against memory.

    The time of an operation is its `commsched.runtime_ns`, and else that of
    the module's profile and target, as for `commsched-schedule`. Functions
    without a body are skipped. Behind the halves of a partition comes the step that runs one after
    the other, and what both take together.

    What operations that run at once take from each other is what the module
    says (`commsched-set-costs`), by default nothing. A group of which it is not
    known which ranks it has is taken to share devices with every other and to
    cross nodes, which a remark says.

    With an `allocator`, the report also gives what that allocator reserves for
    the step, and how much of it is not live at the peak. `reserved-bytes` is
    what the device holds beside the program, such as the state of an optimizer;
    it is added up with the memory of the step in keys of their own. See
    docs/guide/allocator.md.
  }];
  // A step that repeats is simulated as a loop.
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::commsched::CommSchedDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    EnumOption<"format", "format", ReportFormat, "Table",
               "How to print: table, json, trace or html">,
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
    Option<"before", "before", "std::string", /*default=*/"\"\"",
           "File with the module before it was scheduled, for format=html">,
    Option<"frontier", "frontier", "std::string", /*default=*/"\"\"",
           "File with the frontier of the functions, for format=html">,
    EnumOption<"allocator", "allocator", AllocatorModel, "None",
               "The allocator whose reserved memory is reported: none, pytorch "
               "or pytorch-expandable">,
    ReservedBytes<"Memory that the device holds beside the program, such as "
                  "12GiB">,
  ];
}

def ExportJson : Pass<"commsched-export-json", "::mlir::ModuleOp"> {
  let summary = "write the module as JSON";
  let description = [{
    Writes groups, functions, and operations in program order with the values
    that they take and give, for programs that put a schedule back into the
    graph that it came from. docs/reference/program-json.md lists the keys. A
    pipeline may hold the pass several times, with different files. The module
    stays as it is.
  }];
  let options = [
    Option<"file", "file", "std::string", /*default=*/"\"-\"",
           "File to write; - is standard output">,
  ];
}

def ExportChakra : Pass<"commsched-export-chakra", "::mlir::ModuleOp"> {
  let summary = "write the scheduled order as Chakra execution traces";
  let description = [{
    Writes the files `NAME.RANK.et` for each function and rank into a directory:
    execution traces of MLCommons' Chakra, which simulators of clusters such as
    ASTRA-sim read. A trace has a node for each computation, collective and
    transfer that the rank takes part in, and dependences that make a simulator
    issue them in the order of the program. `NAME.groups.json` lists the ranks of
    each process group by its number. docs/guide/chakra.md describes the traces.

    Times are those of the simulation that `commsched-report` prints, with
    contention, in whole microseconds. On the command line,
    `--commsched-export-chakra=DIR` is short for
    `--commsched-export-chakra=output=DIR`. The directory is made if it does not
    exist, and each file is written whole or not at all. The module stays as it
    is.

    What communicates is exported by what it runs: a call by what it calls, an
    `scf.for` or `scf.while` by its iterations, up to 1,048,576 operations, and a
    branch by its costliest alternative. Errors are an operation of unknown time, a
    collective of unknown size or on a group that the module does not declare by
    `commsched.group`, a call that cannot be inlined and might communicate, a loop
    with more operations or unknown bounds, and any other region that communicates.
    Remarks name each function with several blocks, which is left out, and count the
    ranks that a function sends to or receives from, which run another program and
    have no trace.
  }];
  let options = [
    Option<"output", "output", "std::string", /*default=*/"",
           "Directory to write to">,
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_TD
