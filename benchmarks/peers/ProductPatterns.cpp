//===- ProductPatterns.cpp - Products beside collectives ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ProductPatterns.h"
#include "CommSched/Dialect/CommSchedAttributes.h"

using namespace mlir;
using namespace mlir::commsched;

static ArrayRef<int64_t> getShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type.getShape() : ArrayRef<int64_t>();
}

/// The first dimension that is not of size 1, if its size is a multiple of
/// `count`: its equal parts lie in memory one behind the other. Else none.
static std::optional<unsigned> getLeadingDim(Value value, int64_t count) {
  for (auto [dim, size] : llvm::enumerate(getShape(value))) {
    if (size == 1)
      continue;
    if (size % count == 0)
      return dim;
    return std::nullopt;
  }
  return std::nullopt;
}

static ComputeOp getCompute(Operation *op, ArrayRef<StringRef> callees) {
  auto compute = dyn_cast_or_null<ComputeOp>(op);
  if (compute && llvm::is_contained(callees, compute.getCallee()))
    return compute;
  return nullptr;
}

static bool isReshape(Operation *op) {
  return bool(getCompute(op, {"aten.view", "aten._unsafe_view", "aten.reshape",
                              "aten._reshape_alias", "aten.unsqueeze",
                              "aten.squeeze.dim"}));
}

static bool isTranspose(Operation *op) {
  return getCompute(op, {"aten.t"}) && getShape(op->getResult(0)).size() == 2;
}

static bool isProduct(Operation *op) {
  return bool(getCompute(op, {"aten.mm"}));
}

static bool comesFromParameter(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ComputeOp>(op) || op->getNumOperands() != 1)
      return false;
    value = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto role = function ? function.getArgAttrOfType<StringAttr>(
                             argument.getArgNumber(), roleAttrName)
                       : StringAttr();
  return role && role.getValue() == "parameter";
}

static WaitOp getOnlyWait(Operation *start) {
  if (!start->getResult(0).hasOneUse())
    return nullptr;
  return dyn_cast<WaitOp>(*start->user_begin());
}

namespace {

class PatternFinder {
public:
  PatternFinder(Block &block, bool withSums)
      : block(block), withSums(withSums) {}

  ProductPatterns run();

private:
  int64_t getSize(FlatSymbolRefAttr group);
  void addGather(AllGatherOp start);
  void addScatter(ReduceScatterOp start);
  /// Looks for products behind `value`, a view of the gathered tensor, whose
  /// parts lie along `dim`. False if something else uses it.
  bool follow(Value value, unsigned dim, bool isTransposed,
              GatherPattern &pattern);
  bool take(OpOperand &use, unsigned dim, GatherPattern &pattern);
  /// The tensor that the operand of a scatter is a view of, or the same data
  /// as, with all operations between added to `views`, last ones first.
  static Value lookThrough(Value value, SmallVectorImpl<Operation *> &views);

  Block &block;
  bool withSums;
  SymbolTableCollection symbolTables;
  DenseSet<Attribute> parameterGroups;
  DenseSet<Operation *> taken;
  ProductPatterns patterns;
};

} // namespace

int64_t PatternFinder::getSize(FlatSymbolRefAttr group) {
  auto op =
      symbolTables.lookupNearestSymbolFrom<GroupOp>(block.getParentOp(), group);
  return op ? static_cast<int64_t>(op.getSize()) : 1;
}

ProductPatterns PatternFinder::run() {
  for (auto start : block.getOps<AllGatherOp>())
    for (Value sent : start.getInputs())
      if (comesFromParameter(sent))
        parameterGroups.insert(start.getGroupAttr());
  // A product between a gather and a scatter belongs to the gather.
  for (auto start : block.getOps<AllGatherOp>())
    addGather(start);
  for (auto start : block.getOps<ReduceScatterOp>())
    addScatter(start);
  return std::move(patterns);
}

void PatternFinder::addGather(AllGatherOp start) {
  int64_t numRanks = getSize(start.getGroupAttr());
  WaitOp wait = getOnlyWait(start);
  if (!wait || wait.getNumResults() != 1 || numRanks < 2 ||
      parameterGroups.contains(start.getGroupAttr()))
    return;
  Value whole = wait.getResult(0);
  std::optional<unsigned> dim = getLeadingDim(whole, numRanks);
  if (!dim || *dim != static_cast<unsigned>(start.getDim()))
    return;
  GatherPattern pattern{start, wait, numRanks, {}, {}};
  follow(whole, *dim, false, pattern);
  if (!pattern.products.empty())
    patterns.gathers.push_back(std::move(pattern));
}

bool PatternFinder::follow(Value value, unsigned dim, bool isTransposed,
                           GatherPattern &pattern) {
  bool isComplete = true;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    bool isTaken = false;
    if (isReshape(user) && !isTransposed) {
      if (auto next = getLeadingDim(user->getResult(0), pattern.numRanks))
        isTaken = follow(user->getResult(0), *next, false, pattern);
    } else if (isTranspose(user)) {
      isTaken = follow(user->getResult(0), 1 - dim, true, pattern);
    } else if (isProduct(user)) {
      isTaken = take(use, dim, pattern);
      isComplete &= isTaken;
      continue;
    }
    isComplete &= isTaken;
    if (isTaken)
      pattern.views.push_back(user);
  }
  return isComplete;
}

bool PatternFinder::take(OpOperand &use, unsigned dim, GatherPattern &pattern) {
  bool isLeft = use.getOperandNumber() == 0;
  bool isSum = isLeft ? dim == 1 : dim == 0;
  bool isRows = isLeft && dim == 0;
  if ((!isRows && !(isSum && withSums)) ||
      use.getOwner()->getOperand(0) == use.getOwner()->getOperand(1) ||
      !taken.insert(use.getOwner()).second)
    return false;
  pattern.products.push_back({cast<ComputeOp>(use.getOwner()),
                              isSum ? ProductAxis::Sum : ProductAxis::Rows,
                              use.getOperandNumber()});
  return true;
}

Value PatternFinder::lookThrough(Value value,
                                 SmallVectorImpl<Operation *> &views) {
  while (Operation *op = value.getDefiningOp()) {
    if (!value.hasOneUse())
      return value;
    if (isReshape(op)) {
      views.push_back(op);
      value = op->getOperand(0);
      continue;
    }
    // Parts that are put one behind the other as they were.
    ComputeOp joined = getCompute(op, {"aten.cat"});
    if (!joined || op->getNumOperands() == 0)
      return value;
    Operation *parts = op->getOperand(0).getDefiningOp();
    if (!getCompute(parts, {"aten.split.Tensor", "aten.split_with_sizes"}) ||
        !llvm::equal(op->getOperands(), parts->getResults()) ||
        !llvm::all_of(parts->getResults(),
                      [](Value part) { return part.hasOneUse(); }))
      return value;
    int64_t count = parts->getNumResults();
    if (!getLeadingDim(value, count) ||
        !getLeadingDim(parts->getOperand(0), count))
      return value;
    views.append({op, parts});
    value = parts->getOperand(0);
  }
  return value;
}

void PatternFinder::addScatter(ReduceScatterOp start) {
  int64_t numRanks = getSize(start.getGroupAttr());
  WaitOp wait = getOnlyWait(start);
  if (!wait || start.getInputs().size() != 1 || numRanks < 2 ||
      parameterGroups.contains(start.getGroupAttr()))
    return;
  Value sent = start.getInputs()[0];
  std::optional<unsigned> dim = getLeadingDim(sent, numRanks);
  if (!dim || *dim != static_cast<unsigned>(start.getDim()))
    return;
  ScatterPattern pattern{nullptr, start, wait, numRanks, {}};
  Value source = lookThrough(sent, pattern.views);
  pattern.product = getCompute(source.getDefiningOp(), {"aten.mm"});
  if (!pattern.product || !source.hasOneUse() ||
      getLeadingDim(source, numRanks) != 0u ||
      !taken.insert(pattern.product).second)
    return;
  patterns.scatters.push_back(std::move(pattern));
}

ProductPatterns mlir::commsched::findProductPatterns(Block &block,
                                                     bool withSums) {
  return PatternFinder(block, withSums).run();
}
