//===- Orders.td - Passes that change the order ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_ORDERS_TD
#define COMMSCHED_TRANSFORMS_PASSES_ORDERS_TD

include "CommSched/Transforms/Passes/Options.td"

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
    List scheduling whose priority of an operation is the position of the first
    collective that depends on it. Collectives keep their relative order. A remark
    for each collective reports how far its start moved and which operation limits
    it.
  }];
}

def SinkWaits : CommSched_ListSchedulePass<"commsched-sink-waits"> {
  let summary = "wait for collectives as late as their users allow";
  let description = [{
    List scheduling in which a wait comes after all operations that do not depend
    on it. A remark for each collective reports how far its wait moved and which
    operation needs the result.
  }];
}

def ReorderComputeForOverlap
    : CommSched_ListSchedulePass<"commsched-reorder-compute-for-overlap"> {
  let summary = "put enough computation behind each start to hide it";
  let description = [{
    Raises starts, sinks waits, and after each collective, blocking ones
    included, places ready computation until its time covers that of the
    collective. The times are
    `commsched.runtime_ns`, or the estimates of the default target where there
    are none.
  }];
}

def PeakMemoryOrder : OptionEnum<"PeakMemoryOrder",
    "What commsched-reorder-for-peak-memory sorts by.", [
      OptionValue<"LeastPeakMemoryFirst", 0, "lpmf">,
      OptionValue<"BreadthFirst", 1, "bfs">,
      OptionValue<"DepthFirst", 2, "dfs">,
    ]>;

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
    - `bfs`, breadth first: the operation whose operands were computed earliest,
    - `dfs`, depth first: operations with small results and operands first, each
      preceded by the operations that it depends on.

    The order of the program stays unless a method is better, so the peak never
    rises; of several equal methods the first is used. Ties within a method are
    broken by the order of the program. Because a run changes that order, a second
    run may break ties otherwise and lower the peak again.

    The peak of the input is stored on the function as
    `commsched.baseline_peak_bytes`, for the budgets of later passes.
    Collectives keep their order on every stream. A block with a dynamic size
    stays as it is. A remark for each block reports the peaks.
  }];
  let options = [
    ListOption<"methods", "methods",
               PeakMemoryOrder.type,
               "What to try: lpmf, bfs, dfs (default: all of them)">,
  ];
}

class CommSched_MemoryBudgetPass<string flag, string budgetKnob>
    : Pass<flag, "::mlir::func::FuncOp"> {
  list<Option> budgetOptions = [
    Option<"memoryBudget", "memory-budget", "std::string", /*default=*/"",
           "Live bytes such as 68719476736, 64GiB or 640MB, or a percentage "
           "over the baseline such as 5%; instead of " # budgetKnob>,
    Option<"peakMemoryBudget", budgetKnob, "double", /*default=*/"0.2",
           "Live bytes over the baseline, as a fraction of it">,
    Option<"referenceMemoryModel", "reference-memory-model", "bool",
           /*default=*/"false",
           "Take fractions of the bytes that PyTorch Inductor counts, without "
           "arguments that stay live">,
    Option<"commMultiplier", "reorder_sink_runtime_estimations_comm_mult",
           "double", /*default=*/"2.0",
           "With estimations, the factor of the times of collectives">,
    Option<"computeMultiplier",
           "reorder_sink_runtime_estimations_non_comm_mult", "double",
           /*default=*/"1.0",
           "With estimations, the factor of all other times">,
    Option<"neverLonger", "never-longer", "bool", /*default=*/"false",
           "Keep the order of a block whose simulated step would get longer">,
    Option<"maxGroupSize", "max-group-size", "int64_t", /*default=*/"256",
           "Largest number of operations that move with a collective">,
    Option<"verboseLogging", "reorder_sink_verbose_logging", "bool",
           /*default=*/"false",
           "Set commsched.reorder_info on each start or wait considered">,
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
    Cheap operations that it depends on, such as casts, waits and blocking
    collectives move with it.

    The budget holds for all live bytes at every step. A fraction is one of the
    peak before the first memory-aware pass, which is kept on the function as
    `commsched.baseline_peak_bytes`: the fractions of several passes do not add
    up. A function that is over the budget first gets the order of
    `commsched-reorder-for-peak-memory` with the lowest peak. If that order is
    still over the budget, it is the result, and a remark gives the excess. Blocks
    other than the only one of the function's body may not exceed their own peak.

    By default collectives may change their order on a stream, where no
    `commsched.order` holds them; sends, receives and blocking communication
    keep it. All ranks have to run the pass on the same program.

    The options in snake case are those of `torch._inductor.config_comms`. A
    remark for each collective reports its moves, and with
    `reorder_sink_verbose_logging` so does the attribute
    `commsched.reorder_info`, which commsched-report prints as a table; a remark
    for each block then has the totals. Times there are those of the cost
    model, without the multipliers.
  }];
  let options = !listconcat(budgetOptions, [
    Option<"useRuntimeEstimations",
           "reorder_iterative_use_runtime_estimations", "bool",
           /*default=*/"false",
           "Stop when computation hides the collective, weigh what others lose, "
           "and take expensive operations along">,
    Option<"extraOverlap", "reorder_iterative_extra_comm_comp_overlap",
           "double", /*default=*/"0.5",
           "With estimations, hidden means beside computation that lasts this "
           "much longer, as a fraction">,
    Option<"unsafeCollectivesReorder",
           "reorder_iterative_unsafe_collectives_reorder", "bool",
           /*default=*/"true", "Let starts pass other collectives: two side by "
           "side change places in each run, as in PyTorch">,
    Option<"withCollectives", "reorder_iterative_group_with_collectives",
           "bool", /*default=*/"false",
           "Take collectives along that the start depends on">,
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
    the budget. Cheap operations that need its result move with it, and with
    `sink_iterative_use_runtime_estimations` blocking collectives too. The order
    of collectives stays.

    Budget, remarks and the options in snake case are those of
    `commsched-reorder-comms-preserving-peak-memory`; the attribute
    `commsched.reorder_info` is set on waits.
  }];
  let options = !listconcat(budgetOptions, [
    Option<"useRuntimeEstimations", "sink_iterative_use_runtime_estimations",
           "bool", /*default=*/"false",
           "Stop when computation hides the collective, and take expensive "
           "operations along">,
    Option<"extraOverlap", "sink_iterative_extra_comm_comp_overlap", "double",
           /*default=*/"0.5",
           "With estimations, hidden means beside computation that lasts this "
           "much longer, as a fraction">,
    Option<"withCollectives", "sink_waits_iterative_swap_with_collectives",
           "bool", /*default=*/"false", "Let waits pass starts">,
  ]);
}

def SimpleOverlap : Pass<"commsched-simple-overlap", "::mlir::func::FuncOp"> {
  let summary = "start earlier and wait later where that costs nothing";
  let description = [{
    Moves each start up to its last predecessor or to the next collective, and
    each wait down to its first user, as far as the peak of live memory does not
    rise. The order of collectives stays the same. The pass uses no costs, and
    no step gets longer for any costs; the simulation of the step checks that. A
    second run changes nothing.

    This pass is the safe default. A remark for each start and wait reports how
    far it moved and which operation limits it.
  }];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_ORDERS_TD
