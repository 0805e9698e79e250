//===- Buckets.td - Passes that merge collectives ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_BUCKETS_TD
#define COMMSCHED_TRANSFORMS_PASSES_BUCKETS_TD

include "CommSched/Transforms/Passes/Options.td"

class CommSched_BucketPass<string flag> : Pass<flag, "::mlir::func::FuncOp"> {
  list<Option> capOptions = [
    ListOption<"capMb", "cap-mb", "double",
               "Largest size of the first bucket of a key, the second, …, in "
               "units of 2^20 bytes; the last entry stands for all further "
               "ones (default: 2000)">,
    Option<"maxCount", "max-count", "int64_t", /*default=*/"0",
           "Most members of a bucket; 0: any number">,
    Option<"saturation", "saturation", "bool", /*default=*/"false",
           "No bucket larger than what reaches 90 % of the bandwidth of its "
           "group, by the cost model">,
  ];
  list<Option> modeOption = [
    EnumOption<"mode", "mode", BucketModeOption, "Copy",
               "How members travel: copy, coalesced or auto">,
  ];
  let dependentDialects = [
    "::mlir::commsched::CommSchedDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
}

/// For collectives that may be those of sharded parameters.
class CommSched_ParameterBucketPass<string flag> : CommSched_BucketPass<flag> {
  list<Option> parameterOptions = [
    Option<"fsdpOnly", "fsdp-only", "bool", /*default=*/"false",
           "Only collectives of sharded parameters">,
    Option<"plan", "plan", "std::string", /*default=*/"",
           "Buckets by step instead of by size: entries separated by ;, each a "
           "list of module paths separated by commas; or auto">,
  ];
}

def BucketAllGather
    : CommSched_ParameterBucketPass<"commsched-bucket-all-gather"> {
  let summary = "merge all-gathers into few large ones";
  let description = [{
    Merges all-gathers of one group and element type, within a block. Several
    buckets are open at a time, and a collective that depends on one of them
    goes to another: A, B (needs A), C, D (needs C) become {A, C} and {B, D}. A
    bucket never makes a cycle of dependences, not even through other buckets.
    The size of a member is the larger of its input and its result.

    With `mode=copy` the shards are packed by `all_gather_copy_in`, which takes
    over the cast before a gather, and travel in one in-place `all_gather`;
    `split_with_sizes_copy` unpacks it. With `multi-dtype` they travel as bytes.
    With `mode=coalesced` one launch carries them side by side, without copies.

    A merged gather starts where its first member did, if what the others need
    is cheap enough to come along, and else as soon as all are ready; it is
    waited for directly before the first use. A gather that is a bucket already
    is left alone, and a second run changes nothing. A remark for each bucket
    names its members, one for each gather that stays alone says why.

    With `plan`, the gathers of parameters are merged by `commsched.module`
    alone: those of one entry are a step, and each step starts before the
    previous one is waited for. A path stands for the modules below it, and may
    hold the wildcards `*`, `?` and `[…]`. With `plan=auto` steps are blocks
    (what a number in the paths counts, such as `layers.7`), the modules inside
    them, or a quarter or half of what saturates the group: what makes the
    simulated step shortest, if that is not for less than a thousandth. A program
    that has buckets of parameters already keeps its steps.

    The results are the same, bit for bit.
  }];
  let options = !listconcat(capOptions, modeOption, parameterOptions, [
    Option<"multiDtype", "multi-dtype", "bool", /*default=*/"false",
           "Let different element types share a bucket, as bytes">,
    Option<"deduplicate", "deduplicate", "bool", /*default=*/"false",
           "First use what an earlier gather of the same parameter delivered, "
           "where the peak memory stays what it is">,
  ]);
}

def BucketReduceScatter
    : CommSched_ParameterBucketPass<"commsched-bucket-reduce-scatter"> {
  let summary = "merge reduce-scatters into few large ones";
  let description = [{
    As `commsched-bucket-all-gather`, for reduce-scatters of one group,
    reduction and element type. With `mode=copy` the operands are packed by
    `chunk_cat`, which takes over a widening cast, and the results are views of
    what arrives.

    With `plan`, the reductions of gradients are merged by step, and each step
    is waited for after the next one has started.

    A packed operand travels at another place of the message than alone. Some
    algorithms, such as rings, sum in an order that depends on the place, so
    that results of more than two ranks may differ by rounding. `bitwise` merges
    these by `mode=coalesced` only, in which every tensor is reduced as a
    message of its own; then it takes a library that chooses its algorithm by
    the size of the whole launch to change a sum.
  }];
  let options = !listconcat(capOptions, modeOption, parameterOptions, [
    Option<"bitwise", "bitwise", "bool", /*default=*/"false",
           "Leave every element at its place of a message, if more than two "
           "ranks reduce it: merge by mode=coalesced only">,
    Option<"sumFirst", "sum-first", "bool", /*default=*/"false",
           "First reduce-scatter the sum of two tensors instead of adding "
           "their reduce-scatters: less communication, more memory, other "
           "rounding">,
  ]);
}

def BucketAllReduce
    : CommSched_ParameterBucketPass<"commsched-bucket-all-reduce"> {
  let summary = "merge all-reduces into few large ones";
  let description = [{
    As `commsched-bucket-all-gather`, for all-reduces of one group, reduction
    and element type. With `mode=copy` the operands are concatenated and the
    results are views of what arrives.

    With `plan`, the reductions of gradients are merged by step, and each step
    is waited for after the next one has started.

    Rounding is as for `commsched-bucket-reduce-scatter`. Gloo reduces the
    tensors of one launch as one message: `bitwise` leaves all-reduces alone on
    groups of more than two ranks whose `commsched.backend` is "gloo".
  }];
  let options = !listconcat(capOptions, modeOption, parameterOptions, [
    Option<"bitwise", "bitwise", "bool", /*default=*/"false",
           "Leave every element at its place of a message, if more than two "
           "ranks reduce it: merge by mode=coalesced only, and not at all on "
           "gloo">,
  ]);
}

def Bucket : CommSched_BucketPass<"commsched-bucket"> {
  let summary = "merge collectives of several kinds into few large ones";
  let description = [{
    Merges collectives of the given kinds by their sizes, one kind after the
    other, as `commsched-bucket-all-gather` does for gathers. What travels
    together has one group and element type, and

    - reductions have one reduction,
    - permutes have one set of pairs, such as the many small messages of a halo
      exchange; the order of the rows of `pairs` does not matter,
    - broadcasts have one root,
    - all-to-alls have one `split_dim` and `concat_dim` and equal splits, such as
      those of tokens and their weights before experts.

    With `mode=copy` the operands of permutes and broadcasts are concatenated,
    and the results are views of the received buffer. All-to-alls are never
    packed into a buffer, because the parts for each rank would have to be
    contiguous: one launch transfers several tensors, whatever the mode.

    The results are the same, bit for bit, but for reductions, of which
    `commsched-bucket-reduce-scatter` says when they round differently.
  }];
  let options = !listconcat([
    ListOption<"kinds", "kinds", "std::string",
               "Kinds to merge: all-gather, reduce-scatter, all-reduce, "
               "all-to-all, broadcast, permute (default: all of them)">,
  ], capOptions, modeOption, [
    Option<"bitwise", "bitwise", "bool", /*default=*/"false",
           "Leave every element at its place of a message, if more than two "
           "ranks reduce it: merge by mode=coalesced only, and all-reduces not "
           "at all on gloo">,
  ]);
}

#endif // COMMSCHED_TRANSFORMS_PASSES_BUCKETS_TD
