//===- PlanRegions.cpp - Choice of the regions to outline -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Graphs/GroupedOrder.h"
#include "Regions.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Collection of marks
//===----------------------------------------------------------------------===//

/// Whether `op` allocates memory that goes when the function around it returns.
static bool allocatesOnStack(Operation *op) {
  WalkResult walked = op->walk<WalkOrder::PreOrder>([](Operation *nested) {
    if (nested->hasTrait<OpTrait::AutomaticAllocationScope>())
      return WalkResult::skip();
    auto interface = dyn_cast<MemoryEffectOpInterface>(nested);
    if (!interface)
      return WalkResult::advance();
    SmallVector<MemoryEffects::EffectInstance> effects;
    interface.getEffectsOnResource(
        SideEffects::AutomaticAllocationScopeResource::get(), effects);
    return effects.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return walked.wasInterrupted();
}

/// Why `op` cannot become part of another function; empty if it can.
static StringRef findObstacle(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (!function)
    return "it is in no function";
  if (SymbolTable::getNearestSymbolTable(op->getParentOp()) !=
      function->getParentOp())
    return "it does not see the symbols that its function sees";
  if (op->hasTrait<OpTrait::IsTerminator>())
    return "it ends its block";
  if (isa<SymbolOpInterface>(op))
    return "it defines a symbol";
  if (!mayHaveSSADominance(*op->getParentRegion()))
    return "its region has no order of execution";
  if (allocatesOnStack(op))
    return "what it allocates goes when its function returns";
  return {};
}

static void remarkLeft(Operation *op, StringRef reason) {
  if (!areRemarksEnabled(op))
    return;
  auto function = op->getParentOfType<func::FuncOp>();
  remark::missed(op->getLoc(),
                 makeRemark("MarkedOperationLeft",
                            function ? function.getSymName() : StringRef()))
      << (describe(op) + " is not outlined: " + reason).str();
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

namespace {

class MarkCollector {
public:
  LogicalResult visit(Operation *op, bool isInsideMarked);
  Marks take() { return std::move(marks); }

private:
  FailureOr<int32_t> findRegion(Operation *op, DictionaryAttr mark);

  Marks marks;
  /// By name.
  llvm::StringMap<int32_t> regionOf;
};

} // namespace

std::string mlir::commsched::describe(const MarkedRegion &region) {
  return region.name.empty() ? "the region without a name"
                             : ("the region '" + region.name + "'").str();
}

FailureOr<int32_t> MarkCollector::findRegion(Operation *op,
                                             DictionaryAttr mark) {
  auto getText = [&](StringRef key) {
    auto text = mark.getAs<StringAttr>(key);
    return text ? text.getValue() : StringRef();
  };
  StringRef name = getText("region"), pipeline = getText("pipeline");
  auto [it, isNew] =
      regionOf.try_emplace(name, static_cast<int32_t>(marks.regions.size()));
  if (isNew)
    marks.regions.push_back({name, pipeline, op, {}});
  MarkedRegion &known = marks.regions[it->second];
  if (auto settings = mark.getAs<DictionaryAttr>("settings"))
    for (NamedAttribute setting : settings)
      known.settings.insert({{setting.getName().getValue(),
                              cast<StringAttr>(setting.getValue()).getValue()},
                             op});
  // A mark that names no pipeline takes that of the others.
  if (pipeline.empty() || known.pipeline == pipeline)
    return it->second;
  if (known.pipeline.empty()) {
    known.pipeline = pipeline;
    known.first = op;
    return it->second;
  }
  return emitOpErrorWithNote(op, known.first->getLoc(),
                             "the other operation is here")
         << "compiles " << describe(known) << " with '" << pipeline
         << "', but '" << known.first->getName() << "' compiles it with '"
         << known.pipeline << "'";
}

LogicalResult MarkCollector::visit(Operation *op, bool isInsideMarked) {
  if (auto function = dyn_cast<func::FuncOp>(op))
    if (function.isDeclaration() ||
        function.getSymName().starts_with(regionFunctionPrefix))
      return success();
  if (auto mark = op->getAttrOfType<DictionaryAttr>(compileWithAttrName)) {
    FailureOr<int32_t> region = findRegion(op, mark);
    if (failed(region))
      return failure();
    StringRef obstacle = isInsideMarked ? StringRef() : findObstacle(op);
    if (!obstacle.empty()) {
      remarkLeft(op, obstacle);
    } else if (!isInsideMarked) {
      marks.blocks[op->getBlock()].push_back({op, *region});
      isInsideMarked = true;
    }
  }
  for (Region &region : op->getRegions())
    for (Operation &nested : region.getOps())
      if (failed(visit(&nested, isInsideMarked)))
        return failure();
  return success();
}

FailureOr<Marks> mlir::commsched::collectMarks(ModuleOp module) {
  MarkCollector collector;
  if (failed(collector.visit(module, /*isInsideMarked=*/false)))
    return failure();
  return collector.take();
}

//===----------------------------------------------------------------------===//
// Sets of operations
//===----------------------------------------------------------------------===//

/// All marks count as one label for each region, numbered by the block.
static std::vector<int32_t> makeLabels(const BlockProblem &problem,
                                       ArrayRef<MarkedOperation> marked,
                                       SmallVectorImpl<int32_t> &regions) {
  DenseMap<int32_t, int32_t> labelOf;
  DenseMap<Operation *, int32_t> marks;
  for (const MarkedOperation &mark : marked) {
    auto [it, isNew] =
        labelOf.try_emplace(mark.region, static_cast<int32_t>(regions.size()));
    if (isNew)
      regions.push_back(mark.region);
    marks[mark.op] = it->second;
  }
  std::vector<int32_t> labels;
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
    labels.push_back(marks.lookup_or(problem.getOperation(node), noLabel));
  return labels;
}

static void remarkSplitPair(Operation *op, bool isStart) {
  auto function = op->getParentOfType<func::FuncOp>();
  remark::missed(op->getLoc(),
                 makeRemark("MarkedOperationLeft", function.getSymName()))
      << describe(op) + " is not outlined: its " +
             (isStart ? "wait" : "start") +
             " cannot be in the same function, and futures cross no call";
}

bool mlir::commsched::isFreeToCopy(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         (isa<tensor::EmptyOp>(op) && op->getNumOperands() == 0);
}

//===----------------------------------------------------------------------===//
// The border of a set
//===----------------------------------------------------------------------===//

namespace {

/// Determines which members of one set stay outside of the function: views and
/// constants, where the function would otherwise return what it takes, or
/// return one storage twice.
class Border {
public:
  Border(Block &block, const BlockProblem &problem,
         const std::vector<int32_t> &setOf, const ConvexSet &set, int32_t index)
      : block(block), problem(problem), setOf(setOf), set(set), index(index) {}

  /// Divides the members.
  void divide(RegionSet &result, SmallVectorImpl<Operation *> &passedOn,
              std::vector<NodeId> &nodes);

private:
  /// Inside, outside, or where its users are.
  enum class Place { Inside, Outside, WithUsers };

  Operation *getOperation(NodeId node) const {
    return problem.getOperation(node);
  }
  Place placeOf(Operation *op) const {
    return places.lookup_or(op, Place::Outside);
  }
  Place placeOfUser(Operation *user) const {
    return placeOf(block.findAncestorOpInBlock(*user));
  }
  Value getRoot(Value value) const { return rootOf.lookup_or(value, value); }

  bool isTiedByMemory(NodeId node) const;
  bool isTakenFromOutside(Operation *op) const;
  void placeWhatIsTaken();
  void placeSharedViews();
  void settle();

  Block &block;
  const BlockProblem &problem;
  const std::vector<int32_t> &setOf;
  const ConvexSet &set;
  int32_t index;
  /// Of the members.
  DenseMap<Operation *, Place> places;
  /// Of views of what members make: that.
  DenseMap<Value, Value> rootOf;
  /// Those of what is outside that the function needs, too.
  DenseSet<Operation *> copied;
};

} // namespace

/// Whether memory or communication, not only values, joins the operation to a
/// member.
bool Border::isTiedByMemory(NodeId node) const {
  auto ties = [&](DependenceEnd end) {
    return end.kind != DependenceKind::Data && setOf[end.node] == index;
  };
  const Problem &dependences = problem.getProblem();
  return llvm::any_of(dependences.predecessors(node), ties) ||
         llvm::any_of(dependences.successors(node), ties);
}

/// Returns the value that `op` is a view of, if it has no other effect; or
/// null.
static Value getViewed(Operation *op) {
  if (!isa<AliasOpInterface, ViewLikeOpInterface>(op) ||
      op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isMemoryEffectFree(op))
    return {};
  Value viewed = getAliasedValue(op->getResult(0));
  return llvm::is_contained(op->getOperands(), viewed) ? viewed : Value();
}

/// Whether `op` is a constant, or a view of what comes from outside of the set,
/// be it by way of other such views.
bool Border::isTakenFromOutside(Operation *op) const {
  return isFreeToCopy(op) ||
         (getViewed(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
            return placeOf(operand.getDefiningOp()) != Place::Inside;
          }));
}

void Border::placeWhatIsTaken() {
  for (NodeId node : set.members) {
    Operation *op = getOperation(node);
    places[op] = isTakenFromOutside(op) && !isTiedByMemory(node)
                     ? Place::WithUsers
                     : Place::Inside;
  }
}

/// Lets views of what members make go outside if others use several values of
/// that storage.
void Border::placeSharedViews() {
  DenseMap<Value, int32_t> numShared;
  for (NodeId node : set.members) {
    Operation *op = getOperation(node);
    if (placeOf(op) != Place::Inside)
      continue;
    if (Value viewed = getViewed(op))
      rootOf[op->getResult(0)] = getRoot(viewed);
    for (Value result : op->getResults())
      numShared[getRoot(result)] +=
          llvm::any_of(result.getUsers(), [&](Operation *user) {
            return placeOfUser(user) == Place::Outside;
          });
  }
  for (NodeId node : set.members) {
    Operation *op = getOperation(node);
    if (getViewed(op) && numShared.lookup(getRoot(op->getResult(0))) > 1 &&
        !isTiedByMemory(node))
      places[op] = Place::WithUsers;
  }
}

/// Places the remaining operations, users before their operands: outside of the
/// region if an operation there uses them, or if they have no users.
void Border::settle() {
  for (NodeId node : llvm::reverse(set.members)) {
    Operation *op = getOperation(node);
    Place &place = places[op];
    if (place == Place::Inside)
      continue;
    bool isUsedInside = false, isUsedOutside = op->use_empty();
    for (Operation *user : op->getUsers()) {
      bool isInside = placeOfUser(user) == Place::Inside;
      isUsedInside |= isInside || copied.contains(user);
      isUsedOutside |= !isInside;
    }
    place = isUsedOutside ? Place::Outside : Place::Inside;
    if (isUsedOutside && isUsedInside)
      copied.insert(op);
  }
}

void Border::divide(RegionSet &result, SmallVectorImpl<Operation *> &passedOn,
                    std::vector<NodeId> &nodes) {
  placeWhatIsTaken();
  placeSharedViews();
  settle();
  for (NodeId node : set.members) {
    Operation *op = getOperation(node);
    bool isInside = placeOf(op) == Place::Inside;
    if (isInside)
      nodes.push_back(node);
    else
      passedOn.push_back(op);
    if (isInside || copied.contains(op))
      result.members.push_back({op, !isInside});
  }
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

FailureOr<MarkedBlock>
mlir::commsched::planBlock(Block &block, ArrayRef<MarkedOperation> marked) {
  FailureOr<BlockProblem> problem = BlockProblem::create(block);
  if (failed(problem))
    return failure();
  MarkedBlock plan{std::move(*problem), {}, {}, {}};
  const Problem &dependences = plan.problem.getProblem();
  SmallVector<int32_t> regions;
  std::vector<int32_t> labels = makeLabels(plan.problem, marked, regions);
  Location loc = block.getParentOp()->getLoc();
  Result<std::vector<ConvexSet>> sets = formConvexSets(dependences, labels);
  if (!sets)
    return emitError(loc, "no regions were found: ") << sets.error();

  std::vector<int32_t> setOf(labels.size(), noLabel);
  for (auto [index, set] : llvm::enumerate(*sets))
    for (NodeId node : set.members)
      setOf[node] = static_cast<int32_t>(index);
  SoftConstraints constraints;
  for (auto [index, set] : llvm::enumerate(*sets)) {
    RegionSet regionSet;
    regionSet.region = regions[set.label];
    std::vector<NodeId> nodes;
    Border(block, plan.problem, setOf, set, static_cast<int32_t>(index))
        .divide(regionSet, plan.passedOn, nodes);
    if (nodes.empty())
      continue;
    NodeId anchor = nodes.front();
    constraints.groups.push_back({std::move(nodes), anchor});
    plan.sets.push_back(std::move(regionSet));
  }
  Result<GroupedOrder> sorted = sortInGroups(dependences, constraints);
  if (!sorted)
    return emitError(loc, "no order was found: ") << sorted.error();
  assert(llvm::none_of(sorted->conflicts,
                       [](const auto &conflict) { return conflict; }) &&
         "sets that can run as one stand together");
  plan.order = std::move(sorted->order);
  if (areRemarksEnabled(block.getParentOp()))
    for (auto [node, label] : llvm::enumerate(labels))
      if (label != noLabel && setOf[node] == noLabel)
        remarkSplitPair(plan.problem.getOperation(node),
                        dependences.kind(node) == NodeKind::Start);
  return plan;
}
