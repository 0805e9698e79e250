//===- SplitStops.cpp - Why regions end -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "RegionGraph.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::commsched;

/// Whether a size of a value that `op` reads or gives is unknown; of a
/// collective, what it delivers counts.
static bool hasUnknownSize(Operation *op) {
  auto isUnknown = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && (!shaped.hasRank() || !shaped.hasStaticShape());
  };
  auto start = dyn_cast<CollectiveOpInterface>(op);
  return llvm::any_of(getSizedTypes(op->getOperands()), isUnknown) ||
         llvm::any_of(start && start.getInFlightFuture()
                          ? getSizedDeliveredTypes(op)
                          : getSizedTypes(op->getResults()),
                      isUnknown);
}

/// Why an operation without a rule has none.
static std::string explainMissingRule(Operation *op) {
  if (hasUnknownMemoryEffects(op))
    return "has unknown effects";
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    if (isPointToPoint(op))
      return "is a send or a receive";
    if (!collective.getInFlightFuture())
      return "is blocking";
    if (!collective.getDestinations().empty())
      return "writes into a given buffer";
    if (collective.getSentValues().size() > 1)
      return "carries several tensors";
  } else if (!isMemoryEffectFree(op)) {
    return "has an effect";
  }
  if (hasUnknownSize(op))
    return "has a value of unknown size";
  return "has no rule for splitting";
}

std::optional<std::string>
mlir::commsched::getUnsplittableReason(Operation *op) {
  if (op->hasAttr(chunkAttrName))
    return "is a chunk already";
  if (op->hasAttr(orderAttrName))
    return "has a fixed place in the order of collectives";
  if (op->hasAttr(fusedAttrName))
    return "is computed by what reads it";
  // Chunks may be steps of a ring, which it might not carry out.
  if (op->hasAttr(implementationAttrName))
    return "names an implementation";
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (collective && collective.getInFlightFuture() && !collective.getWait())
    return "is not waited for";
  if (!isa<SplitOpInterface>(op))
    return explainMissingRule(op);
  if (hasUnknownSize(op))
    return "has a value of unknown size";
  return std::nullopt;
}

/// Why `op`, which reads (or gives) `value` in the chunks of `split`, cannot be
/// divided with it; none if it could be.
static std::optional<std::string> explainStop(Operation *op, Value value,
                                              ValueSplit split, bool isRead,
                                              bool allowSums,
                                              const DenseSet<Value> &written) {
  if (std::optional<std::string> reason = getUnsplittableReason(op))
    return reason;
  SplitRule rule = cast<SplitOpInterface>(op).getSplitRule();
  std::string dimension = "dimension " + std::to_string(split.dim);
  std::optional<AxisSplit> found;
  if (!isRead) {
    found =
        findAxisOfResult(rule, cast<OpResult>(value).getResultNumber(), split);
  } else {
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == value && !found)
        found = findAxisOfOperand(rule, operand.getOperandNumber(), split);
  }
  if (found && rule.axes[found->axis].kind == SplitAxisKind::Sum && !allowSums)
    return "adds up over " + dimension +
           ": partial sums are not the same bit for bit";
  auto isWritten = [&](Value operand) {
    return written.contains(getViewedValue(operand));
  };
  if (found && llvm::any_of(op->getOperands(), isWritten))
    return "reads a value that is written in place";
  if (found)
    return std::nullopt;
  return "cannot be divided along " + dimension + " of its " +
         (isRead ? "operand" : "result");
}

std::vector<SplitStop>
mlir::commsched::getSplitStops(const SplitRegion &region,
                               const SplitRegionOptions &options,
                               size_t limit) {
  std::vector<SplitStop> stops;
  DenseSet<Operation *> known;
  for (const SplitMember &member : region.members)
    known.insert(member.op);
  auto add = [&](Operation *op, Operation *member, Value value,
                 ValueSplit split, bool isRead) {
    if (stops.size() >= limit || op->hasTrait<OpTrait::IsTerminator>() ||
        !known.insert(op).second)
      return;
    std::optional<std::string> reason = explainStop(
        op, value, split, isRead, options.allowSums, *region.written);
    stops.push_back({op, member, reason.value_or("gains nothing from it"),
                     /*isDivisible=*/!reason});
  };
  for (const SplitExit &exit : region.exits) {
    if (!exit.split)
      continue;
    SmallVector<Operation *> users(exit.value.getUsers());
    for (Operation *user : llvm::reverse(users))
      if (stops.size() < limit)
        add(user, exit.value.getDefiningOp(), exit.value, *exit.split, true);
  }
  for (const SplitEntry &entry : region.entries)
    if (Operation *op = entry.value.getDefiningOp())
      add(op, region.members[entry.uses.front().member].op, entry.value,
          entry.split, false);
  return stops;
}

std::vector<SplitStop> SplitRegions::getStops(const SplitRegion &region,
                                              size_t limit) const {
  std::vector<SplitStop> stops = getSplitStops(region, options, limit);
  bool isNearest = region.extent == SplitExtent::Nearest;
  const auto &numbers = isNearest ? nearestOf : widestOf;
  for (SplitStop &stop : stops) {
    if (!stop.isDivisible)
      continue;
    if (auto it = numbers.find(stop.op); it != numbers.end()) {
      Operation *start = regions[it->second].collectives.front();
      stop.reason = "divides with " + describe(start) + " (" +
                    getLocationText(start->getLoc()) + ")";
    } else if (isNearest && widestOf.contains(stop.op)) {
      stop.reason = "is beyond the nearest large computation";
    }
  }
  return stops;
}

//===----------------------------------------------------------------------===//
// Exits
//===----------------------------------------------------------------------===//

namespace {

class ExitFinder {
public:
  explicit ExitFinder(SplitRegion &region);

  void find();

private:
  const SplitMember *findMember(Operation *op) const {
    auto it = members.find(op);
    return it == members.end() ? nullptr : &region.members[it->second];
  }
  bool isSentInPieces(Value value, ValueSplit split) const;
  Value getViewed(const SplitMember &member) const;
  SplitExitKind getKind(Value value);
  void add(Value value);

  SplitRegion &region;
  llvm::DenseMap<Operation *, size_t> members;
  llvm::DenseMap<Value, SplitExitKind> kinds;
  llvm::DenseSet<Value> exits;
};

} // namespace

ExitFinder::ExitFinder(SplitRegion &region) : region(region) {
  for (auto [number, member] : llvm::enumerate(region.members))
    members[member.op] = number;
}

/// How `member` divides its only result; none for partial sums, and if it has
/// several results.
static std::optional<ValueSplit> getOnlySplit(const SplitMember &member) {
  return member.op->getNumResults() == 1 ? member.getResultSplit(0)
                                         : std::nullopt;
}

/// Whether a collective sends chunks of `value`, or views of them, which are
/// not contiguous as parts of the whole.
bool ExitFinder::isSentInPieces(Value value, ValueSplit split) const {
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  if (split.outer == 1 && llvm::all_of(shape.take_front(split.dim),
                                       [](int64_t size) { return size == 1; }))
    return false;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (!findMember(user))
        continue;
      if (isa<CollectiveOpInterface>(user))
        return true;
      if (isFreeView(user))
        llvm::append_range(worklist, user->getResults());
    }
  }
  return false;
}

/// The value that the member's only result is a view of, whose chunks give the
/// view's chunks; null if it is not such a view.
Value ExitFinder::getViewed(const SplitMember &member) const {
  auto op = dyn_cast<ComputeOp>(member.op);
  if (!op || !op.getAlias() || !isFreeView(op) || op.getMovedBytes() != 0 ||
      !getOnlySplit(member))
    return {};
  auto alias = static_cast<unsigned>(*op.getAlias());
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<ValueSplit> split =
        member.getOperandSplit(operand.getOperandNumber());
    if (operand.getOperandNumber() != alias) {
      if (split || findMember(operand.get().getDefiningOp()))
        return {};
      continue;
    }
    const SplitMember *giver = findMember(operand.get().getDefiningOp());
    if (!split || !giver || getOnlySplit(*giver) != split)
      return {};
  }
  return op.getInputs()[alias];
}

/// How the result of a member can be given whole.
SplitExitKind ExitFinder::getKind(Value value) {
  if (auto it = kinds.find(value); it != kinds.end())
    return it->second;
  SplitExitKind kind = SplitExitKind::Joined;
  const SplitMember &member = *findMember(value.getDefiningOp());
  auto op = dyn_cast<ComputeOp>(member.op);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  std::optional<ValueSplit> split = getOnlySplit(member);
  if (Value viewed = getViewed(member)) {
    if (getKind(viewed) != SplitExitKind::Joined)
      kind = SplitExitKind::Viewed;
  } else if (op && !op.getAlias() && split && type && type.hasStaticShape() &&
             op.getMovedBytes().value_or(0) > 0 &&
             !isSentInPieces(value, *split)) {
    kind = SplitExitKind::Written;
  }
  kinds[value] = kind;
  return kind;
}

/// Adds what the exit `value` is a view of.
void ExitFinder::add(Value value) {
  while (exits.insert(value).second && getKind(value) == SplitExitKind::Viewed)
    value = getViewed(*findMember(value.getDefiningOp()));
}

void ExitFinder::find() {
  for (const SplitExit &exit : region.exits)
    add(exit.value);
  region.exits.clear();
  for (const SplitMember &member : region.members)
    for (OpResult result : member.op->getResults())
      if (exits.contains(result))
        region.exits.push_back({result,
                                member.getResultSplit(result.getResultNumber()),
                                getKind(result)});
}

void mlir::commsched::findUncopiedExits(SplitRegion &region) {
  ExitFinder(region).find();
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// What is gathered of how many ranks, along which dimension; none if the sizes
/// are not those of such a gather.
static std::optional<SplitAxis> findRingAxis(AllGatherOp gather) {
  auto shard = cast<RankedTensorType>(gather.getInputs().front().getType());
  auto delivered = llvm::to_vector(
      cast<CollectiveOpInterface>(gather.getOperation()).getDeliveredTypes());
  auto whole = dyn_cast<RankedTensorType>(delivered.front());
  auto dim = static_cast<int64_t>(gather.getDim());
  int64_t size = shard.getDimSize(dim);
  if (!whole || size < 1 || whole.getDimSize(dim) / size < 2)
    return std::nullopt;
  return SplitAxis{whole.getDimSize(dim) / size,
                   SplitAxisKind::Parallel,
                   {},
                   {AxisPlace{/*value=*/0, dim, /*outer=*/1}}};
}

std::optional<std::string> mlir::commsched::getRingObstacle(Operation *op) {
  auto gather = dyn_cast<AllGatherOp>(op);
  if (!gather)
    return "is no commsched.all_gather, and only these become rings";
  if (std::optional<std::string> reason = getUnsplittableReason(op))
    return reason;
  if (!findRingAxis(gather))
    return "gathers from one rank, or nothing";
  return std::nullopt;
}

std::optional<SplitAxis> mlir::commsched::getRingAxis(Operation *op) {
  if (getRingObstacle(op))
    return std::nullopt;
  return findRingAxis(cast<AllGatherOp>(op));
}

std::string mlir::commsched::getBlockSplitObstacle(Block &block) {
  for (Operation &op : block) {
    // What was split once keeps its chunks.
    if (op.hasAttr(chunkAttrName))
      return "the program has chunks already";
    for (Operation *user : op.getUsers())
      if (!block.findAncestorOpInBlock(*user))
        return "the block computes " + describe(&op) +
               ", which another block uses";
    // Their blocks have schedules of their own, which a copy would not have.
    bool holdsCollectives = false;
    for (Region &region : op.getRegions())
      region.walk([&](CollectiveOpInterface) { holdsCollectives = true; });
    if (holdsCollectives)
      return "the block has " + describe(&op) + ", which holds collectives";
  }
  return "";
}
