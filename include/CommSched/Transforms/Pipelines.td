//===- Pipelines.td - CommSched's pipelines ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines as TableGen knows passes: names, descriptions and options.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PIPELINES_TD
#define COMMSCHED_TRANSFORMS_PIPELINES_TD

include "CommSched/Transforms/Passes/Options.td"

class CommSched_Pipeline<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  // None: nothing makes a pass of it.
  let constructor = "nullptr";
}

def Pipeline : CommSched_Pipeline<"commsched-pipeline"> {
  let summary = "The best that CommSched has: partition, merge collectives, then "
                "hide them";
  let description = [{
    All that the module allows, within one memory budget. What is asked for and
    cannot be had is an error that names both options, or the option and what the
    module lacks.

    Joint functions are split into a forward and a backward where memory asks for
    it. With a budget in bytes, what is saved, computed again, gathered again or
    kept in the memory of the host is chosen together with the schedule of both,
    such that the step fits; `frontier` is then the curve of that choice. With
    a percentage, they are split within `activation-memory-budget`, by what
    operations take on the target, if it or `quantize-activations` asks for that
    or `collectives` is given, and stay whole otherwise, with a remark. What the
    halves hand over is verified.

    Then `test-commsched-merge-step` puts what is called beside other operations
    or in loops there, and leaves the parts of a step; with `steady-state`, none.
    Functions compute without the storage of unsharded parameters and gather
    in place; `commsched-pipeline-loops` overlaps the iterations of loops,
    `commsched-schedule` merges collectives and finds the shortest step within
    the budget, inner blocks first, and `test-commsched-choose-implementations`
    chooses what carries out each collective, where the target lists several
    ways. With `steady-state`, `test-commsched-steady-state`, which chooses itself,
    runs after `commsched-schedule`.
  }];
  let options = !listconcat([
    Option<"memoryBudget", "memory-budget", "std::string",
           /*default=*/"\"5%\"",
           "Memory budget of the step: bytes such as 64GiB, or a percentage over "
           "the peak of the input, of halves as they are partitioned">,
    ReservedBytes<"The part of a budget in bytes that the device holds beside "
                  "the program, such as 12GiB">,
    FrontierFile<"">,
    Option<"activationMemoryBudget", "activation-memory-budget", "double",
           /*default=*/"-1.0",
           "Split joint functions, and save at most this fraction from 0 to 1 of "
           "the activation bytes of the minimum cut; -1: all, where they are "
           "split">,
    Option<"quantizeActivations", "quantize-activations", "bool",
           /*default=*/"false",
           "Split joint functions, and save large activations in 8-bit "
           "floating-point types">,
    Option<"chooseImplementations", "choose-implementations", "bool",
           /*default=*/"true",
           "Choose what carries out each collective, where the target lists "
           "several implementations">,
    Option<"pipelineLoops", "pipeline-loops", "bool", /*default=*/"true",
           "Overlap the iterations of loops that hold collectives, where that "
           "makes them shorter">,
    Option<"steadyState", "steady-state", "bool", /*default=*/"false",
           "Make the functions of a step one, and overlap its repetitions">,
  ], fittingOptions, rewritingOptions, contentionOptions, allocatorOptions,
     costOptions);
}

def InductorPipeline : CommSched_Pipeline<"commsched-inductor-pipeline"> {
  let summary = "What PyTorch Inductor does to communication: merge it, fix its "
                "order, reorder for peak memory, then the recommended passes";
  let description = [{
    The passes of PyTorch Inductor in its order (torch 2.13, post_grad.py,
    Scheduler.__init__ and config.py): merge collectives, fix their order,
    reorder for peak memory, then reorder communication. The reference's
    iterative passes may break the order that it fixed; here that takes
    `order-collectives=false`.
  }];
  let options = !listconcat([
    ListOption<"passes", "passes", InductorPass.type,
               "What reorders communication, in this order, of sink_waits, "
               "raise_comms, reorder_compute_for_overlap, "
               "reorder_communication_preserving_peak_memory, "
               "sink_waits_iterative and simple_overlap; by default what "
               "PyTorch recommends">,
    EnumOption<"bucketAllGathers", "bucket_all_gathers_fx", InductorBuckets,
               "None", "Merge all-gathers">,
    EnumOption<"bucketReduceScatters", "bucket_reduce_scatters_fx",
               InductorBuckets, "None", "Merge reduce-scatters">,
    EnumOption<"bucketAllReduces", "bucket_all_reduces_fx", InductorBuckets,
               "None", "Merge all-reduces">,
    Option<"bucketCapMb", "bucket-cap-mb", "double", /*default=*/"2000",
           "Largest size of a bucket, in units of 2^20 bytes">,
    Option<"orderCollectives", "order-collectives", "bool", /*default=*/"true",
           "Fix the order of collectives, for all later passes">,
    Option<"reorderForPeakMemory", "reorder_for_peak_memory", "bool",
           /*default=*/"true",
           "Begin with the order that has the lowest peak">,
    Option<"memoryBudget", "memory-budget", "std::string", /*default=*/"",
           "Memory budget of the passes that have one: live bytes such as "
           "64GiB, or a percentage over the peak of the input; by default 20%">,
  ], costOptions);
}

#endif // COMMSCHED_TRANSFORMS_PIPELINES_TD
