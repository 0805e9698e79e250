//===- SteadyState.td - Passes on programs that repeat -----*- tablegen -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_STEADYSTATE_TD
#define COMMSCHED_TRANSFORMS_PASSES_STEADYSTATE_TD

include "mlir/Pass/PassBase.td"

class CommSched_CyclicPass<string flag, string operation>
    : Pass<flag, operation> {
  list<Option> cyclicOptions = [
    Option<"memoryBudget", "memory-budget", "std::string",
           /*default=*/"\"5%\"",
           "Live bytes such as 68719476736, 64GiB or 640MB, or a percentage "
           "over those of the program without overlap such as 5%">,
    Option<"maxDepth", "max-depth", "int32_t", /*default=*/"3",
           "How many repetitions may be in progress at once, from 1 to 8">,
    Option<"slack", "slack", "int32_t", /*default=*/"40",
           "By how many percent longer than they are collectives are taken to "
           "be, in case that times are off, where that makes the period no "
           "longer than by a thousandth">,
    Option<"target", "target", "::mlir::commsched::TargetPreset",
           /*default=*/"::mlir::commsched::TargetPreset::H100",
           "Preset for modules that do not name one: a100, h100, h200, gh200 "
           "or b200",
           "::mlir::commsched::getTargetPresetValues()">,
    Option<"profile", "profile", "std::string", /*default=*/"",
           "JSON file of measured collectives">,
  ];
}

def PipelineLoops
    : CommSched_CyclicPass<"commsched-pipeline-loops", "::mlir::func::FuncOp"> {
  let summary = "overlap communication with other iterations of its loop";
  let description = [{
    Schedules the body of each `scf.for` that holds collectives as a program
    that repeats: the gathers of the next iteration run beside the computation
    of this one, and the reductions of this one beside the computation of the
    next. The period, the time from one iteration to the next, is as short as
    rotations of the body make it, and the live bytes of all iterations that are
    in progress are within the budget; see docs/guide/steady-state.md. What
    begins before the loop and ends after it is peeled. A loop with
    collectives in flight from one iteration to the next is marked
    `commsched.pipelined`.

    All ranks have to run the pass on the same program with the same costs.

    Where the number of iterations is not known, an `scf.if` takes the pipelined
    loop from the least number of iterations that it pays for, and the loop as
    it was for fewer. All ranks have the same number.

    A loop stays as it is, with a remark that says why, if it has too few
    iterations, if an iteration takes a value from further back than the
    iteration before, if a size is not known, or if the period gets no shorter.
    An operation whose time is not known is an error.
  }];
  let options = cyclicOptions;
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect",
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_STEADYSTATE_TD
