//===- EqualGathers.h - Gathers with equal results --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds gathers of a parameter that deliver the same values as an earlier one:
// they gather the same shard, computed in the same way from the same contents.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_FSDP_EQUALGATHERS_H
#define COMMSCHED_ANALYSIS_FSDP_EQUALGATHERS_H

#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"

namespace mlir::commsched {

/// A gather that would deliver the same as an earlier one, except that `writer`
/// writes in place what one of them gathers or delivers.
struct RewrittenGather {
  Operation *gather;
  Operation *earlier;
  Operation *writer;
};

class EqualGathers {
public:
  /// Looks at the gathers of one parameter each in `block`, of which `fsdp` is
  /// the analysis: those that are not coalesced and not in place. Two are the
  /// same if they are equal but for location and discardable attributes, and so
  /// are the operations without effects that make what they send.
  ///
  /// Linear in the operations of the block, nested ones included, and n log n
  /// in the gathers and in those operations.
  EqualGathers(Block &block, const FsdpAnalysis &fsdp);

  /// Sets of two or more gathers whose waits give the same, in the order of
  /// their waits. Nothing writes what they give in place.
  ArrayRef<SmallVector<Operation *>> getClasses() const { return classes; }

  ArrayRef<RewrittenGather> getRewritten() const { return rewritten; }

  /// Operations without effects, in program order, that make what gathers send.
  ArrayRef<Operation *> getPreparations() const { return preparations; }

private:
  SmallVector<SmallVector<Operation *>> classes;
  SmallVector<RewrittenGather> rewritten;
  SmallVector<Operation *> preparations;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_FSDP_EQUALGATHERS_H
