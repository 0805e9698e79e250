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

#ifndef COMMSCHED_LIB_ANALYSIS_PROBLEM_MEMORYDEPENDENCES_H
#define COMMSCHED_LIB_ANALYSIS_PROBLEM_MEMORYDEPENDENCES_H

#include "CommSched/Schedule/Problem.h"
#include "MemoryAccesses.h"

namespace mlir::commsched {

/// Keeps accesses to the same memory in order: a write after all reads and
/// writes before it, a read after the last write.
class MemoryDependences {
public:
  MemoryDependences(schedule::Problem &problem, const StorageAnalysis &storages)
      : problem(problem), accesses(storages),
        objects(storages.getStorages().size()) {}

  /// Adds what `op` depends on by what it reads and by its effects.
  void visit(Operation *op, schedule::NodeId node);

private:
  /// One thing that is read and written: the memory behind a value, a resource,
  /// or all memory.
  struct Frontier {
    schedule::NodeId writer = schedule::noNode;
    SmallVector<schedule::NodeId, 2> readers;
  };

  Frontier &getFrontier(const MemoryAccess &access);
  void read(Frontier &frontier, schedule::NodeId node);
  void write(Frontier &frontier, schedule::NodeId node);
  void depend(schedule::NodeId from, schedule::NodeId to);

  schedule::Problem &problem;
  MemoryAccesses accesses;
  /// By the object of a storage.
  std::vector<Frontier> objects;
  DenseMap<SideEffects::Resource *, Frontier> resources;
  Frontier anywhere;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_PROBLEM_MEMORYDEPENDENCES_H
