//===- ParamUses.h - Uses of an unsharded parameter -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows a memref argument through its views and the tensors that are read of
// it, and collects the accesses to its storage in program order.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_FSDP_PARAMUSES_H
#define COMMSCHED_LIB_ANALYSIS_FSDP_PARAMUSES_H

#include "CommSched/Analysis/Fsdp/UnshardedParams.h"

namespace mlir::commsched {

/// The operations of a function, numbered in program order; those of a region
/// come after the operation that holds it, and before the next one.
using OperationNumbers = DenseMap<Operation *, int32_t>;

/// An operation that resizes, fills or reads a parameter.
struct ParamEvent {
  enum class Kind { Grow, Fill, Free, Read };

  Kind kind;
  Operation *op;
  int32_t number;
  /// For a Read, the last operation that uses the tensor or a view of it, and
  /// for what a collective sends its wait.
  Operation *lastUser;
  int32_t lastUse;
};

/// The first operation of some kind, or null.
struct FirstUse {
  Operation *op = nullptr;
  int32_t number = 0;
  ParamObstacle obstacle = ParamObstacle::None;
};

class ParamUses {
public:
  /// O(n log n) in the uses of `param`, its views and tensors.
  ParamUses(BlockArgument param, const OperationNumbers &numbers);

  /// In program order, all in the entry block but for reads, which may be
  /// nested.
  ArrayRef<ParamEvent> getEvents() const { return events; }

  /// The first that writes the parameter other than by an event, or may.
  Operation *getWriter() const { return writer.op; }

  /// The first that keeps the events from being all that resizes or fills the
  /// storage.
  const FirstUse &getResizeObstacle() const { return resizeObstacle; }

  /// The first that keeps the events from being all that reads the storage.
  const FirstUse &getReadObstacle() const { return readObstacle; }

  /// Copies of its tensors into parameters.
  ArrayRef<Operation *> getCopiesOn() const { return copiesOn; }

private:
  /// A value that lives in the storage: the parameter, a view or a tensor.
  struct Alias {
    Value value;
    /// The index of the event that reads it; -1 for memrefs.
    int32_t read = -1;
  };

  int32_t getNumber(Operation *op) const { return numbers.lookup(op); }
  void note(FirstUse &first, Operation *op, ParamObstacle obstacle);
  void addEvent(ParamEvent::Kind kind, Operation *op);
  bool visitParam(Operation *op);
  void visitUser(Operation *op, const Alias &alias);
  void visitMemref(Operation *op, Value memref, bool isView);
  void visitTensor(Operation *op, const Alias &alias);
  void extend(int32_t read, Operation *user);

  BlockArgument param;
  const OperationNumbers &numbers;
  SmallVector<ParamEvent> events;
  SmallVector<Alias> worklist;
  SmallVector<Operation *> copiesOn;
  FirstUse writer, resizeObstacle, readObstacle;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_FSDP_PARAMUSES_H
