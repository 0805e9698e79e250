//===- MergeChunks.cpp - Putting chunks together again --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeChunks.h"

#include "ChunkRings.h"
#include "ChunkValues.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Split/EqualChunks.h"
#include "CommSched/Dialect/ChunkAttribute.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/Destinations.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// What an operand of the chunks is together.
struct MergedOperand {
  /// The value from outside; null if it is put together, too.
  Value value;
  /// How `value` is cut; none if each chunk needs it whole.
  std::optional<ValueSplit> split;
  /// The ring whose places the parts are in; null if they are in their order.
  FlatSymbolRefAttr ring;
  /// The set whose chunks give it, and their result.
  int32_t set = -1;
  unsigned result = 0;
};

/// All chunks of one operation.
struct ChunkSet {
  SmallVector<Operation *, 2> chunks;
  ChunkInfo info;
  /// The last chunk in the block.
  Operation *last = nullptr;
  SmallVector<MergedOperand, 3> operands;
  /// The values that the results are put together to, and how: for each result.
  SmallVector<SmallVector<std::pair<Value, std::optional<ValueSplit>>, 1>, 1>
      wholes;
  /// Views of another set's whole that are what the only result is put together
  /// to.
  SmallVector<Operation *, 1> views;
  Operation *merged = nullptr;
  /// Of the wait for a gather that is a ring: the steps, of which the first
  /// sends chunk 0, and the gather.
  SmallVector<PermuteOp> steps;
  Operation *mergedStart = nullptr;
  /// The ring in whose places parts of values are, null for their order; none
  /// if there are no parts.
  std::optional<FlatSymbolRefAttr> places;
  bool isRing() const { return info.part == ChunkPart::Ring; }
  /// Why the set is left alone; empty if it is not.
  std::string reason;
};

class ChunkMerger {
public:
  explicit ChunkMerger(Block &block) : block(block) {}

  MergedChunks merge();

private:
  void findSets();
  void findViews(ChunkSet &set);
  void check(ChunkSet &set);
  std::string createGather(ChunkSet &set, Value shard);
  std::string findOperands(ChunkSet &set);
  std::string findWholes(ChunkSet &set);
  std::optional<MergedOperand> findOperand(const ChunkSet &set,
                                           unsigned operand) const;
  bool isReadInChunks(const ChunkSet &set, OpOperand &use, int64_t index) const;
  void joinSets();
  std::string create(ChunkSet &set);
  std::string verify(const ChunkSet &set) const;
  void mergeRegion(ArrayRef<int32_t> region, MergedChunks &result);
  void eraseUnused();

  Block &block;
  std::vector<ChunkSet> sets;
  DenseMap<Operation *, int32_t> setOf;
  /// By `of`: the views that are put together.
  llvm::DenseMap<StringAttr, SmallVector<Operation *, 1>> viewsOf;
  llvm::IntEqClasses regions;
  /// What was put together before: what it is now.
  DenseMap<Value, Value> replaced;
};

} // namespace

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

/// Whether `op` may be the view that is repeated on a whole.
static bool isWholeView(Operation *op) {
  auto view = dyn_cast<ComputeOp>(op);
  return view && view.getCallee() != joinCallee && view.getAlias() &&
         view->getNumResults() == 1 && !writesDestination(op);
}

void ChunkMerger::findSets() {
  llvm::DenseMap<StringAttr, int32_t> numbers;
  for (Operation &op : block) {
    std::optional<ChunkInfo> info = getChunkInfo(&op);
    if (info && info->part == ChunkPart::Whole && isWholeView(&op))
      viewsOf[info->of].push_back(&op);
    // The steps of a ring are found from the waits.
    bool isRing = info && info->part == ChunkPart::Ring;
    if (!info || (info->part != ChunkPart::Chunk && !isRing) ||
        (isRing && !isa<tensor::ExtractSliceOp, WaitOp>(op)))
      continue;
    auto [it, isNew] =
        numbers.try_emplace(info->of, static_cast<int32_t>(sets.size()));
    if (isNew) {
      sets.emplace_back();
      sets.back().info = *info;
      // A number that no program can have is caught by check().
      sets.back().chunks.resize(std::min<int64_t>(info->count, 1 << 10));
    }
    ChunkSet &set = sets[it->second];
    setOf[&op] = it->second;
    set.last = &op;
    auto index = static_cast<size_t>(*info->index);
    if (index >= set.chunks.size() || set.chunks[index] ||
        info->count != set.info.count || info->part != set.info.part)
      set.reason =
          "two operations say that they are chunk " + std::to_string(index);
    else
      set.chunks[index] = &op;
    if (info->original)
      set.info.original = info->original;
  }
}

/// What differs between the chunks `first` and `other`; empty if they may be
/// chunks of one operation.
static std::string compareChunks(Operation *first, Operation *other) {
  std::optional<ChunkInfo> a = getChunkInfo(first), b = getChunkInfo(other);
  if (first->getName() != other->getName() ||
      first->getNumOperands() != other->getNumOperands() ||
      first->getResultTypes() != other->getResultTypes() ||
      first->getPropertiesAsAttribute() != other->getPropertiesAsAttribute())
    return "its chunks are different operations";
  if (a->axis != b->axis || a->blocks != b->blocks)
    return "its chunks are not of the same axis";
  return "";
}

void ChunkMerger::check(ChunkSet &set) {
  if (!set.reason.empty())
    return;
  for (auto [index, chunk] : llvm::enumerate(set.chunks)) {
    if (!chunk) {
      set.reason = "chunk " + std::to_string(index) + " is missing";
      return;
    }
    if (!set.isRing())
      set.reason = compareChunks(set.chunks.front(), chunk);
    if (!set.reason.empty())
      return;
  }
  if (set.isRing()) {
    FailureOr<SmallVector<PermuteOp>> steps = findRingSteps(set.chunks);
    if (failed(steps)) {
      set.reason = "its chunks do not come from one rank after the other";
      return;
    }
    set.steps = std::move(*steps);
    set.places = set.steps.front().getGroupAttr();
  }
  auto types = set.info.original ? set.info.original.getAs<ArrayAttr>("types")
                                 : ArrayAttr();
  if (!types || !llvm::all_of(types, llvm::IsaPred<TypeAttr>) ||
      types.size() != set.chunks.front()->getNumResults())
    set.reason = "its attribute does not say what it was";
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

/// Notes that parts of values are in the places of `ring`, or in their order if
/// that is null. Returns what contradicts it.
static std::string notePlaces(ChunkSet &set, FlatSymbolRefAttr ring) {
  if (set.places && *set.places != ring)
    return "its chunks are in different places of several values";
  set.places = ring;
  return "";
}

std::optional<MergedOperand> ChunkMerger::findOperand(const ChunkSet &set,
                                                      unsigned operand) const {
  Value first = set.chunks.front()->getOperand(operand);
  auto isSame = [&](Operation *chunk) {
    return chunk->getOperand(operand) == first;
  };
  if (llvm::all_of(set.chunks, isSame))
    return MergedOperand{first, std::nullopt, {}};
  std::optional<MergedOperand> merged;
  for (auto [index, chunk] : llvm::enumerate(set.chunks)) {
    Value value = chunk->getOperand(operand);
    MergedOperand own;
    Operation *definition = value.getDefiningOp();
    auto it = definition ? setOf.find(definition) : setOf.end();
    if (it != setOf.end()) {
      const ChunkSet &giver = sets[it->second];
      if (index >= giver.chunks.size() || giver.chunks[index] != definition)
        return std::nullopt;
      own.set = it->second;
      own.result = cast<OpResult>(value).getResultNumber();
    } else {
      std::optional<RecognizedSlice> slice =
          recognizeSlice(value, index, set.info.count);
      if (!slice)
        return std::nullopt;
      own.value = slice->source;
      own.split = slice->split;
      own.ring = slice->ring;
    }
    if (merged && (merged->value != own.value || merged->split != own.split ||
                   merged->ring != own.ring || merged->set != own.set ||
                   merged->result != own.result))
      return std::nullopt;
    merged = own;
  }
  return merged;
}

std::string ChunkMerger::findOperands(ChunkSet &set) {
  Operation *first = set.chunks.front();
  if (set.isRing()) {
    set.operands.push_back({first->getOperand(0), std::nullopt, {}});
    return "";
  }
  // The destination goes with the chunks.
  unsigned numRead = first->getNumOperands() - writesDestination(first);
  for (unsigned operand = 0; operand < numRead; ++operand) {
    std::optional<MergedOperand> merged = findOperand(set, operand);
    if (!merged)
      return "operand " + std::to_string(operand) +
             " of its chunks is not in chunks of one value";
    set.operands.push_back(*merged);
    if (!merged->split)
      continue;
    if (std::string reason = notePlaces(set, merged->ring); !reason.empty())
      return reason;
  }
  return "";
}

/// Whether `use`, of a result of chunk `index` of `set`, is that of the same
/// chunk of another set.
bool ChunkMerger::isReadInChunks(const ChunkSet &set, OpOperand &use,
                                 int64_t index) const {
  auto it = setOf.find(use.getOwner());
  return it != setOf.end() &&
         static_cast<size_t>(index) < sets[it->second].chunks.size() &&
         sets[it->second].chunks[index] == use.getOwner() &&
         sets[it->second].info.count == set.info.count;
}

/// Finds what was a view of another set's whole, and is the result of the set.
void ChunkMerger::findViews(ChunkSet &set) {
  auto it = viewsOf.find(set.info.of);
  if (it == viewsOf.end() || !isWholeView(set.chunks.front()))
    return;
  auto types = set.info.original.getAs<ArrayAttr>("types");
  for (Operation *view : it->second)
    if (view->getResult(0).getType() == cast<TypeAttr>(types[0]).getValue() &&
        cast<ComputeOp>(view).getCallee() ==
            cast<ComputeOp>(set.chunks.front()).getCallee())
      set.views.push_back(view);
}

std::string ChunkMerger::findWholes(ChunkSet &set) {
  findViews(set);
  Operation *first = set.chunks.front();
  set.wholes.resize(first->getNumResults());
  for (unsigned number = 0; number < first->getNumResults(); ++number) {
    SmallVector<Value> parts;
    for (Operation *chunk : set.chunks)
      parts.push_back(chunk->getResult(number));
    SmallVector<JoinedValue> joined = findJoined(parts);
    DenseSet<Operation *> readers;
    for (const JoinedValue &value : joined) {
      set.wholes[number].emplace_back(value.value, value.split);
      readers.insert(value.readers.begin(), value.readers.end());
      if (!value.split)
        continue;
      if (std::string reason = notePlaces(set, value.ring); !reason.empty())
        return reason;
    }
    readers.insert(set.steps.begin(), set.steps.end());
    for (auto [index, part] : llvm::enumerate(parts))
      for (OpOperand &use : part.getUses())
        if (!readers.contains(use.getOwner()) &&
            !isReadInChunks(set, use, index))
          return describe(use.getOwner()) + " reads chunk " +
                 std::to_string(index) + " alone";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

void ChunkMerger::joinSets() {
  regions.grow(sets.size());
  for (auto [number, set] : llvm::enumerate(sets)) {
    for (const MergedOperand &operand : set.operands)
      if (operand.set >= 0)
        regions.join(number, operand.set);
    // Sets that are not valid have no operands, but neighbours.
    for (Operation *chunk : set.chunks)
      for (Value value : chunk ? chunk->getOperands() : OperandRange({}, 0))
        if (Operation *definition = value.getDefiningOp())
          if (auto it = setOf.find(definition); it != setOf.end())
            regions.join(number, it->second);
  }
  regions.compress();
}

/// Creates the operation that `set` was. Returns what prevents it.
std::string ChunkMerger::create(ChunkSet &set) {
  Operation *first = set.chunks.front();
  SmallVector<Value> operands;
  for (const MergedOperand &operand : set.operands) {
    Value value = operand.value;
    if (!value)
      value = sets[operand.set].merged->getResult(operand.result);
    else if (Value now = replaced.lookup(value))
      value = now;
    operands.push_back(value);
  }
  if (set.isRing())
    return createGather(set, operands.front());
  SmallVector<Type> types;
  for (Attribute type : set.info.original.getAs<ArrayAttr>("types"))
    types.push_back(cast<TypeAttr>(type).getValue());
  // What reads the whole of a view may come ahead of the view's last chunk.
  Operation *place = set.last;
  for (Operation *view : set.views)
    if (view->isBeforeInBlock(place))
      place = view;
  OpBuilder builder(place);
  set.merged = createWithTypes(builder, first, operands, types);
  set.merged->removeAttr(chunkAttrName);
  set.merged->removeAttr(originAttrName);
  set.merged->removeAttr(runtimeNsAttrName);
  if (auto pinned = set.info.original.getAs<IntegerAttr>("runtime_ns"))
    set.merged->setAttr(runtimeNsAttrName, pinned);
  StringRef name = getStableName(first);
  if (name.consume_back(".chunk0"))
    set.merged->setAttr(nameAttrName, builder.getStringAttr(name));
  if (writesDestination(first)) {
    // What is not among the properties of the original stays as it is.
    auto merged = cast<ComputeOp>(set.merged);
    merged.removeAliasAttr();
    merged.removeBytesAttr();
  }
  Attribute properties = set.info.original.get("properties");
  if (properties &&
      failed(set.merged->setPropertiesFromAttribute(properties, nullptr)))
    return "its attribute does not say what it was";
  return verify(set);
}

/// Creates the gather of `shard` that was a ring, and its wait.
std::string ChunkMerger::createGather(ChunkSet &set, Value shard) {
  FailureOr<GatherOfRing> created =
      createGatherOfRing(set.chunks, set.steps, set.last, shard);
  if (failed(created))
    return "its attribute does not say what it was";
  set.mergedStart = created->start;
  set.merged = created->wait;
  Value whole = set.merged->getResult(0);
  ValueSplit expected{static_cast<int64_t>(created->start.getDim()), 1};
  for (auto [value, split] : set.wholes.front())
    if (value.getType() != whole.getType() || split != expected)
      return "its chunks are not those of the operation that it was";
  return "";
}

/// Whether chunks of `value`, cut as `cut` says, are what `split` asks for.
static bool isCutAs(Value value, std::optional<ValueSplit> cut,
                    std::optional<ValueSplit> split) {
  if (cut == split)
    return true;
  // A contiguous part stands for pieces of a value whose parts are all equal.
  return cut && split && cut->dim == split->dim && cut->outer == 1 &&
         hasEqualChunks(value, *split);
}

/// What the merged operation has different from what its chunks say.
std::string ChunkMerger::verify(const ChunkSet &set) const {
  constexpr StringLiteral different =
      "its chunks are not those of the operation that it was";
  Operation *op = set.merged;
  bool isWait = isa<WaitOpInterface>(op);
  Operation *ruled = op;
  if (auto wait = dyn_cast<WaitOpInterface>(op))
    ruled = wait.getStart();
  auto split = dyn_cast_if_present<SplitOpInterface>(ruled);
  if (!split)
    return different.str();
  SplitRule rule = split.getSplitRule();
  int64_t number = *set.info.axis, blocks = *set.info.blocks;
  if (number >= static_cast<int64_t>(rule.axes.size()))
    return different.str();
  const SplitAxis &axis = rule.axes[number];
  if (axis.size % blocks != 0 ||
      getSplitLength(axis, blocks) % set.info.count != 0)
    return different.str();
  for (auto [index, operand] : llvm::enumerate(set.operands)) {
    if (isWait)
      continue;
    std::optional<ValueSplit> is = getOperandSplit(axis, index, blocks);
    Value whole = op->getOperand(index);
    bool isSame =
        operand.value ? isCutAs(whole, operand.split, is) : is.has_value();
    Type type = whole.getType();
    Type expected = is ? getChunkType(type, is->dim, set.info.count) : type;
    if (!isSame || set.chunks.front()->getOperand(index).getType() != expected)
      return different.str();
  }
  bool isStart = !isWait && isa<CollectiveOpInterface>(op);
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    std::optional<ValueSplit> is = getResultSplit(axis, index, blocks);
    for (auto [whole, split] : set.wholes[index])
      if (whole.getType() != result.getType() || split != is)
        return different.str();
    if (!isStart && is &&
        getChunkType(result.getType(), is->dim, set.info.count) !=
            set.chunks.front()->getResult(index).getType())
      return different.str();
  }
  return "";
}

void ChunkMerger::mergeRegion(ArrayRef<int32_t> region, MergedChunks &result) {
  std::string reason;
  Operation *reported = nullptr;
  auto report = [&](ChunkSet &set, const std::string &text) {
    if (!reported && !text.empty()) {
      reason = text;
      reported = set.last;
    }
  };
  std::optional<FlatSymbolRefAttr> places;
  for (int32_t number : region) {
    report(sets[number], sets[number].reason);
    if (places && sets[number].places && *places != *sets[number].places)
      report(sets[number],
             "its chunks are in other places than those that they are read "
             "with");
    if (!places)
      places = sets[number].places;
  }
  // Operands first: the last chunks are in this order.
  for (int32_t number : region)
    if (!reported)
      report(sets[number], create(sets[number]));
  if (reported) {
    for (int32_t number : llvm::reverse(region))
      for (Operation *merged : {sets[number].merged, sets[number].mergedStart})
        if (merged)
          merged->erase();
    result.unmerged.push_back({reported, reason});
    return;
  }
  for (int32_t number : region) {
    ChunkSet &set = sets[number];
    for (auto [index, wholes] : llvm::enumerate(set.wholes))
      for (auto [whole, split] : wholes) {
        replaced[whole] = set.merged->getResult(index);
        whole.replaceAllUsesWith(replaced[whole]);
      }
    for (Operation *view : set.views) {
      // Their operands are those of the merged operation by now.
      auto alias = *cast<ComputeOp>(view).getAlias();
      if (view->getOperand(alias) == set.merged->getOperand(alias)) {
        replaced[view->getResult(0)] = set.merged->getResult(0);
        view->replaceAllUsesWith(set.merged);
      }
    }
    if (set.mergedStart)
      result.merged.push_back(set.mergedStart);
    result.merged.push_back(set.merged);
  }
}

/// Erases slices and concatenations that nothing reads any more, and the
/// chunks, which read each other.
void ChunkMerger::eraseUnused() {
  DenseSet<Operation *> dead;
  for (const ChunkSet &set : sets)
    if (set.merged)
      dead.insert(set.chunks.begin(), set.chunks.end());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    bool isPart = dead.contains(&op);
    if (std::optional<ChunkInfo> info = getChunkInfo(&op))
      isPart |= info->part != ChunkPart::Chunk;
    if (isPart && op.use_empty())
      op.erase();
  }
}

MergedChunks ChunkMerger::merge() {
  findSets();
  for (ChunkSet &set : sets) {
    check(set);
    if (set.reason.empty())
      set.reason = findOperands(set);
    if (set.reason.empty())
      set.reason = findWholes(set);
  }
  joinSets();
  std::vector<SmallVector<int32_t>> members(regions.getNumClasses());
  for (size_t number = 0; number < sets.size(); ++number)
    members[regions[number]].push_back(static_cast<int32_t>(number));
  MergedChunks result;
  for (SmallVector<int32_t> &region : members) {
    llvm::sort(region, [&](int32_t a, int32_t b) {
      return sets[a].last->isBeforeInBlock(sets[b].last);
    });
    mergeRegion(region, result);
  }
  auto inOrder = [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  };
  llvm::sort(result.merged, inOrder);
  eraseUnused();
  return result;
}

MergedChunks mlir::commsched::mergeChunks(Block &block) {
  return ChunkMerger(block).merge();
}
