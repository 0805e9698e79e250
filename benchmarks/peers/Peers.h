//===- Peers.h - Schedulers of one function ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function of this file runs one scheduler on a function and measures its
// processor time. measure() then evaluates the result with costs and a
// simulator that are the same for all schedulers.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PEERS_PEERS_H
#define COMMSCHED_BENCHMARKS_PEERS_PEERS_H

#include "LoneFunction.h"

namespace mlir::commsched {

/// One run of a scheduler.
struct PeerRun {
  /// Processor time, from the IR to the IR.
  double scheduleMs = 0;
  /// A remark on the run, or "".
  std::string note;
};

/// Runs a pipeline of passes.
FailureOr<PeerRun> runPipeline(LoneFunction &function, StringRef pipeline);

/// Orders by hideLatency(). `limits` are a memory budget (bytes, or a
/// percentage over the peak of the function as it is, or "none") and, after a
/// comma, how many collectives of a stream may be in flight, by default 1.
FailureOr<PeerRun> hideLatencies(LoneFunction &function, StringRef limits);

/// Applies the decisions of another program; the time is the one that it
/// states.
FailureOr<PeerRun> applyExternal(LoneFunction &function, StringRef path);

/// The simulated cost of a function, and its lower bounds.
struct PeerCosts {
  StepReport report;
  /// Of any order of its operations, on whichever ranks agree.
  int64_t lowerBoundNs = 0;
  int64_t tightLowerBoundNs = 0;
};

/// Emits an error when the function is not valid or its costs are not known.
/// Operations that fix the order of collectives are removed from it.
FailureOr<PeerCosts> measure(LoneFunction &function);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PEERS_PEERS_H
