//===- StorageAnalysis.h - Which values share storage, and how long *- C++
//-*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps the values of one block to storages: what allocates them, which values
// are views of which, who uses them, and whether their last user frees them.
// This is the memory model's half of a scheduling problem.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_STORAGEANALYSIS_H
#define COMMSCHED_ANALYSIS_STORAGEANALYSIS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace mlir::commsched {

/// Memory that one operation allocates, or that is there when the block starts.
struct Storage {
  /// The value that it was allocated for.
  Value root;
  /// Who allocates it; null if it is there when the block starts. What a
  /// collective delivers is allocated by its start.
  Operation *producer = nullptr;
  /// Its size; none when a dimension is dynamic.
  std::optional<int64_t> bytes;
  /// Whether it goes after its last use. Otherwise it stays to the end of the
  /// block: returned values, and arguments that are not freeable.
  bool freed = true;
  /// The first of the storages that stand for the same memory at different
  /// times, as those of a parameter that is freed and grown again.
  int32_t object = 0;
};

/// The storages of one block.
class StorageAnalysis {
public:
  /// No storage: what futures, scalars and values from outside the block have.
  static constexpr int32_t none = -1;

  explicit StorageAnalysis(Block &block);

  ArrayRef<Storage> getStorages() const { return storages; }

  /// The index of the storage that `value` lives in (at the end of the block,
  /// for one whose storage is resized), or `none`.
  int32_t getStorage(Value value) const {
    auto it = storageOf.find(value);
    return it == storageOf.end() ? none : it->second;
  }

  /// The storages that `op` of the block needs, ascending: those of its
  /// operands, of values that operations nested in it use, and, for a wait, of
  /// what its start holds in flight.
  ArrayRef<int32_t> getUses(Operation *op) const {
    auto it = uses.find(op);
    return it == uses.end() ? ArrayRef<int32_t>() : ArrayRef(it->second);
  }

private:
  void addArguments(Block &block);
  void addUses(Operation *op);
  void addResults(Operation *op);
  int32_t findAliased(OpResult result);
  void resize(Operation *op);
  void keepLiveOut(Block &block);
  void keep(Value value);
  int32_t allocate(Value root, Operation *producer, Type type);

  SmallVector<Storage> storages;
  DenseMap<Value, int32_t> storageOf;
  DenseMap<Operation *, SmallVector<int32_t, 4>> uses;
  /// The storages of what a start delivers.
  DenseMap<Operation *, SmallVector<int32_t, 1>> delivered;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_STORAGEANALYSIS_H
