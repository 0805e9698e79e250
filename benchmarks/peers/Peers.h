//===- Peers.h - Schedulers of one function ---------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function here lets one scheduler have a function and measures how long
// that takes; measure() then says what it made of it, with the costs and the
// simulator that are the same for all.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PEERS_PEERS_H
#define COMMSCHED_BENCHMARKS_PEERS_PEERS_H

#include "../common/LoneFunction.h"

namespace mlir::commsched {

/// What a scheduler did.
struct PeerRun {
  /// Processor time, from the IR to the IR.
  double scheduleMs = 0;
  /// What there is to say.
  std::string note;
};

/// Runs a pipeline of passes.
FailureOr<PeerRun> runPipeline(LoneFunction &function, StringRef pipeline);

/// Orders by hideLatency(). `limits` are a memory budget (bytes, or a
/// percentage over the peak of the function as it is, or "none") and, after a
/// comma, how many collectives of a stream may be in flight, by default 1.
FailureOr<PeerRun> hideLatencies(LoneFunction &function, StringRef limits);

/// Does what another program has decided; its time is what that says.
FailureOr<PeerRun> applyExternal(LoneFunction &function, StringRef path);

/// What a function costs as it stands.
struct PeerCosts {
  StepReport report;
  /// Of any order of its operations, on whichever ranks agree.
  int64_t lowerBoundNs = 0;
  int64_t tightLowerBoundNs = 0;
};

/// Emits an error when the function is not valid or its costs are not known.
/// What fixes the order of collectives is removed from it.
FailureOr<PeerCosts> measure(LoneFunction &function);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PEERS_PEERS_H
