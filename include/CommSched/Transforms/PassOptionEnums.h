//===- PassOptionEnums.h - Enum values of pass options ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The enums of options of passes and pipelines, and the parsers of those that
// are elements of list options.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSOPTIONENUMS_H
#define COMMSCHED_TRANSFORMS_PASSOPTIONENUMS_H

#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Partition/RecomputePolicies.h"
#include "CommSched/Partition/SavedValues.h"
#include "CommSched/Schedule/Allocator/CachingAllocator.h"
#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Support/LLVM.h"
#include <optional>

namespace mlir::commsched {

/// The output format of `commsched-report`.
enum class ReportFormat { Table, Json, Trace, Html };

/// How `commsched-partition-joint` chooses what the forward saves.
enum class PartitionStrategy { Default, MinCut };

/// The unit in which `commsched-partition-joint` measures recomputation.
enum class RuntimeEstimator { Flops, Model, Testing };

/// How the members of a bucket travel: packed into one buffer, side by side in
/// one launch, or whichever of them costs less.
enum class BucketModeOption { Copy, Coalesced, Auto };

/// The largest size of a bucket unless an option says otherwise, in units of
/// 2^20 bytes: what PyTorch Inductor's bucketing passes take by default (torch
/// 2.13, bucketing.py, bucket_cap_mb_by_bucket_idx_default).
inline constexpr double defaultBucketCapMb = 2000;

/// What is wrong with such a size, as the end of an error message.
std::optional<std::string> findBucketCapError(double megabytes);

/// The values of an option of that type.
inline llvm::cl::ValuesClass getBucketModeValues() {
  return llvm::cl::values(
      clEnumValN(BucketModeOption::Copy, "copy", "packed into one buffer"),
      clEnumValN(BucketModeOption::Coalesced, "coalesced",
                 "side by side in one launch"),
      clEnumValN(BucketModeOption::Auto, "auto",
                 "what the cost model says is cheaper"));
}

/// Which collectives `commsched-schedule` merges.
enum class ScheduleBuckets { Auto, GathersAndReductions, Off };

/// The values of an option of that type.
inline llvm::cl::ValuesClass getScheduleBucketsValues() {
  return llvm::cl::values(
      clEnumValN(ScheduleBuckets::Auto, "auto", "what makes the step shorter"),
      clEnumValN(ScheduleBuckets::GathersAndReductions,
                 "gathers-and-reductions",
                 "what makes the step shorter of all-gathers, reduce-scatters "
                 "and all-reduces"),
      clEnumValN(ScheduleBuckets::Off, "off", "none"));
}

/// Which collectives `commsched-schedule` splits into chunks.
enum class ScheduleSplit { Auto, Sums, Off };

/// The values of an option of that type.
inline llvm::cl::ValuesClass getScheduleSplitValues() {
  return llvm::cl::values(
      clEnumValN(ScheduleSplit::Auto, "auto",
                 "what makes the step shorter and keeps every element"),
      clEnumValN(ScheduleSplit::Sums, "sums",
                 "also computation whose chunks are partial sums"),
      clEnumValN(ScheduleSplit::Off, "off", "none"));
}

/// The allocator of device memory that is modelled.
enum class AllocatorModel { None, PyTorch, PyTorchExpandable };

/// Returns how that allocator gets memory; none if none is modelled.
std::optional<schedule::SegmentKind> getSegmentKind(AllocatorModel model);

/// The values of an option of that type.
inline llvm::cl::ValuesClass getAllocatorModelValues() {
  return llvm::cl::values(clEnumValN(AllocatorModel::None, "none", "none"),
                          clEnumValN(AllocatorModel::PyTorch, "pytorch",
                                     "PyTorch's caching allocator"),
                          clEnumValN(AllocatorModel::PyTorchExpandable,
                                     "pytorch-expandable",
                                     "the same with expandable segments"));
}

/// The memory that a budget limits.
enum class BudgetOn { Live, Reserved };

/// The values of an option of that type.
inline llvm::cl::ValuesClass getBudgetOnValues() {
  return llvm::cl::values(clEnumValN(BudgetOn::Live, "live", "live bytes"),
                          clEnumValN(BudgetOn::Reserved, "reserved",
                                     "what the allocator reserves"));
}

/// The blocks of a function that a pass schedules.
enum class ScheduledBlocks { All, Nested, Body };

/// The values of an option of that type.
inline llvm::cl::ValuesClass getScheduledBlocksValues() {
  return llvm::cl::values(
      clEnumValN(ScheduledBlocks::All, "all", "all, inner ones first"),
      clEnumValN(ScheduledBlocks::Nested, "nested",
                 "those in regions of operations, as the bodies of loops"),
      clEnumValN(ScheduledBlocks::Body, "body", "those of the function"));
}

/// How `commsched-split` divides gathers.
enum class SplitMode { Chunks, Ring };

/// The values of an option of that type.
inline llvm::cl::ValuesClass getSplitModeValues() {
  return llvm::cl::values(
      clEnumValN(SplitMode::Chunks, "chunks",
                 "every chunk is a collective of a part of every shard"),
      clEnumValN(SplitMode::Ring, "ring",
                 "the chunks are the shards, sent from rank to rank"));
}

/// Which regions `commsched-split` considers.
enum class SplitReach { Auto, Nearest, Widest };

/// The values of an option of that type.
inline llvm::cl::ValuesClass getSplitReachValues() {
  return llvm::cl::values(
      clEnumValN(SplitReach::Auto, "auto",
                 "both, or nearest for a given number of chunks"),
      clEnumValN(SplitReach::Nearest, "nearest",
                 "to the nearest large computations"),
      clEnumValN(SplitReach::Widest, "widest", "as far as the rules go"));
}

/// The values of an option of that type: switched on without a value.
inline llvm::cl::ValuesClass getLinkSharingValues() {
  return llvm::cl::values(
      clEnumValN(LinkSharing::None, "false", "no link is shared"),
      clEnumValN(LinkSharing::Groups, "true", "groups share links"),
      clEnumValN(LinkSharing::Groups, "", "groups share links"),
      clEnumValN(LinkSharing::GroupsAndToHost, "d2h",
                 "so do offloads, with groups across nodes"),
      clEnumValN(LinkSharing::GroupsAndFromHost, "h2d", "so do reloads"),
      clEnumValN(LinkSharing::All, "d2h,h2d", "so do both"),
      clEnumValN(LinkSharing::All, "h2d,d2h", "likewise"));
}

/// The models of the time of a collective.
enum class CollectiveModel { Nccl };

/// The element types of activations that commsched-quantize-activations can
/// convert.
enum class ActivationType { BF16, F16, F32, F64 };

/// The element types that it converts them to.
enum class QuantType { F8E5M2, F8E4M3FN };

/// Whether `test-commsched-fit-memory` may keep saved activations in 8 bits.
enum class QuantizeChoice { Off, Auto };

/// The values of an option of that type.
inline llvm::cl::ValuesClass getQuantizeChoiceValues() {
  return llvm::cl::values(
      clEnumValN(QuantizeChoice::Off, "off", "never"),
      clEnumValN(QuantizeChoice::Auto, "auto",
                 "where that makes the step shorter than all else that fits"));
}

/// The passes that may stand in
/// `torch._inductor.config.reorder_for_compute_comm_overlap_passes`, and
/// simple_overlap, which has a switch of its own there.
enum class InductorPass {
  SinkWaits,
  RaiseComms,
  ReorderComputeForOverlap,
  ReorderCommunicationPreservingPeakMemory,
  SinkWaitsIterative,
  SimpleOverlap,
};

namespace detail {

/// A value of an option, and its name on the command line.
template <typename Enum> struct NamedValue {
  StringRef name;
  Enum value;
};

ArrayRef<NamedValue<ActivationType>> getNamedValues(ActivationType);
ArrayRef<NamedValue<InductorPass>> getNamedValues(InductorPass);
ArrayRef<NamedValue<schedule::PeakMemoryMethod>>
    getNamedValues(schedule::PeakMemoryMethod);

/// Parses an element of a list option: the parser that LLVM has for enums does
/// not pass the option's values on to the elements of a pass's list option.
template <typename Enum>
class ListElementParser : public llvm::cl::basic_parser<Enum> {
public:
  using llvm::cl::basic_parser<Enum>::basic_parser;

  bool parse(llvm::cl::Option &option, StringRef argName, StringRef text,
             Enum &value) {
    std::string names;
    for (const NamedValue<Enum> &entry : getNamedValues(Enum())) {
      if (text == entry.name) {
        value = entry.value;
        return false;
      }
      names += (names.empty() ? "" : ", ") + entry.name.str();
    }
    return option.error("'" + text + "' is none of " + names);
  }

  static void print(raw_ostream &os, Enum value) {
    for (const NamedValue<Enum> &entry : getNamedValues(Enum()))
      if (entry.value == value)
        os << entry.name;
  }
};

} // namespace detail
} // namespace mlir::commsched

template <>
class llvm::cl::parser<mlir::commsched::ActivationType>
    : public mlir::commsched::detail::ListElementParser<
          mlir::commsched::ActivationType> {
public:
  using ListElementParser::ListElementParser;
};

template <>
class llvm::cl::parser<mlir::commsched::InductorPass>
    : public mlir::commsched::detail::ListElementParser<
          mlir::commsched::InductorPass> {
public:
  using ListElementParser::ListElementParser;
};

template <>
class llvm::cl::parser<mlir::commsched::schedule::PeakMemoryMethod>
    : public mlir::commsched::detail::ListElementParser<
          mlir::commsched::schedule::PeakMemoryMethod> {
public:
  using ListElementParser::ListElementParser;
};

#endif // COMMSCHED_TRANSFORMS_PASSOPTIONENUMS_H
