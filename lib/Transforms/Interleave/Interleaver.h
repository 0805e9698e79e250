//===- Interleaver.h - Function that does what two do -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes one function of two and schedules it. Collectives are merged and split
// in two ways, of which the better one is taken: in the function of both, or in
// each function before they become one.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_INTERLEAVE_INTERLEAVER_H
#define COMMSCHED_LIB_TRANSFORMS_INTERLEAVE_INTERLEAVER_H

#include "../Schedule/DecidedBlock.h"

namespace mlir::commsched {

/// Which functions become one.
struct InterleavedPair {
  func::FuncOp first;
  func::FuncOp second;
  /// By argument of the second function: the argument of the first that it
  /// shares.
  SmallVector<std::optional<unsigned>> sharedWith;
  /// The symbol of the function of both, which is free.
  std::string name;
};

/// The function of both, and a schedule of it that is not applied.
struct InterleavedFunction {
  func::FuncOp function;
  DecidedBlock decided;
  /// Both functions, each scheduled by itself, one after the other.
  int64_t sequenceNs = 0;
  int64_t sequenceExposedNs = 0;
};

class Interleaver {
public:
  /// `options` has to outlive the result. `decline` gets the reason why a
  /// function cannot be scheduled.
  Interleaver(const InterleavedPair &pair, const SchedulingOptions &options,
              function_ref<void(Location, const Twine &)> decline);
  /// Erases all functions that were made but the result.
  ~Interleaver();

  /// None after a call of `decline`. The result needs this object as long as it
  /// lives. Emits an error if a time is not known, or there is no problem to be
  /// made of a function.
  FailureOr<std::optional<InterleavedFunction>> run();

private:
  /// One way to make the function.
  struct Candidate {
    func::FuncOp function;
    /// How many operations at the beginning are those of the first function.
    int64_t numFirst = 0;
    const SchedulingOptions *options = nullptr;
    std::optional<BlockScheduler> scheduler;
    BlockSchedule schedule;
  };

  FailureOr<bool> read(Candidate &candidate);
  Candidate join(func::FuncOp first, func::FuncOp second,
                 const SchedulingOptions &options);
  LogicalResult readBaseline(const Candidate &candidate);
  FailureOr<func::FuncOp> scheduleAlone(func::FuncOp function);
  LogicalResult interleave(Candidate &candidate);

  InterleavedPair pair;
  const SchedulingOptions &options;
  /// Without buckets and chunks, for functions that have them.
  SchedulingOptions orderOptions;
  function_ref<void(Location, const Twine &)> decline;
  SymbolTable symbols;
  /// What the destructor erases.
  SmallVector<func::FuncOp> owned;
  /// The peak of both functions as they are, one after the other.
  int64_t baselineBytes = 0;
  int64_t sequenceNs = 0;
  int64_t sequenceExposedNs = 0;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_INTERLEAVE_INTERLEAVER_H
