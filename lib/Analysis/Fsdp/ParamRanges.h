//===- ParamRanges.h - What a parameter holds, and when ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the life of an unsharded parameter: grown, filled, read and freed in
// turns, so that each read has one copy that it reads.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_FSDP_PARAMRANGES_H
#define COMMSCHED_LIB_ANALYSIS_FSDP_PARAMRANGES_H

#include "ParamUses.h"

namespace mlir::commsched {

/// One copy into a parameter, and the reads up to the next copy or to where the
/// storage is freed.
struct ParamRange {
  FsdpCopyOp copy;
  /// Those that are used.
  SmallVector<bufferization::ToTensorOp> reads;
  /// The last that uses what is read; null if there is none.
  Operation *lastUser = nullptr;
  int32_t lastUse = 0;
};

/// Counts the resizes among `events`, and notes an obstacle in `param` unless
/// the storage is grown and freed in turns. O(events).
void checkResizes(ArrayRef<ParamEvent> events, UnshardedParam &param);

/// Reports `op`, with its number, which writes a parameter that is grown and
/// freed in turns.
LogicalResult reportWrite(Operation *op, int32_t number,
                          const UnshardedParam &param,
                          ArrayRef<ParamEvent> events);

/// Assigns the reads of a parameter that is grown and freed in turns to its
/// copies, and counts both. Notes an obstacle in `param` if there is one; the
/// ranges are then not complete. Fails, after an error, where a copy finds no
/// storage or a read no contents. O(events).
FailureOr<SmallVector<ParamRange>> findParamRanges(ArrayRef<ParamEvent> events,
                                                   UnshardedParam &param);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_FSDP_PARAMRANGES_H
