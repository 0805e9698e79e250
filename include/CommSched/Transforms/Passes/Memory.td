//===- Memory.td - Passes that fit a step into memory ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_MEMORY_TD
#define COMMSCHED_TRANSFORMS_PASSES_MEMORY_TD

include "CommSched/Transforms/Passes/Options.td"

def FitMemory : Pass<"test-commsched-fit-memory", "::mlir::ModuleOp"> {
  let summary = "make the shortest step of a joint function that fits a device";
  let description = [{
    Splits every joint function into a forward and a backward, as
    `commsched-partition-joint` does, and schedules both, as
    `commsched-schedule` does, such that the step takes the least time of all
    that is known to fit `memory-budget`, a number of bytes such as
    `85899345920` or `80GiB`, forward and backward together. `reserved-bytes`
    of it are not the program's: optimizer states, the framework.

    The partitions are a fixed list. With a price for memory, saving a value
    costs time, as computing it or gathering it again does, and the minimum cut
    gives the cheapest choice exactly; a gather that is repeated costs what the
    backward cannot hide of it. The list has such choices for prices that rise
    with the share of the forward that they apply to; with gathers that are kept,
    repeated by their price, or all repeated; and with the forward divided into
    segments of several sizes, whose inputs are saved, so that the backward
    computes one segment again at a time. Times and peaks of these are estimated;
    what is best within the memory that there is is measured, peak and lower
    bound, and the most promising is scheduled within it. Of functions with 16,384
    operations or more, these schedules split nothing: `commsched-schedule` does
    after this pass. Times are nanoseconds
    of the cost model. docs/guide/whole-steps.md describes the search.

    With `host-memory`, each partition is tried with and without saved values on
    the host: `commsched.offload` sends those whose transfers computation hides
    behind their last use in the forward, the host's tensor is what is saved, and
    `commsched.reload` fetches it back. Values that nobody uses for the longest
    time come first.

    With `quantize=auto`, each of these is also tried with its saved activations
    in 8 bits: those of bf16 and of at least 1 MiB that are no inputs become
    f8E5M2 with a scale for each row, as by `commsched-quantize-activations`, and
    the casts take their time. Of large functions, only as many of them are in 8
    bits as it takes to fit, from the first on, in quarters of their bytes. This
    changes results, so it is off by default.

    Where nothing that is known fits, that which needs least is taken, and a
    remark `MemoryExceeded` gives the largest values at its peak, what would lower
    them, and what further searches with more `host-memory`, with `quantize=auto`,
    and if neither fits with both have found; with `strict` that is an error. Until
    the pipeline has checked the step, `commsched.budget_remedies` keeps that on the
    functions that call the joint function. `commsched.saved_values` on a
    function replaces the choice of a partition. The other options are those of
    `commsched-schedule`.

    With `budget-on=reserved`, `memory-budget` limits what the `allocator`
    reserves for the step. Up to four limits of live bytes are tried for that, each
    as far from the last one as what is reserved is from the limit; where nothing
    fits, the step that reserves least is taken. See docs/guide/allocator.md.

    `frontier` writes the points between which there is a choice to a file, as
    `commsched-frontier` does: step time and peak of live bytes of schedules for limits
    from the least to the most memory that steps take, and for that of the
    device. The answer is then the best of all of these. Of a module without
    joint functions, it writes what `commsched-frontier` does.

    A remark `PartitionTried` for each partition that was measured gives its
    peak before it is scheduled and the lower bound of its time. A remark
    `MemoryFitted` for each function says where its partition comes
    from, and gives time, peak, saved bytes and the number of partitions that
    were tried.
  }];
  let options = !listconcat([
    Option<"memoryBudget", "memory-budget", "std::string", /*default=*/"",
           "Memory that the step may take: bytes such as 85899345920, 4.5GiB "
           "or 80GB">,
    ReservedBytes<"What of it is not the program's, such as 12GiB">,
    FrontierFile<"">,
  ], fittingOptions, allocatorOptions, rewritingOptions);
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::commsched::CommSchedDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_MEMORY_TD
