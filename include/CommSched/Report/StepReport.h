//===- StepReport.h - Reports on simulated steps ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simulates the body of a function with the time and memory model and gathers
// the numbers that the report prints.
//
// Every output with simulated times says so, and names the target and where the
// times of operations come from.
//
// The texts of remarks and reports on an exposed collective: its limiting
// factor and the change that would remove it.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_STEPREPORT_H
#define COMMSCHED_REPORT_STEPREPORT_H

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Allocator/CachingAllocator.h"
#include "CommSched/Schedule/Exposure/ExposureReasons.h"
#include "CommSched/Schedule/Model/Problem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <utility>
#include <vector>

namespace mlir::commsched {

/// The numbers that the texts round: of an ExposureReason those that count for
/// its cause, with the same names.
struct ExposureNumbers {
  std::optional<int64_t> byNs;
  std::optional<int64_t> gainNs;
  std::optional<int64_t> spareNs;
  std::optional<int64_t> bytesShort;
};

struct ExposureText {
  /// Such as "stream busy with 'all_gather_3', which ends 40 ns after it is
  /// issued".
  std::string limit;
  /// Such as "a shorter or an earlier 'all_gather_3'".
  std::string remedy;
  ExposureNumbers numbers;
};

/// Puts `reason` into words. `getName` names operations; for a wait it is asked
/// about the start. `splitting` says what is known about splitting the
/// collective, if anything, for one that nothing is left to hide; nothing is
/// said of that for `isTransfer`, one between the device and its host.
ExposureText
describeExposure(const schedule::Problem &problem,
                 const schedule::ExposureReason &reason,
                 function_ref<std::string(schedule::NodeId)> getName,
                 StringRef splitting, bool isTransfer = false);

struct CostEvidence {
  CostEvidence() = default;
  /// The target and the profile of `costs`; no operation has a price yet.
  explicit CostEvidence(const OperationCosts &costs);

  /// The same for what `block` takes, which was priced by `costs`.
  CostEvidence(const OperationCosts &costs, const BlockProblem &block);

  /// The preset.
  std::string target;
  /// The fields in which the target differs from it, by the module or the
  /// profile, with their values.
  std::vector<std::pair<StringRef, double>> changes;
  /// The file of the measured profile; none without one.
  std::optional<std::string> profile;
  /// What all operations take together.
  OperationPrice price;
  /// The values that count as 0 bytes, as their size is not known.
  int64_t numUnsized = 0;
  /// Whether sizes are those of all devices: it calls the program of one.
  bool isOfAllDevices = false;

  /// Adds what further operations take.
  void add(const CostEvidence &other);

  /// Whether every time is pinned, so that neither the target nor the profile
  /// counts.
  bool isPinned() const {
    return price.numOps > 0 && price.numPinned == price.numOps;
  }
  /// "model", "profile" or "pinned".
  StringRef getSource() const;
  /// The share of the time that was measured, in percent with one decimal.
  double getMeasuredPercent() const;

  /// Such as "simulated: target h100; costs: profile costs.json (312 of 350
  /// operations measured, 97.5 % of the time)".
  std::string describe() const;
  /// The same as attributes of the object that `stream` prints.
  void print(llvm::json::OStream &stream) const;

private:
  std::string describeCosts() const;
};

/// One collective of a simulated step. Times are nanoseconds from its start.
struct CollectiveReport {
  /// `commsched.name`, or the kind and the index of the collective.
  std::string name;
  /// The names of those that it was merged from; empty if it was not.
  SmallVector<std::string, 0> members;
  StringRef kind;
  /// The group's symbol without `@`, or the group key as text.
  std::string group;
  /// The implementation; empty for NCCL as it decides.
  std::string implementation;
  /// The larger of what one rank sends and receives.
  int64_t bytes = 0;
  /// Whether it copies between the device and its host.
  bool isTransfer = false;
  /// Whether `bytes` follow from size hints: the real number is known only when
  /// the program runs.
  bool areBytesExpected = false;
  int64_t startNs = 0;
  int64_t endNs = 0;
  /// When the compute stream reaches the wait.
  int64_t waitNs = 0;
  /// How long the compute stream is stalled there, in all iterations.
  int64_t exposedNs = 0;
  /// How often the collective runs, which is more than once in a loop. The
  /// times above are those of the first time.
  int64_t iterations = 1;
  /// The reason that it is not hidden, and the change that would hide it; empty
  /// if it is hidden.
  std::string limitedBy;
  std::string remedy;
  /// The numbers that both texts round.
  ExposureNumbers numbers;
  /// The stream: the group, and the implementation in parentheses.
  std::string getStreamName() const {
    return implementation.empty() ? group : group + " (" + implementation + ")";
  }
  /// How passes have moved the start and the wait, by their attributes.
  std::optional<ReorderInfo> startReorder;
  std::optional<ReorderInfo> waitReorder;
  /// The operation, as long as the IR stands.
  Operation *start = nullptr;

  /// How long the compute stream is stalled the first time.
  int64_t getFirstExposedNs() const { return exposedNs / iterations; }
};

/// One operation of the compute stream that takes time.
struct ComputeReport {
  std::string name;
  int64_t startNs = 0;
  int64_t endNs = 0;
};

/// Live bytes from a point in time on.
struct MemorySample {
  int64_t timeNs = 0;
  int64_t bytes = 0;
};

/// The time for which a buffer takes memory of the device.
struct BufferReport {
  /// As that of a LiveValue.
  std::string name;
  int64_t bytes = 0;
  int64_t beginNs = 0;
  int64_t endNs = 0;
};

/// A value that is live at the peak.
struct LiveValue {
  /// Of the argument, or of the operation that makes it and, after the first,
  /// the number of its result: `name#1`.
  std::string name;
  int64_t bytes = 0;
  /// The index of the operation that allocates it; none for what is there from
  /// the start.
  std::optional<int64_t> producer;
  /// Why it counts: `argument`, which the caller keeps; `freeable_argument`;
  /// `collective`, which delivers it; `loop`, which carries it; `update`, which
  /// writes a part of it in place; `inside`, what is live in the regions of the
  /// operation; `result` of any other operation.
  StringRef rule;
};

/// What repetitions of a step cost, in nanoseconds.
struct PeriodReport {
  /// From one repetition to the next.
  int64_t periodNs = 0;
  /// No order has a shorter period, and why.
  int64_t boundNs = 0;
  std::string limitedBy;
  /// What a run takes beyond a period for each repetition: what is exposed only
  /// in the first and in the last ones. None for a step whose repetitions do
  /// not overlap, or without its prologue and epilogue.
  std::optional<int64_t> rampNs;
  /// How many repetitions are in progress at once.
  int64_t depth = 1;
};

/// The simulation of one function's body. What is in a loop, a branch or a
/// callee counts as often as it runs, in all figures but `numOps`.
/// `exposedCommNs` is the step without the time of computation. `lowerBoundNs`
/// holds for every legal order in which the collectives of each stream keep
/// theirs, `tightLowerBoundNs` also where they change places, and
/// `mergingLowerBoundNs` also where they are merged and split
/// (computeMergingBoundNs()).
struct StepReport {
  static constexpr size_t maxPeakValues = 10;
  static constexpr size_t maxMostExposed = 10;

  std::string function;
  /// Without the terminator.
  int64_t numOps = 0;
  int64_t commBytes = 0;
  int64_t stepTimeNs = 0;
  int64_t computeTimeNs = 0;
  int64_t commTimeNs = 0;
  int64_t exposedCommNs = 0;
  /// By how much computation took longer than that, beside collectives.
  int64_t slowdownNs = 0;
  int64_t lowerBoundNs = 0;
  int64_t tightLowerBoundNs = 0;
  int64_t mergingLowerBoundNs = 0;
  int64_t peakMemoryBytes = 0;
  /// Of the transfers between the device and its host, which `commBytes` does
  /// not count; and the most that is live in the host's memory at a time.
  int64_t transferBytes = 0;
  int64_t hostPeakBytes = 0;
  /// The index of the first operation that reaches the peak; -1 if there is no
  /// operation.
  int64_t peakPosition = -1;
  /// Its name; empty if there is none.
  std::string peakOperation;
  /// The largest of what is live then, at most `maxPeakValues`; largest first,
  /// equal ones in the order in which the program makes them. Nothing in it is
  /// empty.
  SmallVector<LiveValue> peakValues;
  /// What the allocator reserves, if one is modelled.
  std::optional<schedule::ReservedMemory> reserved;
  /// What the device holds beside the program.
  int64_t otherBytes = 0;
  /// By how much the last schedule missed its budget; of two functions that
  /// which missed it by more.
  int64_t overBudgetBytes = 0;
  /// In program order, transfers between the device and its host included, and
  /// those in regions and callees.
  std::vector<CollectiveReport> collectives;
  /// In program order.
  std::vector<ComputeReport> computations;
  /// In order of time.
  std::vector<MemorySample> memory;
  /// Those that are not empty, if SimulationOptions ask for them, in the order
  /// in which they are allocated. None for a steady state.
  std::vector<BufferReport> buffers;
  /// For a step that repeats, or its steady state: then `stepTimeNs` is the
  /// period, times are those of one period, and bounds are those of the
  /// period.
  std::optional<PeriodReport> period;
  /// See GroupContention.
  SmallVector<Attribute> unknownGroups;
  /// What the times rest on.
  CostEvidence evidence;
  /// What they take as known; empty unless remarks are enabled.
  std::vector<Assumption> assumptions;

  /// The memory that the device needs: `otherBytes`, and what the allocator
  /// reserves or else the peak. The largest int64_t if that is more.
  int64_t getTotalBytes() const;
  /// How many collectives run, without those that copy between the device and
  /// its host, and how many that copy.
  int64_t countCollectives() const { return countRuns(false); }
  int64_t countTransfers() const { return countRuns(true); }
  /// How many of them the compute stream never stands still for.
  int64_t countHidden(bool areTransfers) const;
  /// Those that it stands still for longest, at most `maxMostExposed`; longest
  /// first, equal ones in program order.
  std::vector<const CollectiveReport *> getMostExposed() const;

private:
  int64_t countRuns(bool areTransfers) const;
};

/// What a simulation for a report counts in.
struct SimulationOptions {
  /// The allocator that is modelled, if one is.
  std::optional<schedule::SegmentKind> allocator = std::nullopt;
  /// Whether the bounds are computed, which takes as long as all the rest.
  bool withBounds = true;
  /// Whether StepReport::buffers is filled in.
  bool withBuffers = false;
};

/// Simulates the body of `function` as `costs` price it. None, with the
/// `reason` in words, when it has several blocks or a collective in flight
/// across the boundary of its block.
FailureOr<std::optional<StepReport>>
simulateFunction(FunctionOpInterface function, OperationCosts &costs,
                 std::string &reason, const SimulationOptions &options = {});

/// Simulates a function that StepLoop can repeat as `costs` price it: adds the
/// period to the `report` of a step, which simulateFunction() has made, and
/// makes that of a steady state. None, with the `reason` in words, if nothing
/// is known of the period. Creates a function beside `step` and erases it
/// again.
FailureOr<std::optional<StepReport>>
simulateRepetitions(func::FuncOp step, std::optional<StepReport> report,
                    OperationCosts &costs, std::string &reason,
                    const SimulationOptions &options = {});

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_STEPREPORT_H
