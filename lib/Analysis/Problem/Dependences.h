//===- Dependences.h - Dependences in a block -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two builders that visit the operations of a block in program order and add to
// a problem the dependences that SSA values do not carry: those through memory
// and those through communication. Each rule keeps only the operations that the
// next one could conflict with, so that the number of dependences is linear in
// the operations and their effects.
//
// Determines which memory each operation of a block reads and writes: the
// storages of the values that it uses, its memory effects and those of nested
// operations, and the destinations that collectives write in place.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_PROBLEM_DEPENDENCES_H
#define COMMSCHED_LIB_ANALYSIS_PROBLEM_DEPENDENCES_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Schedule/Model/Problem.h"
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
  /// The storage of a value that may be defined in a region nested in the
  /// block.
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

/// The writes to some tensors of a block: whether a tensor keeps its contents
/// from one operation to another.
class WriteHistory {
public:
  /// Watches `values` in `block`, but not what operations do that
  /// `isIgnored`. Linear in the operations of the block, nested ones included.
  WriteHistory(Block &block, ArrayRef<Value> values,
               function_ref<bool(Operation *)> isIgnored);

  /// The first operation of the block after `from` and not after `to`, both of
  /// the block, that writes the storage of `value`, one of those that are
  /// watched, or may; null if none does. O(log operations).
  Operation *findWrite(Value value, Operation *from, Operation *to) const;

private:
  /// Those that write one object, in program order.
  using Writers = SmallVector<Operation *, 1>;

  StorageAnalysis storages;
  /// By the object's index among storages.
  DenseMap<int32_t, Writers> writers;
  /// Those that may write whatever a memref reaches.
  Writers anywhere;
};

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
