//===- Dependences.h - Dependences outside of SSA ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two builders that visit the operations of a block in program order and add to
// a problem the dependences that SSA values do not carry: those through memory
// and those through communication. Each rule keeps only the operations that the
// next one could conflict with, so that the number of dependences is linear in
// the operations and their effects.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_PROBLEM_DEPENDENCES_H
#define COMMSCHED_LIB_ANALYSIS_PROBLEM_DEPENDENCES_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Schedule/Model/Problem.h"
#include "MemoryAccesses.h"

namespace mlir::commsched {

/// Keeps accesses to the same memory in order: a write after all reads and
/// writes before it, a read after the last write.
class MemoryDependences {
public:
  MemoryDependences(schedule::Problem &problem, const StorageAnalysis &storages)
      : problem(problem), accesses(storages), storages(storages),
        objects(storages.getStorages().size()) {}

  /// Adds the dependences of `op` that follow from what it reads and from its
  /// memory effects.
  void visit(Operation *op, schedule::NodeId node);

private:
  /// The last accesses to one storage, to one resource, or to all memory.
  struct LastAccesses {
    schedule::NodeId writer = schedule::noNode;
    SmallVector<schedule::NodeId, 2> readers;
  };

  LastAccesses &getLastAccesses(const MemoryAccess &access);
  void read(LastAccesses &last, schedule::NodeId node);
  void write(LastAccesses &last, schedule::NodeId node);
  void depend(schedule::NodeId from, schedule::NodeId to);

  void keepReadersBefore(schedule::NodeId node);

  schedule::Problem &problem;
  MemoryAccesses accesses;
  const StorageAnalysis &storages;
  /// By the object of a storage.
  std::vector<LastAccesses> objects;
  DenseMap<SideEffects::Resource *, LastAccesses> resources;
  /// By storage, of those that an operation takes over.
  DenseMap<int32_t, LastAccesses> takenOver;
  LastAccesses anywhere;
};

/// Keeps collectives in order, and keeps every operation that communicates on
/// its side of the operations whose communication effects are unknown.
class CommunicationDependences {
public:
  CommunicationDependences(schedule::Problem &problem, StreamOrder streamOrder)
      : problem(problem), streamOrder(streamOrder) {}

  /// Adds the dependences of `op` on earlier communication. Emits an error when
  /// its `commsched.order` contradicts that of an earlier collective.
  LogicalResult visit(Operation *op, schedule::NodeId node,
                      CommunicationEffect effect);

private:
  /// The last fence, which no other operation of the set may cross, and the
  /// operations since then, which are not ordered among each other.
  struct FencedNodes {
    schedule::NodeId fence = schedule::noNode;
    SmallVector<schedule::NodeId> sinceFence;
  };

  void advance(FencedNodes &nodes, schedule::NodeId node, bool isCrossed,
               schedule::DependenceKind kind);
  void visitStream(Operation *op, schedule::NodeId node);
  LogicalResult visitOrder(Operation *op, schedule::NodeId node);

  schedule::Problem &problem;
  StreamOrder streamOrder;
  /// The collectives of each stream that keep their place on it.
  SmallVector<FencedNodes> streams;
  /// The last collective with `commsched.order`.
  schedule::NodeId lastOrdered = schedule::noNode;
  Operation *lastOrderedOp = nullptr;
  /// The fences are operations that block or whose communication is unknown.
  FencedNodes barriers;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_PROBLEM_DEPENDENCES_H
