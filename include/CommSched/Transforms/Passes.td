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
// Orders within a memory budget
//===----------------------------------------------------------------------===//

def ReorderForPeakMemory
    : Pass<"commsched-reorder-for-peak-memory", "::mlir::func::FuncOp"> {
  let summary = "put operations into the order with the lowest peak memory";
  let description = [{
    Sorts every block of the function's body, and every block inside it that
    holds collectives, by each of `methods`, and takes the order with the lowest
    peak memory:

    - `lpmf`, least peak memory first: of the operations that fit below the peak
      so far, the one after which least stays; else the one that raises it
      least,
    - `bfs`, breadth first: the operation whose operands are there longest,
    - `dfs`, depth first: operations with small results and operands first, and
      before each one what it needs.

    The order of the program stays unless a method is better, so the peak never
    rises; of several methods the first counts. Ties within a method are broken
    by the order of the program. Once such a tie is broken otherwise, another
    method may come out better, so running the pass again can lower the peak
    again.

    The peak of the input is kept on the function as
    `commsched.baseline_peak_bytes`, for the budgets of later passes.
    Collectives keep their order on every stream. A block with a dynamic size
    stays as it is. A remark for each block tells the peaks.
  }];
  let options = [
    ListOption<"methods", "methods", "std::string",
               "What to try: lpmf, bfs, dfs (default: all of them)">,
  ];
}

class CommSched_MemoryBudgetPass<string flag, string budgetKnob>
    : Pass<flag, "::mlir::func::FuncOp"> {
  list<Option> budgetOptions = [
    Option<"memoryBudget", "memory-budget", "std::string", /*default=*/"",
           "Live bytes, or a percentage over the baseline such as 5%; instead "
           "of " # budgetKnob>,
    Option<"peakMemoryBudget", budgetKnob, "double", /*default=*/"0.2",
           "What may come on top of the baseline, as a fraction of it">,
    Option<"referenceMemoryModel", "reference-memory-model", "bool",
           /*default=*/"false",
           "Take fractions of what PyTorch Inductor counts: no arguments that "
           "stay">,
    Option<"commMultiplier", "reorder_sink_runtime_estimations_comm_mult",
           "double", /*default=*/"2.0",
           "With estimations, what times of collectives are multiplied by">,
    Option<"computeMultiplier",
           "reorder_sink_runtime_estimations_non_comm_mult", "double",
           /*default=*/"1.0",
           "With estimations, what other times are multiplied by">,
    Option<"neverLonger", "never-longer", "bool", /*default=*/"false",
           "Keep the order of a block whose simulated step would get longer">,
    Option<"maxGroupSize", "max-group-size", "int64_t", /*default=*/"256",
           "How many operations a collective takes along at most">,
    Option<"verboseLogging", "reorder_sink_verbose_logging", "bool",
           /*default=*/"false",
           "Write commsched.reorder_info on what was looked at">,
    Option<"debugMemoryRecompute", "reorder_iterative_debug_memory_recompute",
           "bool", /*default=*/"false",
           "Compare live memory with a simulation after every move">,
  ];
}

def ReorderCommsPreservingPeakMemory
    : CommSched_MemoryBudgetPass<
          "commsched-reorder-comms-preserving-peak-memory",
          "reorder_iterative_peak_memory_budget"> {
  let summary = "start collectives earlier, within a memory budget";
  let description = [{
    Moves each start up past its neighbours, the first of the program first,
    until something stops it: an operation that it depends on and that is too
    expensive to take along, or live memory that would go over the budget.
    Cheap operations that it depends on, such as casts, and waits move with it.

    The budget holds for all live bytes at every step. A fraction is one of the
    peak before the first memory-aware pass, which is kept on the function as
    `commsched.baseline_peak_bytes`: the fractions of several passes do not add
    up. A function that is over the budget first gets the order with the lowest
    peak that `commsched-reorder-for-peak-memory` knows. If that is still over
    it, that is the result, and a remark says by how much. Blocks other than the
    only one of the function's body may not exceed their own peak.

    By default collectives may change their order on a stream, where no
    `commsched.order` holds them; sends, receives and blocking communication
    keep it. All ranks have to run the pass on the same program.

    The options in snake case are those of `torch._inductor.config_comms`. A
    remark for each collective, and with `reorder_sink_verbose_logging` the
    attribute `commsched.reorder_info`, which the report prints as a table, say
    what became of it.
  }];
  let options = !listconcat(budgetOptions, [
    Option<"useRuntimeEstimations",
           "reorder_iterative_use_runtime_estimations", "bool",
           /*default=*/"false",
           "Stop when computation hides the collective, and weigh what others "
           "lose">,
    Option<"extraOverlap", "reorder_iterative_extra_comm_comp_overlap",
           "double", /*default=*/"0.5",
           "With estimations, hidden means beside computation that lasts this "
           "much longer, as a fraction">,
    Option<"unsafeCollectivesReorder",
           "reorder_iterative_unsafe_collectives_reorder", "bool",
           /*default=*/"true", "Let starts pass other collectives">,
    Option<"withCollectives", "reorder_iterative_group_with_collectives",
           "bool", /*default=*/"false",
           "Take collectives along that the start depends on">,
    Option<"maxCollectives", "reorder_iterative_debug_limit_to_reorder",
           "int64_t", /*default=*/"-1",
           "Move only so many collectives; -1: all">,
  ]);
}

def SinkWaitsIterative
    : CommSched_MemoryBudgetPass<"commsched-sink-waits-iterative",
                                 "sink_iterative_peak_memory_budget"> {
  let summary = "wait for collectives later, within a memory budget";
  let description = [{
    Moves each wait down past its neighbours, the last of the program first,
    until something stops it: an operation that needs its result and that is too
    expensive to take along, the next start, or live memory that would go over
    the budget. Cheap operations that need its result move with it. No start or
    blocking collective ever does, so that the order of collectives stays.

    Budget, remarks and the options in snake case are as for
    `commsched-reorder-comms-preserving-peak-memory`; the attribute
    `commsched.reorder_info` goes on waits.
  }];
  let options = !listconcat(budgetOptions, [
    Option<"useRuntimeEstimations", "sink_iterative_use_runtime_estimations",
           "bool", /*default=*/"false",
           "Stop when computation hides the collective, and weigh what others "
           "lose">,
    Option<"extraOverlap", "sink_iterative_extra_comm_comp_overlap", "double",
           /*default=*/"0.5",
           "With estimations, hidden means beside computation that lasts this "
           "much longer, as a fraction">,
    Option<"withCollectives", "sink_waits_iterative_swap_with_collectives",
           "bool", /*default=*/"false", "Let waits pass starts">,
    Option<"unsafeCollectivesReorder",
           "sink_waits_iterative_unsafe_collectives_reorder", "bool",
           /*default=*/"true",
           "Do not demand that collectives keep their order on each stream; "
           "they do">,
    Option<"maxCollectives", "sink_waits_iterative_debug_limit_to_sink",
           "int64_t", /*default=*/"-1", "Move only so many waits; -1: all">,
  ]);
}

def SimpleOverlap : Pass<"commsched-simple-overlap", "::mlir::func::FuncOp"> {
  let summary = "start earlier and wait later where that costs nothing";
  let description = [{
    Moves each start up to what it depends on or to the next collective, and
    each wait down to what needs it, as far as the peak of live memory stays
    what it is. The order of collectives stays, no cost is looked at, and no
    step gets longer by it, whatever the costs are; the simulation of the step
    checks that. A second run changes nothing.

    This is the pass to run without thinking. A remark for each start and wait
    says how far it moved and what holds it.
  }];
}

//===----------------------------------------------------------------------===//
// Sharded parameters
//===----------------------------------------------------------------------===//

def AnnotateFsdp : Pass<"commsched-annotate-fsdp", "::mlir::func::FuncOp"> {
  let summary = "mark the collectives that shard parameters";
  let description = [{
    Writes on collectives, those of every dialect, what they have to do with
    fully sharded data parallelism, as `commsched.fsdp`:

    - `"parameter_gather"`: an all-gather of one parameter, through casts,
      padding and views, or of a bucket that a copy-in has packed parameters
      into. Parameters are the arguments with `commsched.role = "parameter"`,
      or all of them if no argument of the function has a role.
    - `"gradient_scatter"`: a reduce-scatter that reaches only the results of
      the function, through operations of one operand.
    - `"gradient_reduce"`: the all-reduce of a gradient scatter's result
      (hybrid sharding).

    What flows where decides, no name. The attribute is removed where it is
    wrong. A remark counts the collectives of a function, and one for each
    other collective on a group on which parameters are gathered says why it is
    none of them.
  }];
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

class CommSched_BucketPass<string flag> : Pass<flag, "::mlir::func::FuncOp"> {
  list<Option> capOptions = [
    ListOption<"capMb", "cap-mb", "double",
               "Largest size of the first bucket of a key, the second, …, in "
               "units of 2^20 bytes; the last entry stands for all further "
               "ones (default: 500)">,
    Option<"maxCount", "max-count", "int64_t", /*default=*/"0",
           "Most members of a bucket; 0: any number">,
    Option<"saturation", "saturation", "bool", /*default=*/"false",
           "No bucket larger than what reaches 90 % of the bandwidth of its "
           "group, by the cost model">,
  ];
  list<Option> commonOptions = [
    Option<"fsdpOnly", "fsdp-only", "bool", /*default=*/"false",
           "Only collectives that commsched-annotate-fsdp recognizes">,
    Option<"preserveOverlap", "preserve-overlap", "bool", /*default=*/"false",
           "Split buckets until the simulated step gets no longer, and no "
           "other split makes it shorter">,
    Option<"plan", "plan", "std::string", /*default=*/"",
           "Buckets by step instead of by size: entries separated by ;, each a "
           "list of module paths separated by commas; or auto">,
    Option<"profile", "profile", "std::string", /*default=*/"",
           "JSON file of measured collectives, for what merged ones take">,
  ];
  list<Option> modeOption = [
    Option<"mode", "mode", "std::string", /*default=*/"\"copy\"",
           "How members travel: copy (packed into one buffer), coalesced (side "
           "by side in one launch) or auto (what the cost model says is "
           "cheaper)">,
  ];
  let dependentDialects = [
    "::mlir::commsched::CommSchedDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
}

def BucketAllGather : CommSched_BucketPass<"commsched-bucket-all-gather"> {
  let summary = "merge all-gathers into few large ones";
  let description = [{
    Merges all-gathers of one group and element type, within a block. Several
    buckets are open at a time, and a collective that depends on one of them
    goes to another: A, B (needs A), C, D (needs C) become {A, C} and {B, D}. A
    bucket never makes a cycle of dependences, not even through other buckets.
    What a member counts for is the larger of what it sends and delivers.

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
  let options = !listconcat(capOptions, modeOption, commonOptions, [
    Option<"multiDtype", "multi-dtype", "bool", /*default=*/"false",
           "Let different element types share a bucket, as bytes">,
    Option<"deduplicate", "deduplicate", "bool", /*default=*/"false",
           "First use what an earlier gather of the same parameter delivered, "
           "where the peak memory stays what it is">,
  ]);
}

def BucketReduceScatter
    : CommSched_BucketPass<"commsched-bucket-reduce-scatter"> {
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
    that results may differ by rounding. `bitwise` merges by `mode=coalesced`
    only, in which every tensor is reduced as a message of its own; then it
    takes a library that chooses its algorithm by the size of the whole launch
    to change a sum.
  }];
  let options = !listconcat(capOptions, modeOption, commonOptions, [
    Option<"bitwise", "bitwise", "bool", /*default=*/"false",
           "Leave every element at its place of a message: merge by "
           "mode=coalesced only">,
    Option<"sumFirst", "sum-first", "bool", /*default=*/"false",
           "First reduce-scatter the sum of two tensors instead of adding "
           "their reduce-scatters: less communication, more memory, other "
           "rounding">,
  ]);
}

def BucketAllReduce : CommSched_BucketPass<"commsched-bucket-all-reduce"> {
  let summary = "merge all-reduces into few large ones";
  let description = [{
    As `commsched-bucket-all-gather`, for all-reduces of one group, reduction
    and element type. With `mode=copy` the operands are concatenated and the
    results are views of what arrives.

    With `plan`, the reductions of gradients are merged by step, and each step
    is waited for after the next one has started.

    Rounding is as for `commsched-bucket-reduce-scatter`.
  }];
  let options = !listconcat(capOptions, modeOption, commonOptions, [
    Option<"bitwise", "bitwise", "bool", /*default=*/"false",
           "Leave every element at its place of a message: merge by "
           "mode=coalesced only">,
  ]);
}

def EnforceFsdpOrder
    : Pass<"commsched-enforce-fsdp-order", "::mlir::func::FuncOp"> {
  let summary = "keep the collectives of sharded parameters in step";
  let description = [{
    Bounds what is gathered at a time: each gather starts only when the one
    before it has been waited for and copied out. So next to what is in use
    there is one gather in flight at most, whatever made starts rise. Run it
    last, after the passes that reorder.

    In each block it puts directly one after the other

    - the casts and views that make shards ready, `all_gather_copy_in` and its
      gather,
    - the wait for that gather, `split_with_sizes_copy` of what it gives, and
      `fsdp_copy` of what that gives,
    - `chunk_cat` and its reduce-scatter,
    - the wait for that reduce-scatter and the casts and views that follow from
      it alone,

    and then the wait of a gather, with what stands with it, ahead of the next
    gather's copy-in, and so for reduce-scatters. For that the next gather moves
    down, as the wait stands where the parameters are needed, but the wait for a
    reduce-scatter moves up, as the next one starts where its gradients are
    ready. Gathers and reduce-scatters without such a copy are left alone, as
    they are in PyTorch Inductor.

    When a layer is used twice, the second gather may depend on what the first
    one gave. Only what lies between its own shards and its own copy-out belongs
    to it, and what would belong to two gathers is the first one's. Everything
    else, collectives on their streams in particular, keeps its order.

    A group that something else has to split stays as it is, and a gather that
    has to start before an earlier one's wait does so; a remark names the
    operations. The order is all that this pass leaves behind:
    `commsched-order-collectives` makes later passes keep that of collectives.
  }];
}

//===----------------------------------------------------------------------===//
// Buffers of FSDP
//===----------------------------------------------------------------------===//

def ReinplaceAllGather
    : Pass<"commsched-reinplace-all-gather", "::mlir::func::FuncOp"> {
  let summary = "gather into the buffer that the copy-in has made";
  let description = [{
    A `commsched.all_gather` of the slice that a `commsched.all_gather_copy_in`
    has packed, without `into`, becomes one `into` the copy-in's buffer, so that
    there is no second buffer of that size:

    ```mlir
    %slice, %buffer = commsched.all_gather_copy_in %a, %b on @dp
        : tensor<16x32xbf16>, tensor<8x8xbf16>
          -> tensor<576xbf16>, tensor<4608xbf16>
    %future = commsched.all_gather %slice on @dp dim(0) into %buffer
        : tensor<576xbf16> into tensor<4608xbf16>
          -> !commsched.future<tensor<4608xbf16>>
    ```

    It is left as it is, with a remark that says why,

    - if it gathers other tensors along with the slice, gathers on another group
      than the copy-in's, delivers another type than the buffer's, or if the
      copy-in is in another block,
    - if anything but its own wait uses the buffer, the slice or a view of them
      once it has started, be it only a collective that is in flight then (of
      two gathers of one slice the last may be in place),
    - if the buffer is returned, is used outside of the block, or is one that a
      memref may reach.

    Peak memory does not rise, and no time changes. Other collectives stay out
    of place: their operands may be results of pure operations, which generic
    passes may merge with equal ones, as if nobody wrote them.
  }];
}

def RemoveUnshardedParamUsage
    : Pass<"commsched-remove-unsharded-param-usage", "::mlir::func::FuncOp"> {
  let summary = "compute with gathered tensors, not with copies of them";
  let description = [{
    For memref arguments that `commsched.resize_storage` grows and frees, and
    `commsched.fsdp_copy` fills: what reads such an unsharded parameter takes
    the tensor that was copied into it last, and the copies and resizes go.

    ```mlir
    commsched.resize_storage %p bytes(33554432) : memref<4096x4096xbf16>
    commsched.fsdp_copy %full into %p
        : tensor<4096x4096xbf16>, memref<4096x4096xbf16>
    %w = bufferization.to_tensor %p
        : memref<4096x4096xbf16> to tensor<4096x4096xbf16>
    %y = commsched.compute "aten.mm"(%x, %w)
        : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>)
          -> tensor<16x4096xbf16>
    commsched.resize_storage %p bytes(0) : memref<4096x4096xbf16>
    ```

    becomes

    ```mlir
    %y = commsched.compute "aten.mm"(%x, %full)
        : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>)
          -> tensor<16x4096xbf16>
    ```

    A parameter that is filled several times, as that of a layer that is used
    again, has a range for each copy: up to the next one, or to where it is
    freed. The signature of the function stays, but arguments that nothing uses
    any more get the role `"unsharded_param"`, if they have none: as the model
    has it, they then have no storage.

    A parameter is taken to be no other argument's memory, and out of reach of
    code that it is not passed to. It is left alone, with a remark that says
    why,

    - if it is not grown and freed in turns in the function's first block,
      beginning with the one and ending with the other: if it outlives the
      function, the caller sees it,
    - if it is read as a memref or through a view, or if a tensor that is read
      of it is returned, passed to code that nobody knows, or copied into a
      parameter,
    - if such a tensor, or a view of it, is used after the end of its range: it
      is for the reader of the program to say whether the tensor changes with
      the storage,
    - if the tensor that was copied is written in place before the last use of
      the copy.

    Errors, for parameters that are grown and freed in turns, are operations
    that write one in another way, or may, such as calls; a copy into one that
    has no storage; and a read before it is filled.

    A gathered tensor now lives as long as the parameter was used. Peak memory
    does not rise by that, unless it is a view of something larger.
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
    skipped. Behind the halves of a partition comes the step that runs one after
    the other, and what both take together.
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

//===----------------------------------------------------------------------===//
// Partitions
//===----------------------------------------------------------------------===//

def VerifyPartition : Pass<"commsched-verify-partition", "::mlir::ModuleOp"> {
  let summary = "check that backwards take what their forwards save";
  let description = [{
    Looks at every two functions that `commsched.backward` and
    `commsched.forward` link. It is an error, with a note at the other function,

    - if a half names no function, or one that does not name it back, or if the
      two were not the same joint function,
    - if a result that the forward saves (those from
      `commsched.num_forward_outputs` on) is not of the type of the backward's
      argument in the same place, or has another `commsched.name`,
    - if what is saved is a collective in flight,
    - if a saved value has another role than the argument of the forward that it
      is, or, being computed, another one than `"saved_activation"`,
    - if another argument of the backward is no tangent, or if the forward has
      one.

    Nothing is changed.
  }];
}

def QuantizeActivations
    : Pass<"commsched-quantize-activations", "::mlir::ModuleOp"> {
  let summary = "save large activations in 8-bit floating-point types";
  let description = [{
    In the halves of a partition, what the forward saves for the backward is
    converted to `quant-type`, behind its last use in the forward, and back
    right before its first use in the backward. Other uses in the forward keep
    the tensor as it was. What is converted are saved tensors of the element
    types `allowed-dtypes` and of at least `size-in-mb`, for which 8 bits and a
    scale take less memory; but not

    - arguments of the forward that are no `input`, such as parameters, views of
      them, and, as that is still the parameter, what is only cast or gathered
      from a parameter,
    - with `exclude-primals`, inputs and views of them either,
    - tensors with a dynamic size, unless `quantize-dynamic-shape` says that
      they are large enough.

    With `use-scaling`, each row of the last dimension is multiplied with a scale
    of its own, largest / max(amax, 1e-12), so that it uses the range of the
    type, and divided by it in the backward. Scales are f32 (f64 for f64) of the
    shape `[…, 1]`; they are saved behind the tensors that were saved before,
    ahead of numbers at the end. An infinity or NaN makes all of its row NaN.
    Without scaling, numbers that are too large for the type become infinite, or
    NaN in f8E4M3FN, which has no infinity.

    A remark for each saved tensor says what became of it. A second run changes
    nothing. Errors are functions that do not fit together, and calls of either,
    for its type changes.

    ```mlir
    %h = linalg.exp ins(%x : tensor<64x4096xbf16>) …
    return %y, %h : tensor<64x4096xbf16>, tensor<64x4096xbf16>
    ```

    becomes, in the forward,

    ```mlir
    %h = linalg.exp ins(%x : tensor<64x4096xbf16>) …
    %amax = linalg.generic … ins(%h : tensor<64x4096xbf16>) -> tensor<64xf32>
    %scale = linalg.generic … ins(%amax : tensor<64xf32>) -> tensor<64x1xf32>
    %q = linalg.generic … ins(%h, %scale : …) -> tensor<64x4096xf8E5M2>
    return %y, %q, %scale
        : tensor<64x4096xbf16>, tensor<64x4096xf8E5M2>, tensor<64x1xf32>
    ```
  }];
  let options = [
    ListOption<"allowedDtypes", "allowed-dtypes", "std::string",
               "Element types of what is converted, of bf16, f16, f32, f64 "
               "(default: bf16)">,
    Option<"sizeInMb", "size-in-mb", "double", /*default=*/"100",
           "Smallest size of what is converted, in units of 2^20 bytes">,
    Option<"quantType", "quant-type", "std::string", /*default=*/"\"f8E5M2\"",
           "Type to convert to: f8E5M2 or f8E4M3FN">,
    Option<"useScaling", "use-scaling", "bool", /*default=*/"true",
           "Scale each row to the range of the type">,
    Option<"excludePrimals", "exclude-primals", "bool", /*default=*/"false",
           "Leave inputs of the forward as they are">,
    Option<"quantizeDynamicShape", "quantize-dynamic-shape", "bool",
           /*default=*/"false",
           "Take tensors with a dynamic size to be large enough">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::commsched::CommSchedDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

def CompileRegions : Pass<"commsched-compile-regions", "::mlir::ModuleOp"> {
  let summary = "compile marked regions by pipelines of their own";
  let description = [{
    Operations with `commsched.compile_with = {pipeline = "…", region = "…"}`
    leave their functions for private ones, `@__marked_region_0` and so on in
    program order of the calls in their places; then the pipeline runs on each
    of these, on several at once.

    Operations of one block and one region come together in sets as large as can
    be: no path of dependences leaves a set and comes back, be it through other
    sets, and no two sets could be merged. One operation may be a set. Marks
    without a region are one region. An operation with regions is taken as a
    whole, marks inside of it included; marked operations in an unmarked one
    become sets of their own block. A call stands where the first operation of
    its set stood, behind what the set depends on.

    A function takes the values that its operations use, also those that regions
    inside of them capture, and returns those that others use. Constants and
    empty tensors are copied. Views that others use as well stay outside, with a
    copy in the function if it needs one, where they would make a result a view
    of an argument or return one storage twice. Starts go with their waits or
    stay: futures cross no call. What ends a block, defines a symbol, or
    allocates memory that goes with its function stays, too. Remarks tell what
    became of operations.

    A pipeline is a list of passes on `func.func`, wrapped in `func.func(…)` or
    not. One that is not valid, that needs a dialect that nothing has loaded, or
    a region with two different pipelines, is an error before anything changes.
    A pipeline that fails is an error at the first operation of its set.

    What was outlined has no marks any more. A call says `commsched.pure` if the
    function has no effect and results of their own, so that communication may
    cross it, and has as `commsched.runtime_ns` what the function's schedule
    takes, if operations of the set had pinned times.
  }];
  // Those that pipelines are likely to need.
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::commsched::CommSchedDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect",
  ];
}

//===----------------------------------------------------------------------===//
// The joint graph
//===----------------------------------------------------------------------===//

def PartitionJoint : Pass<"commsched-partition-joint", "::mlir::ModuleOp"> {
  let summary = "split a joint function into a forward and a backward";
  let description = [{
    A function with `commsched.num_forward_outputs` computes a forward's results
    and then, from them and from arguments with the role `tangent`, those of its
    backward. This pass makes `@f` into `@f_forward` and `@f_backward`. The
    forward returns its results and what it saves; the backward takes what is
    saved, in the same order, and the tangents. Whatever else the backward needs
    of the forward it computes again. The attributes `commsched.backward` and
    `commsched.forward` link the two; `commsched-verify-partition` checks them.

    `strategy=default` saves what eager execution would: every value that the
    backward uses, but for constants, sizes, and what `commsched.recompute`
    tells to compute again. `strategy=min-cut` saves few bytes, and computes
    again what is cheap: a minimum cut between what may not be computed again
    and what the backward needs.

    `memory-budget` is either a fraction between 0 and 1 of the activation bytes
    that the minimum cut saves, or a number of bytes above 1 that the peak of
    the step, forward and backward together, keeps to as far as it can. The
    smaller it is, the more expensive operations are computed again: which, a
    knapsack decides over what each takes and how large it is. A smaller
    fraction never saves more. If no choice is within the budget, the smallest
    is taken, and a remark says what is missing.

    Operations tagged `must_save` are saved and those tagged `must_recompute`
    computed again; `prefer_save` yields to the budget only, `prefer_recompute`
    to what cannot be repeated only. Random operators are never computed again
    without their state: one that is tagged gets it as an operand. What touches
    memory that is written is never repeated. Where a region of activation
    checkpointing, by `commsched.recompute_region`, uses what an earlier region
    computes, that is saved.

    `collectives=save` never repeats a collective that no tag tells to repeat;
    `recompute` gathers all parameters again in the backward; `cost` does so for
    every gather that the backward's computation hides, and for others if their
    exposed time is worth the bytes to the budget's knapsack.

    `commsched.saved_values` on the function, as `commsched-sync-partition`
    writes it, says instead of all this what to save.

    The names of the bans and the default of each are those of PyTorch's
    partitioner (torch/_functorch/config.py), but for `recompute-views`: a saved
    view keeps the storage of what it shows.
  }];
  let options = [
    Option<"strategy", "strategy", "::mlir::commsched::PartitionStrategy",
           /*default=*/"::mlir::commsched::PartitionStrategy::MinCut",
           "How to choose what the forward saves: default or min-cut",
           [{::llvm::cl::values(
               clEnumValN(::mlir::commsched::PartitionStrategy::Default,
                          "default", "what eager execution saves"),
               clEnumValN(::mlir::commsched::PartitionStrategy::MinCut,
                          "min-cut", "few bytes, within the budget"))}]>,
    Option<"memoryBudget", "memory-budget", "std::string",
           /*default=*/"\"1.0\"",
           "Fraction from 0 to 1 of what the minimum cut saves, or bytes that "
           "the step may hold">,
    Option<"memoryBudgetSolver", "memory-budget-solver",
           "::commsched::KnapsackSolver",
           /*default=*/"::commsched::KnapsackSolver::DynamicProgramming",
           "Which knapsack solver divides the budget: dp or greedy",
           [{::llvm::cl::values(
               clEnumValN(::commsched::KnapsackSolver::DynamicProgramming, "dp",
                          "dynamic programming"),
               clEnumValN(::commsched::KnapsackSolver::Greedy, "greedy",
                          "by gain per byte"))}]>,
    Option<"runtimeEstimator", "runtime-estimator",
           "::mlir::commsched::RuntimeEstimator",
           /*default=*/"::mlir::commsched::RuntimeEstimator::Flops",
           "What computing an operation again is measured in: flops, model or "
           "testing; collectives=cost needs model and takes it",
           [{::llvm::cl::values(
               clEnumValN(::mlir::commsched::RuntimeEstimator::Flops, "flops",
                          "floating-point operations"),
               clEnumValN(::mlir::commsched::RuntimeEstimator::Model, "model",
                          "nanoseconds, pinned or estimated"),
               clEnumValN(::mlir::commsched::RuntimeEstimator::Testing,
                          "testing", "1 for every operation"))}]>,
    Option<"collectives", "collectives", "::commsched::CollectivePolicy",
           /*default=*/"::commsched::CollectivePolicy::Save",
           "What becomes of gathered parameters: save, recompute or cost",
           [{::llvm::cl::values(
               clEnumValN(::commsched::CollectivePolicy::Save, "save",
                          "keep them"),
               clEnumValN(::commsched::CollectivePolicy::Recompute, "recompute",
                          "gather them again"),
               clEnumValN(::commsched::CollectivePolicy::Cost, "cost",
                          "whichever is worth it"))}]>,
    Option<"banRecomputeUsedFarApart", "ban-recompute-used-far-apart", "bool",
           /*default=*/"true",
           "Do not repeat what could be computed with one user of its operand, "
           "but not with another far behind">,
    Option<"banRecomputeLongFusibleChains", "ban-recompute-long-fusible-chains",
           "bool", /*default=*/"true",
           "Do not repeat the end of a chain of over a hundred fusible "
           "operations">,
    Option<"banRecomputeMaterializedBackward",
           "ban-recompute-materialized-backward", "bool", /*default=*/"true",
           "Do not repeat what the backward has to write to memory">,
    Option<"banRecomputeNotInAllowlist", "ban-recompute-not-in-allowlist",
           "bool", /*default=*/"true",
           "Only repeat operators that are known to be cheap">,
    Option<"banRecomputeReductions", "ban-recompute-reductions", "bool",
           /*default=*/"true",
           "Do not repeat what is less than a quarter of its operands">,
    Option<"recomputeViews", "recompute-views", "bool", /*default=*/"true",
           "Never save a view: save what it shows">,
    Option<"treatParametersAsFreeToSave", "treat-parameters-as-free-to-save",
           "bool", /*default=*/"true", "Parameters take no memory when saved">,
    Option<"maxDistFromBw", "max-dist-from-bw", "int32_t", /*default=*/"1000",
           "Do not repeat what is further from the backward, in operations">,
    Option<"aggressiveRecomputation", "aggressive-recomputation", "bool",
           /*default=*/"false",
           "Repeat all that may be repeated, but for reductions">,
    Option<"mimicAutogradOrder", "mimic-autograd-order", "bool",
           /*default=*/"true",
           "Put what the backward computes again right before its first use">,
    Option<"propose", "propose", "std::string", /*default=*/"",
           "File to write the decision to, for commsched-sync-partition, "
           "instead of splitting">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::commsched::CommSchedDialect"];
}

def MimicAutogradOrder
    : Pass<"commsched-mimic-autograd-order", "::mlir::func::FuncOp"> {
  let summary = "compute again what a backward needs right before it needs it";
  let description = [{
    A backward that computes parts of its forward again has all of them in
    front, where their results pile up. The backward proper begins with the
    first operation that uses an argument with the role `tangent`. It and all
    operations behind it keep their order; what they need of those in front
    comes right before the first of them that needs it, as an autograd engine
    would run it.

    Operations in front that write memory (in-place updates, copies into
    parameters, resizes, calls that nobody knows) stay in front, with all that
    they depend on. What nobody needs comes at the end. All dependences are
    kept; collectives of a group may change their order, the same way on all
    ranks, but sends, receives and `commsched.order` hold theirs. A collective
    that is computed again starts right before its wait: passes that raise
    starts come later.

    A function without operations that use a tangent stays as it is, and so does
    one with `commsched.num_forward_outputs`, which holds a forward, too. A
    remark tells how many operations moved and what that does to the peak
    memory. Linear in operations and dependences.
  }];
}

def SyncPartition : Pass<"commsched-sync-partition", "::mlir::ModuleOp"> {
  let summary = "make ranks that would save different values save the same";
  let description = [{
    Ranks whose sizes or times differ may partition a joint function
    differently, and then start different collectives. Run
    `commsched-partition-joint=propose=FILE` on every rank, carry the files
    between ranks, and give all of them to this pass, on every rank in the same
    order: for each joint function that holds collectives it adds up what each
    rank's proposal takes with the sizes of every rank, and picks the one that
    takes least where it takes most; of equal ones, the first. That is written
    as `commsched.saved_values`, which `commsched-partition-joint` then follows.

    A function without collectives stays as it is, with a remark. It is an error
    if a file cannot be read, lacks a joint function or has one that the module
    does not, or if two files list different values.
  }];
  let options = [
    ListOption<"proposals", "proposals", "std::string",
               "Files with the proposals of all ranks, that of rank 0 first">,
  ];
  let dependentDialects = ["::mlir::commsched::CommSchedDialect"];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_TD
