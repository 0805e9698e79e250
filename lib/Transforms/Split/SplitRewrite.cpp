//===- SplitRewrite.cpp - Rewriting of regions into chunks ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitRewrite.h"

#include "CommSched/Analysis/Costs/ChunkCosts.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

ChunkNames::ChunkNames(Block &block) {
  for (Operation &op : block)
    if (std::optional<ChunkInfo> info = getChunkInfo(&op))
      used.insert(info->of.getValue());
}

StringAttr ChunkNames::getUnused(MLIRContext *context, const Twine &name) {
  std::string text = name.str();
  if (!used.insert(text).second) {
    int64_t &number = next[text];
    std::string numbered;
    do
      numbered = text + "_" + std::to_string(++number);
    while (!used.insert(numbered).second);
    text = numbered;
  }
  return StringAttr::get(context, text);
}

StringAttr ChunkNames::getName(Operation *op) {
  StringRef name = getStableName(op);
  return getUnused(op->getContext(),
                   name.empty() ? op->getName().stripDialect() : name);
}

StringAttr ChunkNames::getName(Value value) {
  if (Operation *op = value.getDefiningOp()) {
    StringRef name = getStableName(op);
    return StringAttr::get(op->getContext(),
                           name.empty() ? op->getName().stripDialect() : name);
  }
  return StringAttr::get(value.getContext(),
                         getArgumentName(cast<BlockArgument>(value)));
}

/// The name of `value`, if it has one of its own.
static StringRef getStableName(Value value) {
  if (Operation *op = value.getDefiningOp())
    return commsched::getStableName(op);
  return {};
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {

class RegionRewriter {
public:
  RegionRewriter(const SplitRegion &region, int64_t count, ChunkNames &names,
                 OperationCosts &costs)
      : region(region), count(count), names(names), costs(costs),
        builder(region.members.front().op->getContext()) {}

  SplitOperations rewrite();

private:
  void createSlices(int32_t entry, const SplitMember &user);
  void createPlaces();
  void createRing(size_t number);
  void createChunks(size_t number);
  Operation *createChunk(const SplitMember &member, ValueRange operands);
  Value getOperand(size_t number, OpOperand &operand, int64_t chunk) const;
  void nameAndPin(const SplitMember &member, Operation *chunk, int64_t index);
  void annotate(const SplitMember &member, Operation *chunk, int64_t index,
                StringAttr of);
  void annotateRing(const SplitMember &member, Operation *chunk, int64_t index,
                    StringAttr of);
  void annotate(ArrayRef<Operation *> part, Operation *from, ChunkInfo info,
                const Twine &name);
  Value createStorage(const SplitMember &member);
  void createDestination(const SplitMember &member, Operation *chunk,
                         int64_t index, StringAttr of);
  CreatedValue createWhole(const SplitExit &exit);
  void createExit(size_t number);

  const SplitRegion &region;
  int64_t count;
  ChunkNames &names;
  OperationCosts &costs;
  OpBuilder builder;
  SplitOperations created;
  DenseMap<Operation *, size_t> memberOf;
  /// By chunk: which part of a value it is.
  SmallVector<OpFoldResult, 8> places;
  /// The chunks of what members give.
  DenseMap<Value, SmallVector<Value, 2>> chunksOf;
  /// The exits by value, what is allocated for them, and their wholes.
  DenseMap<Value, size_t> exitOf;
  DenseMap<Value, Value> storageOf, wholeOf;
  /// By entry: its chunks.
  std::vector<SmallVector<Value, 2>> slicesOf;
  /// By member: the entries of its operands, each with the operand.
  std::vector<SmallVector<std::pair<unsigned, int32_t>, 2>> entriesOf;
};

} // namespace

void RegionRewriter::nameAndPin(const SplitMember &member, Operation *chunk,
                                int64_t index) {
  Operation *op = member.op;
  StringRef name = commsched::getStableName(op);
  if (!name.empty())
    chunk->setAttr(nameAttrName,
                   builder.getStringAttr(name + ".chunk" + Twine(index)));
  setOrigin(chunk, op);
  chunk->removeAttr(measuredNsAttrName);
  if (!getPinnedRuntimeNs(op) && !op->hasAttr(measuredNsAttrName))
    return;
  std::optional<int64_t> costNs =
      estimateChunkNs(costs, op, member.axis, count);
  if (costNs)
    chunk->setAttr(runtimeNsAttrName, builder.getI64IntegerAttr(*costNs));
  else
    chunk->removeAttr(runtimeNsAttrName);
}

void RegionRewriter::annotate(const SplitMember &member, Operation *chunk,
                              int64_t index, StringAttr of) {
  nameAndPin(member, chunk, index);
  ChunkInfo info;
  info.of = of;
  info.count = count;
  info.index = index;
  info.axis = member.axisIndex;
  info.blocks = member.blocks;
  setChunkInfo(chunk, info);
}

void RegionRewriter::annotateRing(const SplitMember &member, Operation *chunk,
                                  int64_t index, StringAttr of) {
  if (chunk->getName() != member.op->getName())
    chunk->setDiscardableAttrs(
        member.op->getDiscardableAttrDictionary().getValue());
  nameAndPin(member, chunk, index);
  ChunkInfo info;
  info.of = of;
  info.count = count;
  info.part = ChunkPart::Ring;
  info.index = index;
  setChunkInfo(chunk, info);
}

void RegionRewriter::annotate(ArrayRef<Operation *> part, Operation *from,
                              ChunkInfo info, const Twine &name) {
  for (Operation *op : part) {
    for (StringRef inherited : {moduleAttrName, partitionAttrName})
      if (Attribute attr = from->getDiscardableAttr(inherited))
        op->setAttr(inherited, attr);
    setChunkInfo(op, info);
  }
  // The last operation has the value, which is what a name is for.
  if (std::string text = name.str(); text.front() != '.')
    part.back()->setAttr(nameAttrName, builder.getStringAttr(text));
}

void RegionRewriter::createSlices(int32_t entry, const SplitMember &user) {
  const SplitEntry &cut = region.entries[entry];
  const SplitEntry::Use &use = cut.uses.front();
  // Another region may give the value by now.
  Value value = region.members[use.member].op->getOperand(use.operand);
  ChunkInfo info;
  info.of = names.getName(value);
  info.count = count;
  info.part = ChunkPart::Slice;
  for (int64_t index = 0; index < count; ++index) {
    CreatedValue slice =
        createSlice(builder, user.op->getLoc(), value, cut.split, places[index],
                    count, cut.isCopied);
    info.index = index;
    annotate(slice.operations, user.op, info,
             getStableName(value) + ".slice" + Twine(index));
    slicesOf[entry].push_back(slice.value);
    created.entries[entry].push_back(std::move(slice.operations));
  }
}

Value RegionRewriter::getOperand(size_t number, OpOperand &operand,
                                 int64_t chunk) const {
  const SplitMember &member = region.members[number];
  for (auto [index, entry] : entriesOf[number])
    if (index == operand.getOperandNumber())
      return slicesOf[entry][chunk];
  bool isDivided =
      member.isWait() || member.getOperandSplit(operand.getOperandNumber());
  auto it = chunksOf.find(operand.get());
  return isDivided && it != chunksOf.end() ? it->second[chunk] : operand.get();
}

Operation *RegionRewriter::createChunk(const SplitMember &member,
                                       ValueRange operands) {
  if (!member.isWait())
    return cast<SplitOpInterface>(member.op).createChunk(
        builder, operands, getChunkResultTypes(member.op, member.axis, count),
        member.axis, count);
  SmallVector<Type> types(member.op->getResultTypes());
  for (const AxisPlace &place : member.axis.results)
    types[place.value] = getChunkType(types[place.value], place.dim, count);
  return createWithTypes(builder, member.op, operands, types);
}

/// The storage of what chunks of `member` are written into; null if each has
/// its own.
Value RegionRewriter::createStorage(const SplitMember &member) {
  Value result = member.op->getResult(0);
  auto it = exitOf.find(result);
  if (it == exitOf.end() ||
      region.exits[it->second].kind != SplitExitKind::Written)
    return {};
  auto type = cast<RankedTensorType>(result.getType());
  auto empty =
      tensor::EmptyOp::create(builder, member.op->getLoc(), type.getShape(),
                              type.getElementType(), type.getEncoding());
  created.storages[it->second] = empty;
  return storageOf[result] = empty;
}

/// Lets `chunk` write its part of `storage`.
void RegionRewriter::createDestination(const SplitMember &member,
                                       Operation *chunk, int64_t index,
                                       StringAttr of) {
  Value result = member.op->getResult(0);
  const SplitExit &exit = region.exits[exitOf.lookup(result)];
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(chunk);
  CreatedValue part = commsched::createDestination(
      builder, member.op->getLoc(), storageOf[result], *exit.split,
      places[index], count);
  ChunkInfo info;
  info.of = of;
  info.count = count;
  info.part = ChunkPart::Slice;
  info.index = index;
  annotate(part.operations, member.op, info, ".");
  writeInto(cast<ComputeOp>(chunk), part.value);
}

/// Decides which part of a value each chunk is.
void RegionRewriter::createPlaces() {
  if (!region.ringSize) {
    for (int64_t index = 0; index < count; ++index)
      places.push_back(builder.getIndexAttr(index));
    return;
  }
  Operation *gather = region.collectives.front();
  builder.setInsertionPoint(gather);
  RingPlaces ring =
      createRingPlaces(builder, gather->getLoc(),
                       cast<AllGatherOp>(gather).getGroupAttr(), count);
  places = ring.places;
  ChunkInfo info;
  info.of = names.getName(gather->getOperand(0));
  info.count = count;
  info.part = ChunkPart::Slice;
  info.index = 0;
  annotate(ring.operations, gather, info, ".");
}

/// Creates the steps of a ring in the place of the gather `number`. Its first
/// chunk is a view of what the rank has.
void RegionRewriter::createRing(size_t number) {
  const SplitMember &member = region.members[number];
  auto gather = cast<AllGatherOp>(member.op);
  Operation *wait =
      cast<CollectiveOpInterface>(gather.getOperation()).getWait();
  size_t waitNumber = memberOf.lookup(wait);
  const SplitMember &delivered = region.members[waitNumber];
  Location loc = gather.getLoc();
  Value shard = gather.getInputs().front();
  auto type = cast<RankedTensorType>(shard.getType());
  StringAttr ofStart = names.getName(member.op), ofWait = names.getName(wait);
  SmallVector<OpFoldResult> zeros(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(type.getRank(), builder.getIndexAttr(1));
  Operation *chunk = tensor::ExtractSliceOp::create(
      builder, loc, type, shard, zeros,
      getAsIndexOpFoldResult(builder.getContext(), type.getShape()), ones);
  created.members[number].push_back(nullptr);
  for (int64_t index = 0;; ++index) {
    annotateRing(delivered, chunk, index, ofWait);
    created.members[waitNumber].push_back(chunk);
    chunksOf[wait->getResult(0)].push_back(chunk->getResult(0));
    if (index + 1 == count)
      return;
    PermuteOp step = createRingStep(builder, loc, chunk->getResult(0),
                                    gather.getGroupAttr(), count);
    annotateRing(member, step, index + 1, ofStart);
    created.members[number].push_back(step);
    chunk = createWithTypes(builder, wait, step.getFuture(), type);
  }
}

void RegionRewriter::createChunks(size_t number) {
  const SplitMember &member = region.members[number];
  builder.setInsertionPoint(member.op);
  if (region.ringSize && member.isStart())
    return createRing(number);
  if (region.ringSize && member.isWait())
    return;
  for (auto [operand, entry] : entriesOf[number])
    if (slicesOf[entry].empty())
      createSlices(entry, member);
  StringAttr of = names.getName(member.op);
  Value storage =
      member.op->getNumResults() == 1 ? createStorage(member) : Value();
  if (storage) {
    ChunkInfo info;
    info.of = of;
    info.count = count;
    info.part = ChunkPart::Whole;
    annotate(storage.getDefiningOp(), member.op, info, ".");
  }
  for (int64_t index = 0; index < count; ++index) {
    SmallVector<Value> operands;
    for (OpOperand &operand : member.op->getOpOperands())
      operands.push_back(getOperand(number, operand, index));
    Operation *chunk = createChunk(member, operands);
    if (storage)
      createDestination(member, chunk, index, of);
    annotate(member, chunk, index, of);
    created.members[number].push_back(chunk);
    for (auto [whole, part] :
         llvm::zip(member.op->getResults(), chunk->getResults()))
      chunksOf[whole].push_back(part);
  }
}

/// Creates what puts the chunks of an exit together.
CreatedValue RegionRewriter::createWhole(const SplitExit &exit) {
  Operation *producer = exit.value.getDefiningOp();
  Location loc = producer->getLoc();
  ArrayRef<Value> chunks = chunksOf[exit.value];
  if (exit.kind == SplitExitKind::Viewed) {
    Operation *view = builder.clone(*producer);
    OpOperand &viewed =
        view->getOpOperand(*cast<ComputeOp>(producer).getAlias());
    viewed.set(wholeOf.lookup(viewed.get()));
    return {view->getResult(0), {view}};
  }
  if (exit.kind == SplitExitKind::Written)
    return createJoin(builder, loc, storageOf[exit.value], chunks);
  if (!exit.split)
    return createSum(builder, loc, chunks);
  Type type = exit.value.getType();
  return region.ringSize
             ? createInserts(builder, loc, type, chunks, *exit.split, places)
             : createConcat(builder, loc, type, chunks, *exit.split);
}

void RegionRewriter::createExit(size_t number) {
  const SplitExit &exit = region.exits[number];
  auto result = cast<OpResult>(exit.value);
  Operation *producer = result.getOwner();
  CreatedValue whole = createWhole(exit);
  wholeOf[exit.value] = whole.value;
  ChunkInfo info;
  // The name that its chunks have.
  info.of = getChunkInfo(chunksOf[exit.value].front().getDefiningOp())->of;
  info.count = count;
  info.part = ChunkPart::Whole;
  std::string name = getStableName(exit.value).str() + ".whole";
  if (producer->getNumResults() > 1)
    name += std::to_string(result.getResultNumber());
  annotate(whole.operations, producer, info, name);
  result.replaceUsesWithIf(whole.value, [&](OpOperand &use) {
    auto it = memberOf.find(use.getOwner());
    return it == memberOf.end() || !exit.split ||
           region.members[it->second].getOperandSplit(use.getOperandNumber()) !=
               exit.split;
  });
  created.exits[number] = std::move(whole.operations);
}

SplitOperations RegionRewriter::rewrite() {
  created.members.resize(region.members.size());
  created.entries.resize(region.entries.size());
  created.exits.resize(region.exits.size());
  created.storages.resize(region.exits.size());
  slicesOf.resize(region.entries.size());
  entriesOf.resize(region.members.size());
  for (auto [number, member] : llvm::enumerate(region.members))
    memberOf[member.op] = number;
  for (auto [number, entry] : llvm::enumerate(region.entries))
    for (const SplitEntry::Use &use : entry.uses)
      entriesOf[use.member].emplace_back(use.operand,
                                         static_cast<int32_t>(number));
  for (auto [number, exit] : llvm::enumerate(region.exits))
    exitOf[exit.value] = number;
  createPlaces();
  size_t nextExit = 0;
  for (size_t number = 0; number < region.members.size(); ++number) {
    createChunks(number);
    Operation *op = region.members[number].op;
    for (; nextExit < region.exits.size() &&
           region.exits[nextExit].value.getDefiningOp() == op;
         ++nextExit)
      createExit(nextExit);
  }
  for (const SplitMember &member : llvm::reverse(region.members))
    member.op->erase();
  return std::move(created);
}

SplitOperations mlir::commsched::splitRegion(const SplitRegion &region,
                                             int64_t count, ChunkNames &names,
                                             OperationCosts &costs) {
  return RegionRewriter(region, count, names, costs).rewrite();
}

std::optional<SplitStop>
mlir::commsched::getUnjoinableReason(const SplitRegion &region) {
  auto isDynamic = [](Value value) {
    auto shaped = dyn_cast<ShapedType>(value.getType());
    return shaped && !shaped.hasStaticShape();
  };
  for (const SplitExit &exit : region.exits) {
    Operation *op = exit.value.getDefiningOp();
    if (!exit.split && !canAdd(exit.value.getType()))
      return SplitStop{op, op, "gives partial sums that cannot be added"};
    if (isDynamic(exit.value) && (!exit.split || exit.split->outer != 1))
      return SplitStop{op, op,
                       "gives chunks of dynamic size that are not joined by a "
                       "concatenation alone"};
  }
  for (const SplitEntry &entry : region.entries)
    if (isDynamic(entry.value)) {
      Operation *op = region.members[entry.uses.front().member].op;
      return SplitStop{op, op,
                       "reads chunks of a value of dynamic size that is given "
                       "whole"};
    }
  return std::nullopt;
}
