//===- StorageAnalysis.h - Storages of a block ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the values of one block to storages: the operation that allocates a
// storage, the values that are views of it, the operations that use it, and
// whether the last use frees it. The buffers of a scheduling problem are these
// storages. Also determines which storages may be the same memory, so that
// accesses to them keep their order.
//
// An operation takes over the storage of an operand, and writes its result into
// it, where its interfaces allow that and nothing needs the storage behind it:
// an update of a part of a value, a loop and what it starts with. The
// operations before it that read the storage then have to stay there.
//
// A loop counts as follows.
//   - Around it: what it starts with, and the storages of its results. The
//     result of a value that every iteration passes on is the initial value.
//     Any other result takes over the storage of its initial value, or else has
//     one of its own from the loop on. So there is one storage for each value
//     that the loop carries, from the loop to the last use of the result.
//   - In its body: the arguments, which are these storages, each from the start
//     of the body to its last use there, or to the end if it is passed on; and
//     what the body yields, from where it is computed to the end of the body.
//     Values from around the loop have no size there.
// So what a loop has live is what is live around it, and what is live at the
// peak of its body, without the arguments of the body.
//
// What is live in the regions of an operation while it runs, and how that adds
// up with what is live around the operation.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_STORAGEANALYSIS_H
#define COMMSCHED_ANALYSIS_PROBLEM_STORAGEANALYSIS_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <vector>

namespace mlir::commsched {

/// Memory that one operation allocates, or that is there when the block starts.
struct Storage {
  /// The value that it was allocated for. For what a collective delivers that
  /// is the result of the wait.
  Value root;
  /// The index in the block of the operation that allocates it; -1 if it is
  /// there when the block starts. What a collective delivers is allocated by
  /// its start.
  int32_t producer = -1;
  /// Its size in the memory of the device; none when a dimension is dynamic.
  std::optional<int64_t> bytes;
  /// Whether it is freed after its last use. Otherwise it stays to the end of
  /// the block: returned values, and arguments that are not freeable.
  bool freed = true;
  /// The first of the storages that may be the same memory: those of a
  /// parameter that is freed and grown again, of memrefs that may
  /// alias, of the results of a loop and what it starts from.
  int32_t object = 0;
  /// Whether a memref reaches the object, so that unknown code may write
  /// it.
  bool isMemory = false;
  /// Its size in the memory of the host.
  int64_t hostBytes = 0;
};

/// Whether the caller of the function lets `argument` be freed.
bool isFreeable(BlockArgument argument);

/// The operations of `block` without its terminator. (The regions of
/// unregistered operations may lack one.)
llvm::iterator_range<Block::iterator> getScheduledOperations(Block &block);

/// The storages of one block.
class StorageAnalysis {
public:
  /// No storage: what futures, scalars and values of nested regions have.
  /// Values from outside the block share one storage of no size.
  static constexpr int32_t none = -1;

  explicit StorageAnalysis(Block &block);

  ArrayRef<Storage> getStorages() const { return storages; }

  /// The storages that the operation at `index` takes over for its results.
  ArrayRef<int32_t> getTakenOver(int32_t index) const {
    auto it = takenOver.find(index);
    return it == takenOver.end() ? ArrayRef<int32_t>() : it->second;
  }

  /// Whether an operation takes over `storage`.
  bool isTakenOver(int32_t storage) const {
    return occupants[storage].isTakenOver;
  }

  /// The index of the storage that `value` lives in (at the end of the block,
  /// for one whose storage is resized), or `none`.
  int32_t getStorage(Value value) const {
    auto it = storageOf.find(value);
    return it == storageOf.end() ? none : it->second;
  }

  /// How many operations the block has, without its terminator.
  size_t getNumOperations() const { return firstUse.size(); }

  /// The storages that the operation at `index` in the block needs, ascending:
  /// those of its operands, of values that operations nested in it use, and,
  /// for a wait, of what its start holds in flight and delivers.
  ArrayRef<int32_t> getUses(int32_t index) const {
    size_t first = firstUse[index];
    size_t next = index + 1;
    size_t end = next < firstUse.size() ? firstUse[next] : uses.size();
    return ArrayRef(uses).slice(first, end - first);
  }

private:
  /// The storages that a start uses until its wait.
  struct InFlight {
    /// Of the start in the block.
    int32_t index = 0;
    /// The storages of what it delivers.
    SmallVector<int32_t, 1> delivered;
  };

  /// What is known of the values in a storage, as far as they are visited.
  struct Occupants {
    /// The last operation of the block that uses one.
    Operation *lastUser = nullptr;
    /// The last operation of the block in whose regions one is used.
    Operation *lastRegionUser = nullptr;
    /// Whether a collective uses one, or another block, or one is a memref.
    bool isHeld = false;
    bool isTakenOver = false;
  };

  /// Of the operation that is visited.
  int32_t getCurrentIndex() const { return firstUse.size() - 1; }
  void place(Value value, int32_t storage);
  void addArguments(Block &block);
  void addUses(Operation *op);
  /// Of `operand` by `op`, whose regions consist of the blocks `inner`.
  void addUse(Operation *op, Value operand,
              const DenseSet<Block *> &inner = {});
  void addResults(Operation *op);
  int32_t findAliased(OpResult result);
  bool isReplaceable(Operation *op, OpOperand *operand, OpResult result) const;
  void takeOver(Operation *op);
  void takeOver(OpResult result, int32_t storage);
  /// Lets results of a call have the storages of operands that end there, as
  /// far as the callee frees operands before all results are there.
  void takeOverInCallee(Operation *op);
  void mergeUnknown(OpResult result, int32_t storage);
  void resize(ResizeStorageOp op);
  void keepLiveOut(Block &block);
  void keep(Value value);
  int32_t allocate(Value root, int32_t producer, Type type);
  int32_t findObject(int32_t storage);
  void merge(int32_t storage, int32_t other);
  void addToClass(int32_t &representative, int32_t storage);
  void settleObjects();

  Block &block;
  SmallVector<Storage> storages;
  /// By storage.
  std::vector<Occupants> occupants;
  /// By index of the operation.
  DenseMap<int32_t, SmallVector<int32_t, 1>> takenOver;
  DenseMap<Value, int32_t> storageOf;
  /// The uses of one operation after those of the other, and where those of
  /// each begin.
  std::vector<int32_t> uses;
  std::vector<size_t> firstUse;
  /// By start, until its wait.
  DenseMap<Operation *, InFlight> inFlight;
  /// Storages that `resize_storage` has freed.
  DenseSet<int32_t> released;
  /// Stands for all values from outside of the block.
  int32_t outside = none;
  /// One of the memrefs that may all alias.
  int32_t unknownMemory = none;
};

//===----------------------------------------------------------------------===//
// Memory of regions
//===----------------------------------------------------------------------===//

/// What computeScratchBytes() has returned for operations that have not changed
/// since.
using ScratchBytes = DenseMap<Operation *, int64_t>;

/// The live bytes of the operations of `block` in program order, with what is
/// in their regions. Sizes that are not known count as 0; if the sum does not
/// fit 64 bits, the peak is INT64_MAX. Linear in the operations and operands,
/// those in regions once for each operation around them.
schedule::MemoryTimeline simulateBlockMemory(Block &block,
                                             ScratchBytes *known = nullptr);

/// The bytes of what is live in `block`, a block in a region, that the block
/// around counts: arguments, or else results of the operation that holds it.
int64_t computeCountedBytes(Block &block);

/// The bytes that are live in the regions of `op`, or in what it calls, beyond
/// those that its block counts: the largest over its blocks. 0 for any other
/// operation, and for one whose regions run for each element or in a way that
/// is not known. Reads and extends `known`, if that is not null.
int64_t computeScratchBytes(Operation *op, ScratchBytes *known = nullptr);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_STORAGEANALYSIS_H
