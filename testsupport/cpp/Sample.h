//===- Sample.h - Time and memory of one run of a stage ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_SCALING_SAMPLE_H
#define COMMSCHED_BENCHMARKS_SCALING_SAMPLE_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace mlir::commsched {

/// The time and memory of one run.
struct Sample {
  /// Processor time of the calling thread, in user and kernel mode, in
  /// nanoseconds. Other processes disturb it far less than the time of day.
  int64_t timeNs = 0;
  /// The largest resident size of the process during the run, or 0 where the
  /// system does not report it.
  int64_t peakBytes = 0;
};

/// Runs `body` on this thread. Memory that was freed before goes back to the
/// system first, so that neither the peak nor the page faults depend on what
/// ran earlier.
Sample takeSample(llvm::function_ref<void()> body);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_SCALING_SAMPLE_H
