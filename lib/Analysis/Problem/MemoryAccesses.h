//===- MemoryAccesses.h - What operations read and write --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells what memory each operation of a block reads and writes: by the values
// that it uses, by its effects and those nested in it, and by what collectives
// write in place.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_PROBLEM_MEMORYACCESSES_H
#define COMMSCHED_LIB_ANALYSIS_PROBLEM_MEMORYACCESSES_H

#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::commsched {

/// One access: to an object, to a resource, or anywhere.
struct MemoryAccess {
  /// That of a storage; none for a resource and anywhere.
  int32_t object = StorageAnalysis::none;
  /// Null for an object and anywhere.
  SideEffects::Resource *resource = nullptr;
  bool isWrite = false;

  /// Whether this is everything that has an effect: read by those that name
  /// what they touch, and written by those that do not.
  bool isAnywhere() const {
    return object == StorageAnalysis::none && !resource;
  }
};

/// The accesses of the operations of one block.
class MemoryAccesses {
public:
  using Report = function_ref<void(const MemoryAccess &)>;

  explicit MemoryAccesses(const StorageAnalysis &storages)
      : storages(storages) {}

  /// Reports what `op`, at `index` in the block, accesses; an access may be
  /// reported several times. Linear in its operands, effects and storages,
  /// those of nested operations included. Asked in program order.
  void visit(Operation *op, int32_t index, Report report);

private:
  /// Where a value lives that may be of a region nested in the block.
  struct Location {
    int32_t storage = StorageAnalysis::none;
    /// It has no storage of the block, as it is allocated in that region.
    bool isLocal = false;
  };

  /// The operation of the block that is visited.
  struct Visit {
    int32_t index;
    Report report;
  };

  Location locate(Value value);
  void access(int32_t storage, bool isWrite, const Visit &visit);
  /// Writes all that the operation uses.
  void writeUses(const Visit &visit);
  /// Writes what the collective that `op` starts or waits for writes in place:
  /// it does so from its start to the end of its wait.
  void visitDestinations(Operation *op, const Visit &visit);
  /// Reports the effects of `op`, which is the operation that is visited or in
  /// one of its regions.
  void visitEffects(Operation *op, const Visit &visit);
  void visitEffect(const MemoryEffects::EffectInstance &effect,
                   const Visit &visit);

  const StorageAnalysis &storages;
  /// Of values in nested regions, so that no chain of views is walked twice.
  DenseMap<Value, Location> nested;
  /// The last operation that wrote all that it uses: what is nested in it need
  /// not do that again.
  int32_t lastWriteOfUses = -1;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_PROBLEM_MEMORYACCESSES_H
