//===- StorageAnalysis.cpp - Storages of a block --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CalleeSummary.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <utility>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The function whose entry block `argument` belongs to, or null.
static FunctionOpInterface getFunction(BlockArgument argument) {
  Block *block = argument.getOwner();
  return block->isEntryBlock()
             ? dyn_cast<FunctionOpInterface>(block->getParentOp())
             : FunctionOpInterface();
}

bool mlir::commsched::isFreeable(BlockArgument argument) {
  FunctionOpInterface function = getFunction(argument);
  return function && isFreeable(function, argument.getArgNumber());
}

//===----------------------------------------------------------------------===//
// Operations of a block
//===----------------------------------------------------------------------===//

llvm::iterator_range<Block::iterator>
mlir::commsched::getScheduledOperations(Block &block) {
  return llvm::make_range(block.begin(), block.mightHaveTerminator()
                                             ? std::prev(block.end())
                                             : block.end());
}

//===----------------------------------------------------------------------===//
// Storages and their uses
//===----------------------------------------------------------------------===//

StorageAnalysis::StorageAnalysis(Block &block) : block(block) {
  addArguments(block);
  for (Operation &op : getScheduledOperations(block)) {
    firstUse.push_back(uses.size());
    if (auto resizeOp = dyn_cast<ResizeStorageOp>(op)) {
      resize(resizeOp);
      continue;
    }
    addUses(&op);
    takeOver(&op);
    takeOverInCallee(&op);
    addResults(&op);
  }
  keepLiveOut(block);
  settleObjects();
}

int32_t StorageAnalysis::allocate(Value root, int32_t producer, Type type) {
  auto index = static_cast<int32_t>(storages.size());
  storages.push_back({root, producer, getStaticBytes(type), true, index,
                      isa<BaseMemRefType>(type)});
  Storage &storage = storages.back();
  if (storage.bytes && isHostType(type))
    storage.hostBytes = std::exchange(*storage.bytes, 0);
  occupants.emplace_back();
  return index;
}

/// Whether `op` starts in a region of `outer` and is over when that is.
static bool isWaitedForInside(Operation *op, Operation *outer) {
  auto collective = cast<CollectiveOpInterface>(op);
  if (op == outer)
    return false;
  Operation *wait = collective.getWait();
  return wait && wait->getBlock() == op->getBlock();
}

void StorageAnalysis::place(Value value, int32_t storage) {
  storageOf[value] = storage;
  Occupants &here = occupants[storage];
  here.isHeld |= isa<BaseMemRefType>(value.getType());
  for (Operation *user : value.getUsers()) {
    Operation *op = block.findAncestorOpInBlock(*user);
    here.isHeld |= !op || (isa<CollectiveOpInterface>(user) &&
                           !isWaitedForInside(user, op));
    auto advance = [&](Operation *&last) {
      if (!last || (op && last->isBeforeInBlock(op)))
        last = op;
    };
    advance(here.lastUser);
    if (op != user)
      advance(here.lastRegionUser);
  }
}

void StorageAnalysis::addArguments(Block &block) {
  bool areReplaced = replacesArguments(block);
  for (BlockArgument argument : block.getArguments()) {
    if (!getTensorType(argument.getType()))
      continue;
    int32_t storage = allocate(argument, none, getSizedType(argument));
    storages[storage].freed = areReplaced || isFreeable(argument);
    // What no iteration uses gives way, at once, to what takes its place.
    if (argument.use_empty() &&
        (areReplaced || getRole(argument) == unshardedParamRole))
      storages[storage].bytes = 0;
    place(argument, storage);
    // A loop may pass on what its body captures, and a caller one memref twice.
    // Only a role says that an argument is a thing of its own.
    if (!getFunction(argument)) {
      storages[storage].isMemory = true;
      addToClass(outside, storage);
    } else if (storages[storage].isMemory && getRole(argument).empty()) {
      addToClass(unknownMemory, storage);
    }
  }
}

/// Whether the storage of `value`, which is not of the block at hand, might be
/// a memref's.
static bool mayBeMemory(Value value) {
  while (!isa<BaseMemRefType>(value.getType())) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return !getFunction(cast<BlockArgument>(value));
    if (mayAliasUnknown(result))
      return true;
    value = getAliasedValue(result);
    if (!value)
      return false;
  }
  return true;
}

void StorageAnalysis::addUse(Operation *op, Value operand,
                             const DenseSet<Block *> &inner) {
  int32_t storage = getStorage(operand);
  Block *block = operand.getParentBlock();
  if (storage == none && block != op->getBlock() &&
      getTensorType(operand.getType()) && !inner.contains(block)) {
    storage = allocate(operand, none, getSizedType(operand));
    storages[storage].bytes = 0;
    storages[storage].freed = false;
    storages[storage].isMemory = mayBeMemory(operand);
    place(operand, storage);
    addToClass(outside, storage);
  }
  if (storage != none)
    uses.push_back(storage);
}

void StorageAnalysis::addUses(Operation *op) {
  DenseSet<Block *> inner;
  op->walk([&](Block *block) { inner.insert(block); });
  op->walk([&](Operation *user) {
    for (Value operand : user->getOperands())
      addUse(op, operand, inner);
  });
  if (auto wait = dyn_cast<WaitOpInterface>(op))
    if (auto it = inFlight.find(wait.getStart()); it != inFlight.end()) {
      for (int32_t storage : SmallVector<int32_t>(getUses(it->second.index)))
        uses.push_back(storage);
      llvm::copy_if(it->second.delivered, std::back_inserter(uses),
                    [](int32_t storage) { return storage != none; });
    }
  auto first = uses.begin() + firstUse.back();
  std::sort(first, uses.end());
  uses.erase(std::unique(first, uses.end()), uses.end());
}

int32_t StorageAnalysis::findAliased(OpResult result) {
  Value aliased = getAliasedValue(result);
  if (!aliased)
    return none;
  // A view of another result of the same operation: that one comes first.
  if (aliased.getDefiningOp() == result.getOwner() &&
      !storageOf.contains(aliased))
    place(aliased, allocate(aliased, getCurrentIndex(), getSizedType(aliased)));
  return getStorage(aliased);
}

/// Whether `value` is a constant that several operations use. A constant of one
/// operation might as well be made where it is written.
static bool isSharedConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>() && !value.hasOneUse();
}

bool StorageAnalysis::isReplaceable(Operation *op, OpOperand *operand,
                                    OpResult result) const {
  int32_t index = getStorage(operand->get());
  if (index == none)
    return false;
  const Storage &storage = storages[index];
  const Occupants &here = occupants[index];
  Type type = getSizedType(result);
  return storage.freed && !here.isHeld && here.lastUser == op &&
         here.lastRegionUser != op && isa<TensorType>(result.getType()) &&
         storage.hostBytes == 0 && !isHostType(type) && storage.bytes &&
         storage.bytes == getStaticBytes(type) &&
         !isSharedConstant(storage.root);
}

void StorageAnalysis::takeOver(Operation *op) {
  SmallVector<std::pair<OpOperand *, OpResult>> candidates;
  for (const CarriedValue &carried : getCarriedValues(op)) {
    int32_t storage = getStorage(carried.init->get());
    if (!carried.isPassedOn)
      candidates.emplace_back(carried.init, carried.result);
    else if (storage != none)
      place(carried.result, storage);
  }
  for (OpResult result : op->getResults())
    if (OpOperand *operand = getOverwrittenOperand(result);
        operand && !getAliasedValue(result))
      candidates.emplace_back(operand, result);
  if (candidates.empty())
    return;
  // What the operation reads beside, and what one of its results has already.
  DenseSet<int32_t> needed;
  DenseSet<OpOperand *> copied;
  for (auto [operand, result] : candidates)
    copied.insert(operand);
  for (OpOperand &operand : op->getOpOperands())
    if (!copied.contains(&operand))
      needed.insert(getStorage(operand.get()));
  for (auto [operand, result] : candidates)
    if (int32_t storage = getStorage(operand->get());
        isReplaceable(op, operand, result) && needed.insert(storage).second)
      takeOver(result, storage);
}

void StorageAnalysis::takeOver(OpResult result, int32_t storage) {
  takenOver[getCurrentIndex()].push_back(storage);
  occupants[storage].isTakenOver = true;
  place(result, storage);
  mergeUnknown(result, storage);
}

void StorageAnalysis::takeOverInCallee(Operation *op) {
  std::optional<CalleeSummary> callee = CalleeSummary::find(op);
  int64_t freedBytes = callee ? -callee->innerBytes.value_or(0) : 0;
  if (freedBytes <= 0)
    return;
  // By type, the last one first.
  DenseMap<Type, SmallVector<OpOperand *>> operands;
  for (OpOperand &operand : llvm::reverse(op->getOpOperands()))
    operands[operand.get().getType()].push_back(&operand);
  DenseSet<int32_t> taken;
  for (OpResult result : op->getResults()) {
    auto it = operands.find(result.getType());
    std::optional<int64_t> bytes = getStaticBytes(getSizedType(result));
    if (it == operands.end() || !bytes || *bytes > freedBytes)
      continue;
    while (!it->second.empty()) {
      OpOperand *operand = it->second.pop_back_val();
      int32_t storage = getStorage(operand->get());
      if (!isReplaceable(op, operand, result) || !taken.insert(storage).second)
        continue;
      takeOver(result, storage);
      freedBytes -= *bytes;
      break;
    }
  }
}

void StorageAnalysis::addResults(Operation *op) {
  SmallVector<int32_t, 1> known;
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    OperandRange into = collective.getDestinations();
    Value future = collective.getInFlightFuture();
    for (auto [index, type] : llvm::enumerate(getSizedDeliveredTypes(op)))
      known.push_back(index < into.size() ? getStorage(into[index])
                      : future ? allocate(future, getCurrentIndex(), type)
                               : none);
    if (future) {
      if (int64_t bytes = getTransportBytes(collective)) {
        // The start itself uses it, as it does nothing that it delivers.
        known.push_back(allocate(future, getCurrentIndex(), future.getType()));
        storages.back().bytes = bytes;
        uses.push_back(known.back());
      }
      inFlight[op] = {getCurrentIndex(), std::move(known)};
      return;
    }
  }
  if (auto wait = dyn_cast<WaitOpInterface>(op))
    if (auto it = inFlight.find(wait.getStart()); it != inFlight.end()) {
      known = std::move(it->second.delivered);
      // Storages that the start has allocated get a value here.
      for (auto [storage, result] : llvm::zip(known, op->getResults()))
        if (storage != none && storages[storage].producer == it->second.index)
          storages[storage].root = result;
      inFlight.erase(it);
    }
  for (OpResult result : op->getResults()) {
    if (storageOf.contains(result) || !getTensorType(result.getType()))
      continue;
    unsigned index = result.getResultNumber();
    int32_t storage = index < known.size() ? known[index] : none;
    if (storage == none)
      storage = findAliased(result);
    if (storage == none) {
      storage = allocate(result, getCurrentIndex(), getSizedType(result));
      if (op->hasAttr(fusedAttrName))
        storages[storage].bytes = 0;
      mergeUnknown(result, storage);
    }
    // Of a tensor, too, of which this is the buffer.
    storages[storage].isMemory |= isa<BaseMemRefType>(result.getType());
    place(result, storage);
  }
}

void StorageAnalysis::resize(ResizeStorageOp op) {
  Value memory = op.getStorage();
  addUse(op, memory);
  int32_t old = getStorage(memory);
  // Used ahead of its definition, as a graph region allows.
  if (old == none)
    return;
  // It neither needs nor keeps what has been freed before.
  if (released.contains(old))
    uses.resize(firstUse.back());
  if (op.getBytes() == 0) {
    released.insert(old);
    storages[old].freed = true;
    return;
  }
  auto argument = dyn_cast<BlockArgument>(storages[old].root);
  bool isFirst = argument && storages[old].producer == none && old != outside;
  if (!released.contains(old) && !isFirst)
    return;
  // An argument that is grown before it is freed comes without storage.
  if (!released.contains(old))
    storages[old].bytes = 0;
  int32_t grown =
      allocate(storages[old].root, getCurrentIndex(), memory.getType());
  storages[grown].bytes = op.getBytes();
  storages[grown].freed = argument && isFreeable(argument);
  merge(grown, old);
  place(storages[old].root, grown);
  place(memory, grown);
}

//===----------------------------------------------------------------------===//
// Storages that may be the same memory
//===----------------------------------------------------------------------===//

int32_t StorageAnalysis::findObject(int32_t storage) {
  while (storages[storage].object != storage) {
    int32_t &object = storages[storage].object;
    storage = object = storages[object].object;
  }
  return storage;
}

void StorageAnalysis::merge(int32_t storage, int32_t other) {
  auto [first, second] = std::minmax({findObject(storage), findObject(other)});
  storages[second].object = first;
}

void StorageAnalysis::addToClass(int32_t &representative, int32_t storage) {
  if (representative == none)
    representative = storage;
  merge(representative, storage);
}

void StorageAnalysis::mergeUnknown(OpResult result, int32_t storage) {
  if (!mayAliasUnknown(result))
    return;
  for (int32_t used : getUses(getCurrentIndex()))
    merge(storage, used);
  if (storages[storage].isMemory)
    addToClass(unknownMemory, storage);
}

void StorageAnalysis::settleObjects() {
  // Memory from outside is no less unknown than that of an argument.
  if (outside != none && unknownMemory != none)
    merge(outside, unknownMemory);
  for (int32_t index = 0, end = storages.size(); index < end; ++index) {
    storages[index].object = findObject(index);
    storages[storages[index].object].isMemory |= storages[index].isMemory;
  }
  for (Storage &storage : storages)
    storage.isMemory = storages[storage.object].isMemory;
}

//===----------------------------------------------------------------------===//
// Storages that stay live to the end
//===----------------------------------------------------------------------===//

void StorageAnalysis::keep(Value value) {
  int32_t storage = getStorage(value);
  // Of a memref that has been freed only the handle is left.
  if (storage != none && !released.contains(storage))
    storages[storage].freed = false;
}

/// Whether an operation outside of `block`, and of the operations nested in it,
/// uses `value`.
static bool isUsedOutside(Value value, Block &block) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !block.findAncestorOpInBlock(*user);
  });
}

void StorageAnalysis::keepLiveOut(Block &block) {
  if (block.mightHaveTerminator())
    for (Value operand : block.getTerminator()->getOperands())
      keep(operand);
  if (llvm::hasSingleElement(*block.getParent()))
    return;
  for (BlockArgument argument : block.getArguments())
    if (isUsedOutside(argument, block))
      keep(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (isUsedOutside(result, block))
        keep(result);
}

//===----------------------------------------------------------------------===//
// Memory of regions
//===----------------------------------------------------------------------===//

static constexpr int64_t tooMany = std::numeric_limits<int64_t>::max();

MemoryTimeline mlir::commsched::simulateBlockMemory(Block &block,
                                                    ScratchBytes *known) {
  StorageAnalysis storages(block);
  Problem problem;
  for (Operation &op : getScheduledOperations(block)) {
    NodeId node = problem.addNode(NodeKind::Compute, /*costNs=*/0);
    if (int64_t bytes = computeScratchBytes(&op, known))
      problem.addBuffer(bytes, node, /*freed=*/true);
  }
  schedule::BufferId first = problem.numBuffers();
  for (const Storage &storage : storages.getStorages())
    problem.addBuffer(storage.bytes.value_or(0), storage.producer,
                      storage.freed);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (int32_t storage : storages.getUses(node))
      problem.addUse(first + storage, node);
  if (problem.finalize())
    return *simulateMemory(problem, problem.programOrder());
  MemoryTimeline overflow;
  overflow.allocatedBytes.assign(problem.numNodes(), tooMany);
  overflow.remainingBytes.assign(problem.numNodes(), tooMany);
  overflow.initialBytes = overflow.peakBytes = tooMany;
  return overflow;
}

/// The bytes of `values`, of those whose size is known.
static int64_t sumBytes(ValueRange values) {
  int64_t sum = 0;
  for (Value value : values)
    if (std::optional<int64_t> bytes = getStaticBytes(getSizedType(value));
        bytes && llvm::AddOverflow(sum, *bytes, sum))
      return tooMany;
  return sum;
}

int64_t mlir::commsched::computeCountedBytes(Block &block) {
  if (block.getNumArguments() == 0)
    return sumBytes(block.getParentOp()->getResults());
  int64_t sum = 0;
  StorageAnalysis storages(block);
  bool areReplaced = replacesArguments(block);
  for (const Storage &storage : storages.getStorages()) {
    auto argument = dyn_cast<BlockArgument>(storage.root);
    if (storage.producer != StorageAnalysis::none || !argument ||
        argument.getOwner() != &block)
      continue;
    int64_t bytes = storage.bytes.value_or(0);
    // The block around counts it all the same.
    if (areReplaced && argument.use_empty() && storage.hostBytes == 0)
      bytes = getStaticBytes(getSizedType(argument)).value_or(0);
    if (llvm::AddOverflow(sum, bytes, sum))
      return tooMany;
  }
  return sum;
}

int64_t mlir::commsched::computeScratchBytes(Operation *op,
                                             ScratchBytes *known) {
  if (std::optional<CalleeSummary> callee = CalleeSummary::find(op))
    return std::max<int64_t>(callee->innerBytes.value_or(0), 0);
  if (op->getNumRegions() == 0 || isa<CollectiveOpInterface>(op))
    return 0;
  RegionUse use = getRegionUse(op);
  if (use == RegionUse::Element || use == RegionUse::Unknown)
    return 0;
  if (known)
    if (auto it = known->find(op); it != known->end())
      return it->second;
  int64_t scratch = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      scratch = std::max(scratch, simulateBlockMemory(block, known).peakBytes -
                                      computeCountedBytes(block));
  if (known)
    (*known)[op] = scratch;
  return scratch;
}
