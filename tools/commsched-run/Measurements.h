//===- Measurements.h - Times and memory of runs ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times and memory of a rank's runs, their medians, and the largest values over
// all ranks: a collective takes as long as on the rank where it takes longest.
//
// The runtime gathers equally many bytes from every rank; the functions here
// gather numbers and records. They are collective, and their errors are the
// runtime's.
//
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

/// The first error of this rank; success if there is none.
llvm::Error getRuntimeError();

/// Equally many elements of every rank, one rank after the other.
template <typename T>
llvm::Expected<std::vector<T>> exchange(ArrayRef<T> mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(mine.size() * commsched_num_ranks());
  if (!mine.empty() &&
      commsched_exchange(mine.data(), all.data(),
                         static_cast<int64_t>(mine.size() * sizeof(T))))
    return getRuntimeError();
  return all;
}

/// The largest of each of these numbers over all ranks.
llvm::Expected<std::vector<int64_t>> exchangeLargest(ArrayRef<int64_t> mine);

/// The records of all ranks; each has as many as it likes.
llvm::Expected<std::vector<std::vector<commsched_record>>>
exchangeRecords(ArrayRef<commsched_record> mine);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_MEASUREMENTS_H
