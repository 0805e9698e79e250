//===- Steps.td - Passes on steps of several functions -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_STEPS_TD
#define COMMSCHED_TRANSFORMS_PASSES_STEPS_TD

include "CommSched/Transforms/Passes/Schedule.td"

def Interleave : Pass<"commsched-interleave", "::mlir::ModuleOp"> {
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
    What one of them carries from one repetition to the next may be freed instead:
    whoever calls the function hands it over.

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
    each function is scheduled alone. Functions of several blocks are left as they
    are, with a remark. See
    docs/guide/whole-steps.md.
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

def MergeStep : Pass<"test-commsched-merge-step", "::mlir::ModuleOp"> {
  let summary = "merge the parts of a step into it";
  let description = [{
    Puts the operations of the parts that a public function calls, such as
    forward, backward and optimizer, in the place of the calls, with MLIR's
    inliner, also in loops and in what is called. A call with `commsched.pure` or
    `commsched.runtime_ns` is an operation of its own and stays. So do, with a
    remark, calls of functions that are only declared, have several blocks, call
    themselves, are `no_inline`, or are part of a steady state.

    Where an operation of a part has a `commsched.name` that is taken, the name of
    the part comes in front; `commsched.graph` and `commsched.graph_name` say by
    which name a profile knows it. What only the first part says of an argument
    that is handed on to it, its name, role or size hints, holds for the function.
    Private parts that nothing needs any more are erased.

    With `keep-parts`, as in `commsched-pipeline`, what loops call is merged, and
    what stands beside other operations, in private functions, too, so that what
    it communicates overlaps with other iterations, or with those operations.
    Calls in branches stay, and outside of loops the parts of a step: what a
    function with `commsched.carried` calls, joint functions, and their halves.
  }];
  let options = [
    Option<"keepParts", "keep-parts", "bool", /*default=*/"false",
           "Merge only what overlaps with other operations or iterations">,
  ];
}

def CheckBudget : Pass<"test-commsched-check-budget", "::mlir::ModuleOp"> {
  let summary = "warn of functions that are over a budget with what they call";
  let description = [{
    Simulates each function that calls others, and each public one without
    collectives, as `commsched-report` does, and warns if it takes more than a
    budget in bytes; with `strict` that is an error. `commsched-schedule`, which
    sees one function at a time, checks all others. A budget in percent limits
    each function alone.
  }];
  let options = !listconcat([
    BudgetOption<"the baseline">,
    ReservedBytes<"What of it is not the program's, such as 12GiB">,
  ], allocatorOptions);
}

def SplitBackward : Pass<"test-commsched-split-backward", "::mlir::ModuleOp"> {
  let summary = "split a backward into gradients of inputs and of weights";
  let description = [{
    Replaces the backward `function` by two functions, as zero-bubble schedules
    of pipelines need them (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR
    2024). `@backward_input` computes the gradients of inputs, which the previous
    stage of the pipeline waits for, and `@backward_weight`, which stands behind
    it, computes the gradients of weights. The first has what these results
    depend on, collectives included, and the second has the rest, such as the
    products and reductions of the gradients of parameters.

    Gradients of weights are the results that a parameter of the next repetition
    depends on (`commsched.carried`), in a function that calls the backward.
    `input-gradients` says instead which results are gradients of inputs; all
    others are then of weights. Calls of the backward become calls of both.

    What the second takes from the first is returned by the first, behind its
    gradients: values with the role `saved_activation`, and arguments that both
    need and may free, with their attributes. Other arguments that both need are
    taken by both. Views and constants are computed by both. No other operation is,
    whatever its effects. Collectives keep their order in each of the two, and
    those whose order is given keep it in both; no collective is in flight from
    one to the other.

    `test-commsched-merge-step` makes one function of the step again. Attributes that
    link halves of a partition are removed. A function that something other than
    a call refers to stays as a private one. A remark says why a function is not
    split: it has several blocks, is a part of a steady state, has no gradients
    of one of the kinds, or an operation of the second would write memory of the
    first. See docs/guide/whole-steps.md.
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"backward\"",
           "The function, such as @backward">,
    ListOption<"inputGradients", "input-gradients", "int64_t",
               "Numbers of the results that are gradients of inputs; those that "
               "no update of parameters takes if not given">,
  ];
}

def AccumulateGradients
    : Pass<"commsched-accumulate-gradients", "::mlir::ModuleOp"> {
  let summary = "run several micro-batches before one update";
  let description = [{
    The step is the function that repeats (`commsched.carried`) and calls its
    parts. Those that take an input of the batch, such as forward and backward,
    are replaced by a call of the private function `name`, which runs them for
    `micro-batches` micro-batches and adds up the gradients. The parts that return
    what the next repetition takes, such as the optimizer, and all that depends on
    them run once and take the sums, and so does what depends on no input. A loss
    that is a mean over the batch has to be divided by the number of micro-batches
    in the program.

    Arguments of the step with the role `input` are there once for each
    micro-batch, those of further ones behind the others; all others once. What
    the step returns of the parts that run for each micro-batch, such as the loss,
    it returns for each, one behind the other.

    Two decisions are made by price. Gathered parameters may be kept between
    micro-batches, those that take longest to gather first and as far as the
    memory goes, as `commsched-bucket-all-gather=deduplicate` does; and gradients
    may be reduce-scattered for each micro-batch, or added up first and reduced
    once, as `commsched-bucket-reduce-scatter=sum-first` does, which takes memory
    for gradients that are not sharded. All four combinations are scheduled within
    `memory-budget`, as by `commsched-schedule` with the same options, and the
    shortest that fits is taken, or the one that needs least memory. Its schedule
    is not applied: run `test-commsched-merge-step` and `commsched-pipeline` behind.

    With `micro-batches=0` they are those that the step has itself: an `scf.for`
    around the calls of its parts, with constant bounds and up to 64 iterations,
    which takes the place of further inputs. Its iterations follow each other in
    the function, so that gathers are kept and gradients added up as above. A sum
    that begins at zero (`arith.constant`) begins with the first gradient. A loop
    of more iterations, or of as many as is known when it runs, stays if its parts
    communicate: what is kept is gathered before it, what is added up first reduced
    behind it, and all four are priced with the loop as it is written.

    A remark gives the time and the memory of all four. The module stays as it
    is, with a remark, if there is no such function or more than one, if none of
    its parts runs once or none more often, or if an update takes an input or what
    cannot be added up.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::commsched::CommSchedDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
  let options = !listconcat([
    Option<"microBatches", "micro-batches", "int32_t", /*default=*/"2",
           "How many micro-batches run before the update, from 2 to 64; 0: those "
           "that a loop of the step has">,
    Option<"name", "name", "std::string", /*default=*/"\"micro_batches\"",
           "Name of the function that runs them">,
  ], schedulingOptions);
}

#endif // COMMSCHED_TRANSFORMS_PASSES_STEPS_TD
