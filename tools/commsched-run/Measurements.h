//===- Measurements.h - Times and memory of runs ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times and memory of a rank's runs, their medians, and the largest values over
// all ranks: a collective takes as long as on the rank where it takes longest.
//
// They are written beside predictions as a table and as JSON, as a Chrome
// trace, and as the file with a rank's measured times that
// commsched-align-runtimes reads. The Chrome trace shows one step as the model
// predicts it and as each rank measured it: there is a process for the
// prediction and for each rank, each with the compute stream and the groups.
//
// The runtime gathers equally many bytes from every rank; the functions here
// gather numbers and records. They are collective, and their errors are the
// runtime's.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_MEASUREMENTS_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_MEASUREMENTS_H

#include "CommSched/Runtime/Runtime.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <vector>

namespace mlir::commsched::run {

struct CompiledProgram;

/// One run on one rank. Times are nanoseconds since the step began.
struct MeasuredRun {
  int64_t stepNs = 0;
  int64_t peakBytes = 0;
  /// In the memory of the host.
  int64_t hostPeakBytes = 0;
  std::vector<commsched_record> records;
};

/// A collective in a step; -1 where it did not run.
struct SiteTimes {
  int64_t startNs = -1;
  /// Of all its executions together.
  int64_t durationNs = -1;
  /// How long compute stood still for it.
  int64_t exposedNs = -1;
};

/// Medians over runs, or what the cost model says; -1 for what is not known.
struct Summary {
  int64_t stepNs = -1;
  /// From one repetition to the next, measured in the second half of the run.
  int64_t periodNs = -1;
  /// How long compute stood still for any collective.
  int64_t exposedNs = -1;
  int64_t peakBytes = -1;
  int64_t hostPeakBytes = -1;
  /// By site.
  std::vector<SiteTimes> sites;

  /// As a list whose length depends on the number of sites only, and back.
  std::vector<int64_t> toNumbers() const;
  static Summary fromNumbers(ArrayRef<int64_t> numbers);
};

/// The lower median, so that it is a value that was measured. `values` is not
/// empty.
int64_t getMedian(std::vector<int64_t> values);

/// The medians of a rank's runs, of which there is at least one. `siteCalls`
/// is, by site, how often its function is called in a run, or 0: the period is
/// the time between calls from the middle one to the last, as the starts of the
/// median site have it.
Summary summarize(ArrayRef<MeasuredRun> runs, ArrayRef<int64_t> siteCalls);

/// The median time of one execution of each site, or of each operator; none for
/// what did not run.
std::vector<std::optional<int64_t>> getMedianTimes(ArrayRef<MeasuredRun> runs,
                                                   commsched_record_kind kind,
                                                   size_t count);

/// Whether the runtime knows no error of this rank. It keeps the first one;
/// what fails on a rank has told it.
LogicalResult checkRank();

/// Tells the runtime of an error, if this is one.
LogicalResult report(llvm::Error error);

/// Gathers equally many elements of every rank, one rank after the other.
template <typename T>
LogicalResult exchange(ArrayRef<T> mine, std::vector<T> &all) {
  static_assert(std::is_trivially_copyable_v<T>);
  all.resize(mine.size() * commsched_num_ranks());
  return success(mine.empty() ||
                 commsched_exchange(mine.data(), all.data(),
                                    mine.size() * sizeof(T)) == 0);
}

/// Replaces each of the numbers by the largest of its place over all ranks.
LogicalResult exchangeLargest(std::vector<int64_t> &numbers);

/// Gathers the records of all ranks; each has as many as it likes.
LogicalResult
exchangeRecords(ArrayRef<commsched_record> mine,
                std::vector<std::vector<commsched_record>> &ranks);

/// A program's measurements: of each rank the median of its runs, of these the
/// largest.
struct MeasuredStep {
  const CompiledProgram &program;
  /// Measured runs after a warm-up; 0: the only run was measured.
  int32_t repeats = 0;
  /// What the measured times are those of.
  std::string evidence;
  Summary summary;
};

/// For the rank that prints, while it has joined.
void printTable(const MeasuredStep &step, raw_ostream &os);

/// One object on one line.
void printJson(const MeasuredStep &step, raw_ostream &os);

/// Writes the median times of collectives and emulated operators; none for
/// operations that were not measured. The file appears when it is complete.
llvm::Error writeOperationTimes(StringRef path, const CompiledProgram &program,
                                ArrayRef<MeasuredRun> runs);

/// `ranks` holds the records of one run on each rank, and `evidence` is that of
/// a MeasuredStep.
void printTimeline(const CompiledProgram &program,
                   ArrayRef<std::vector<commsched_record>> ranks,
                   StringRef evidence, raw_ostream &os);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_MEASUREMENTS_H
