//===- Steps.td - Passes on steps of several functions -----*- tablegen -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_STEPS_TD
#define COMMSCHED_TRANSFORMS_PASSES_STEPS_TD

include "mlir/Pass/PassBase.td"
include "CommSched/Transforms/Passes/Schedule.td"

def Interleave : CommSched_SchedulingPass<"commsched-interleave",
                                          "::mlir::ModuleOp"> {
  let summary = "schedule two functions as one";
  let description = [{
    Adds the function `name` to the module, which does what `first` and `second`
    do, with the arguments and results of the first and then those of the second.
    Its schedule is one for both: computation of one runs while the other waits
    for communication. Each keeps its own order where another one gains nothing.
    A typical pair is the forward of one micro-batch and the backward of another.
    Both functions stay in the module, for the micro-batches that have no other
    beside them. Both may be the same function.

    What one of them takes from the other, such as the saved activations of a
    backward, is an argument of the new function like all others: it belongs to
    another micro-batch, and whoever calls the function passes it. If both write
    the same memory or draw random numbers, the first does so before the second.
    Links between functions are not copied.

    `share` says which arguments of the second are arguments of the first. With
    `parameters` these are arguments with the role `parameter` and equal types
    that are known to be the same: the first function returns its argument and
    the second takes it (as halves of a partition do), or both have the same
    `commsched.name`. With pairs such as `0:0,1:2` argument 0 of the second is
    argument 0 of the first, and argument 2 of the second is argument 1 of the
    first; types and roles have to be equal. A shared argument may be freed only
    if both functions may free theirs.

    Where operations of both have the same `commsched.name`, that of the second
    gets the name of its function in front.

    The other options are those of `commsched-schedule`, which the pass applies
    to the new function. The baseline of `memory-budget` is the peak of one
    function after the other, in the order of the two that has the lower peak.
    A remark gives the step and the exposed communication, and what they are if
    each function is scheduled alone. Functions of several blocks or with values
    of unknown size are left as they are, with a remark. See
    docs/guide/interleaving.md.
  }];
  let dependentDialects = [
    "::mlir::commsched::CommSchedDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
  let options = !listconcat([
    Option<"first", "first", "std::string", /*default=*/"",
           "The first function, such as @forward">,
    Option<"second", "second", "std::string", /*default=*/"",
           "The second function, such as @backward">,
    Option<"name", "name", "std::string", /*default=*/"\"interleaved\"",
           "Name of the function that does both">,
    Option<"share", "share", "std::string", /*default=*/"\"parameters\"",
           "Arguments of both that are the same: parameters, none or pairs of "
           "indices such as 0:0,1:2">,
  ], schedulingOptions);
}

def MergeStep : Pass<"commsched-merge-step", "::mlir::ModuleOp"> {
  let summary = "merge the functions of a step into one";
  let description = [{
    Replaces the functions of a step, which `commsched.source` links, by the
    function `name`: such as forward, backward and optimizer. Its body is theirs,
    in the order of the module. An argument that a function of the same
    repetition feeds becomes the value that this function returns. Arguments that
    one result of the previous repetition feeds become one argument. All others
    stay. The results are those that a later repetition takes and those that no
    function takes, such as the loss. An argument that the previous repetition
    feeds has a `commsched.source` that names the new function.

    Attributes and locations are kept, but for attributes that link the halves of
    a partition. An argument may be freed if the last function may do so that
    takes it. Where operations of two functions have the same `commsched.name`, the
    later one gets the name of its function in front.

    The merged functions are erased. One that something else refers to, such as
    a call, stays as a private function. The module stays as it is, with a
    remark, if its links do not join two functions or more into one step, or a
    function has several blocks or is part of a steady state.
  }];
  let options = [
    Option<"name", "name", "std::string", /*default=*/"\"step\"",
           "Name of the merged function">,
  ];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_STEPS_TD
