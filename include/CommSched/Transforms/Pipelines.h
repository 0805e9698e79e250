//===- Pipelines.h - Pass pipelines -----------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences of CommSched's passes under one name each, for the command line and
// for compilers that build their pass manager in C++.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PIPELINES_H
#define COMMSCHED_TRANSFORMS_PIPELINES_H

#include "CommSched/Transforms/PassOptionEnums.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::commsched {

/// Which collectives of one kind PyTorch Inductor merges: the values of its
/// `bucket_*_fx` options.
enum class InductorBuckets { None, All, OnlyFsdp };

/// What the module is priced by: short for commsched-set-costs, which a
/// pipeline then begins with.
struct CostOptions : public virtual ::mlir::detail::PassOptions {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("Preset of the device, instead of the module's: a100, "
                     "h100, h200, gh200 or b200"),
      llvm::cl::init("")};
  Option<std::string> profile{
      *this, "profile",
      llvm::cl::desc("JSON file of measured times, instead of the module's "
                     "profile"),
      llvm::cl::init("")};
};

struct InductorPipelineOptions
    : public PassPipelineOptions<InductorPipelineOptions>,
      public CostOptions {
  InductorPipelineOptions() {
    passes = {InductorPass::ReorderCommunicationPreservingPeakMemory,
              InductorPass::SinkWaitsIterative,
              InductorPass::ReorderCommunicationPreservingPeakMemory};
  }

  ListOption<InductorPass> passes{
      *this, "passes",
      llvm::cl::desc(
          "What reorders communication, in this order, of sink_waits, "
          "raise_comms, reorder_compute_for_overlap, "
          "reorder_communication_preserving_peak_memory, "
          "sink_waits_iterative and simple_overlap; by default what "
          "PyTorch recommends")};
  Option<InductorBuckets> bucketAllGathers{
      *this, "bucket_all_gathers_fx", llvm::cl::desc("Merge all-gathers"),
      llvm::cl::init(InductorBuckets::None), getBucketValues()};
  Option<InductorBuckets> bucketReduceScatters{
      *this, "bucket_reduce_scatters_fx",
      llvm::cl::desc("Merge reduce-scatters"),
      llvm::cl::init(InductorBuckets::None), getBucketValues()};
  Option<InductorBuckets> bucketAllReduces{
      *this, "bucket_all_reduces_fx", llvm::cl::desc("Merge all-reduces"),
      llvm::cl::init(InductorBuckets::None), getBucketValues()};
  Option<double> bucketCapMb{
      *this, "bucket-cap-mb",
      llvm::cl::desc("Largest size of a bucket, in units of 2^20 bytes"),
      llvm::cl::init(2000)};
  Option<bool> orderCollectives{
      *this, "order-collectives",
      llvm::cl::desc("Fix the order of collectives, for all later passes"),
      llvm::cl::init(true)};
  Option<bool> reorderForPeakMemory{
      *this, "reorder_for_peak_memory",
      llvm::cl::desc("Begin with the order that has the lowest peak"),
      llvm::cl::init(true)};
  Option<std::string> memoryBudget{
      *this, "memory-budget",
      llvm::cl::desc("Memory budget of the passes that have one: live bytes "
                     "such as 64GiB, or a percentage over the peak of the "
                     "input; by default 20%"),
      llvm::cl::init("")};

private:
  static llvm::cl::ValuesClass getBucketValues() {
    return llvm::cl::values(
        clEnumValN(InductorBuckets::None, "none", "None of them"),
        clEnumValN(InductorBuckets::All, "all", "All that may be merged"),
        clEnumValN(InductorBuckets::OnlyFsdp, "only_fsdp",
                   "Those of sharded parameters"));
  }
};

/// The passes of PyTorch Inductor in its order (torch 2.13, post_grad.py,
/// Scheduler.__init__ and config.py): merge collectives, fix their order,
/// reorder for peak memory, then reorder communication. The reference's
/// iterative passes may break the order that it fixed; here that takes
/// `order-collectives=false`.
void buildInductorPipeline(OpPassManager &manager,
                           const InductorPipelineOptions &options);

/// What pipelines that end with commsched-schedule pass on to it.
struct SchedulingPipelineOptions : public CostOptions {
  Option<ScheduleBuckets> buckets{
      *this, "buckets", llvm::cl::desc("Which collectives to merge"),
      llvm::cl::init(ScheduleBuckets::Auto), getScheduleBucketsValues()};
  Option<BucketModeOption> mode{
      *this, "mode", llvm::cl::desc("How members of a bucket travel"),
      llvm::cl::init(BucketModeOption::Auto), getBucketModeValues()};
  Option<bool> bitwise{
      *this, "bitwise",
      llvm::cl::desc("Merge reductions only in a way that leaves every element "
                     "at its place of a message"),
      llvm::cl::init(false)};
  Option<ScheduleSplit> split{
      *this, "split",
      llvm::cl::desc("Which collectives to split into chunks, with the "
                     "computation around them"),
      llvm::cl::init(ScheduleSplit::Auto), getScheduleSplitValues()};
  Option<int32_t> maxChunks{
      *this, "max-chunks",
      llvm::cl::desc("Largest number of chunks that a collective is split "
                     "into, from 2 to 8"),
      llvm::cl::init(8)};
  Option<int32_t> slack{
      *this, "slack",
      llvm::cl::desc("By how many percent longer than they are collectives are "
                     "taken to be, in case that times are off; -1: as the "
                     "profile says, else 40"),
      llvm::cl::init(-1)};
  Option<bool> exclusiveGroups{
      *this, "exclusive-groups",
      llvm::cl::desc("Groups that share more than one device are never in "
                     "flight together"),
      llvm::cl::init(false)};
  Option<LinkSharing> linkSharing{
      *this,
      "link-sharing",
      llvm::cl::desc("Groups on the same link share its bandwidth; so do the "
                     "transfers that are named: d2h, h2d or d2h,h2d"),
      llvm::cl::init(LinkSharing::None),
      llvm::cl::ValueOptional,
      getLinkSharingValues()};
  Option<double> computeSlowdown{
      *this, "compute-slowdown",
      llvm::cl::desc("The fraction of its own time that computation takes "
                     "longer beside a collective in flight, such as 0.19"),
      llvm::cl::init(0.0)};
  Option<BudgetOn> budgetOn{
      *this, "budget-on",
      llvm::cl::desc("What a budget in bytes limits: live bytes, or what the "
                     "allocator reserves"),
      llvm::cl::init(BudgetOn::Live), getBudgetOnValues()};
  Option<AllocatorModel> allocator{
      *this, "allocator", llvm::cl::desc("The allocator of budget-on=reserved"),
      llvm::cl::init(AllocatorModel::PyTorch), getAllocatorModelValues()};
  Option<bool> strict{
      *this, "strict",
      llvm::cl::desc("Fail where the schedule that needs least is over the "
                     "budget, or a time or a size is not known"),
      llvm::cl::init(false)};
};

struct PipelineOptions : public PassPipelineOptions<PipelineOptions>,
                         public SchedulingPipelineOptions {
  Option<std::string> memoryBudget{
      *this, "memory-budget",
      llvm::cl::desc(
          "Memory budget of the step: live bytes such as 64GiB, or a "
          "percentage over the peak of the input"),
      llvm::cl::init("5%")};
  Option<std::string> reservedBytes{
      *this, "reserved-bytes",
      llvm::cl::desc("The part of a budget in bytes that the device holds "
                     "beside the program, such as 12GiB"),
      llvm::cl::init("0")};
  Option<std::string> frontier{
      *this, "frontier",
      llvm::cl::desc("File for step time against peak memory"),
      llvm::cl::init("")};
  Option<bool> chooseImplementations{
      *this, "choose-implementations",
      llvm::cl::desc(
          "Choose what carries out each collective, where the target "
          "lists several implementations"),
      llvm::cl::init(true)};
  Option<bool> pipelineLoops{
      *this, "pipeline-loops",
      llvm::cl::desc("Overlap the iterations of loops that hold collectives, "
                     "where that makes them shorter"),
      llvm::cl::init(true)};
  Option<bool> steadyState{
      *this, "steady-state",
      llvm::cl::desc("Make the functions of a step one, and overlap its "
                     "repetitions"),
      llvm::cl::init(false)};
};

/// The best that CommSched has. It computes without the storage of unsharded
/// parameters and gathers in place; then commsched-schedule merges collectives
/// and finds the shortest step within the budget, inner blocks first;
/// commsched-pipeline-loops overlaps the iterations of loops before the block
/// around them is scheduled, and
/// test-commsched-choose-implementations chooses what carries out each
/// collective, where the target lists several ways. With `steady-state`,
/// test-commsched-merge-step runs before, and test-commsched-steady-state after
/// commsched-schedule instead of the choice.
void buildPipeline(OpPassManager &manager, const PipelineOptions &options);

struct TrainingPipelineOptions
    : public PassPipelineOptions<TrainingPipelineOptions>,
      public SchedulingPipelineOptions {
  Option<double> activationMemoryBudget{
      *this, "activation-memory-budget",
      llvm::cl::desc("Fraction from 0 to 1 of the activation bytes of the "
                     "minimum cut that may be saved"),
      llvm::cl::init(1.0)};
  Option<std::string> memoryBudget{
      *this, "memory-budget",
      llvm::cl::desc("Memory of the step: bytes such as 64GiB, to fit which "
                     "partition and schedule are chosen together, or a "
                     "percentage over the peak of each half as it is "
                     "partitioned"),
      llvm::cl::init("5%")};
  Option<std::string> reservedBytes{
      *this, "reserved-bytes",
      llvm::cl::desc("What of 'memory-budget' is not the program's"),
      llvm::cl::init("0")};
  Option<std::string> hostMemory{
      *this, "host-memory",
      llvm::cl::desc("With bytes: pinned memory of the host that "
                     "saved values may take, such as 512GiB"),
      llvm::cl::init("0")};
  Option<QuantizeChoice> quantize{
      *this, "quantize",
      llvm::cl::desc("With bytes: whether saved activations may be "
                     "kept in 8 bits, which changes results"),
      llvm::cl::init(QuantizeChoice::Off), getQuantizeChoiceValues()};
  Option<std::string> frontier{
      *this, "frontier",
      llvm::cl::desc("With bytes: file for step time against peak "
                     "memory"),
      llvm::cl::init("")};
  Option<partition::CollectivePolicy> collectives{
      *this, "collectives",
      llvm::cl::desc("What becomes of gathered parameters"),
      llvm::cl::init(partition::CollectivePolicy::Cost),
      llvm::cl::values(
          clEnumValN(partition::CollectivePolicy::Save, "save", "keep them"),
          clEnumValN(partition::CollectivePolicy::Recompute, "recompute",
                     "gather them again"),
          clEnumValN(partition::CollectivePolicy::Cost, "cost",
                     "whichever is worth it"))};
  Option<bool> quantizeActivations{
      *this, "quantize-activations",
      llvm::cl::desc("Save large activations in 8-bit floating-point types"),
      llvm::cl::init(false)};
};

/// From a joint function to two halves that are ready to run: partitions it
/// within the budget by what operations take on the target, quantizes large
/// activations if the options ask for it, checks what the halves hand over, and
/// schedules each as buildPipeline() does. With a budget in bytes, one
/// pass makes all of these decisions together; options that belong to the other
/// form of the budget are errors that the pass manager's run reports.
void buildTrainingPipeline(OpPassManager &manager,
                           const TrainingPipelineOptions &options);

/// Registers every pipeline under its name.
void registerPipelines();

} // namespace mlir::commsched

#endif // COMMSCHED_TRANSFORMS_PIPELINES_H
