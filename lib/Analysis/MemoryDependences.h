//===- MemoryDependences.h - Order of accesses to memory --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Visits the operations of a block in program order and adds to a problem the
// dependences that SSA does not show. Each rule keeps the frontier that the
// next operation could conflict with, so that the number of dependences stays
// linear in the operations and their effects.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_MEMORYDEPENDENCES_H
#define COMMSCHED_LIB_ANALYSIS_MEMORYDEPENDENCES_H

#include "CommSched/Analysis/StorageAnalysis.h"
#include "CommSched/Schedule/Problem.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::commsched {

/// Keeps accesses to the same memory in order: a write after all reads and
/// writes before it, a read after the last write.
class MemoryDependences {
public:
  MemoryDependences(::commsched::Problem &problem,
                    const StorageAnalysis &storages)
      : problem(problem), storages(storages),
        objects(storages.getStorages().size()) {}

  /// Adds what `op` depends on by what it reads and by its effects.
  void visit(Operation *op, ::commsched::NodeId node);

private:
  /// One thing that is read and written: the memory behind a value, a resource,
  /// or all memory.
  struct Frontier {
    ::commsched::NodeId writer = ::commsched::noNode;
    SmallVector<::commsched::NodeId, 2> readers;
  };

  /// Where a value lives that may be of a region nested in the block.
  struct Location {
    int32_t storage = StorageAnalysis::none;
    /// It has no storage of the block, as it is allocated in that region.
    bool isLocal = false;
  };

  Location locate(Value value);
  void read(Frontier &frontier, ::commsched::NodeId node);
  void write(Frontier &frontier, ::commsched::NodeId node);
  void depend(::commsched::NodeId from, ::commsched::NodeId to);
  void access(int32_t storage, bool isWrite, ::commsched::NodeId node);
  /// Writes all that the operation `node` uses.
  void writeUses(::commsched::NodeId node);
  /// Writes what the collective that `op` starts or waits for writes in place:
  /// it does so from its start to the end of its wait.
  void visitDestinations(Operation *op, ::commsched::NodeId node);
  /// Adds the effects of `op`, which is the operation `node` or in one of its
  /// regions.
  void visitEffects(Operation *op, ::commsched::NodeId node);
  void visitEffect(const MemoryEffects::EffectInstance &effect,
                   ::commsched::NodeId node);

  ::commsched::Problem &problem;
  const StorageAnalysis &storages;
  /// Of values in nested regions, so that no chain of views is walked twice.
  DenseMap<Value, Location> nested;
  /// By the object of a storage.
  std::vector<Frontier> objects;
  DenseMap<SideEffects::Resource *, Frontier> resources;
  /// Everything that has an effect, read by those that name what they touch and
  /// written by those that do not.
  Frontier anywhere;
  /// The last operation that wrote all that it uses: what is nested in it need
  /// not do that again.
  ::commsched::NodeId lastWriteOfUses = ::commsched::noNode;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_MEMORYDEPENDENCES_H
