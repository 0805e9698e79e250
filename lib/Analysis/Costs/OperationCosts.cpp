//===- OperationCosts.cpp - Costs of operations ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/OperationCosts.h"

#include "CommSched/Analysis/Costs/ChunkCosts.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CalleeSummary.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::commsched;

using cost::CollectiveQuery;
using cost::ElementKind;

ElementKind mlir::commsched::getElementKind(Type type) {
  if (auto complexType = dyn_cast_if_present<ComplexType>(type))
    type = complexType.getElementType();
  if (!type || !type.isIntOrFloat())
    return ElementKind::F32;
  unsigned width = type.getIntOrFloatBitWidth();
  if (isa<IntegerType>(type))
    return width <= 8 ? ElementKind::I8 : ElementKind::F32;
  if (width > 32)
    return ElementKind::F64;
  if (width > 16)
    return ElementKind::F32;
  if (width > 8)
    return type.isBF16() ? ElementKind::BF16 : ElementKind::F16;
  return ElementKind::F8;
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

void OperationPrice::add(const OperationPrice &other) {
  timeNs = saturatingAdd(timeNs, other.timeNs);
  computeNs = saturatingAdd(computeNs, other.computeNs);
  commNs = saturatingAdd(commNs, other.commNs);
  measuredNs = saturatingAdd(measuredNs, other.measuredNs);
  // Callees count as often as they are called, which may be more than fits.
  numOps = saturatingAdd(numOps, other.numOps);
  numMeasured = saturatingAdd(numMeasured, other.numMeasured);
  numPinned = saturatingAdd(numPinned, other.numPinned);
  numAssumed = saturatingAdd(numAssumed, other.numAssumed);
}

//===----------------------------------------------------------------------===//
// Free operations
//===----------------------------------------------------------------------===//

/// True if the effects of `op` are known and say that it allocates or frees
/// memory without reading or writing any.
static bool onlyAllocatesOrFrees(Operation *op) {
  auto effects = getStatedEffects(op);
  return !effects.empty() &&
         llvm::all_of(effects, [](const MemoryEffects::EffectInstance &effect) {
           return isa<MemoryEffects::Allocate, MemoryEffects::Free>(
               effect.getEffect());
         });
}

//===----------------------------------------------------------------------===//
// OperationCosts
//===----------------------------------------------------------------------===//

static int32_t findSlackPercent(const cost::Target &target,
                                const cost::MeasuredTable *profile) {
  if (target.slackPercent >= 0)
    return static_cast<int32_t>(target.slackPercent);
  return (profile ? profile->getSlackPercent() : std::nullopt)
      .value_or(schedule::StepSchedulerOptions::defaultSlackPercent);
}

OperationCosts::OperationCosts(const cost::Target &target,
                               const cost::MeasuredTable *profile,
                               SymbolTableCollection &symbolTables)
    : target(target), slackPercent(findSlackPercent(target, profile)),
      collectiveCost(profile ? cost::CollectiveCost(target, *profile)
                             : cost::CollectiveCost(target)),
      operations(profile ? profile->getOperations() : nullptr),
      products(profile ? profile->getProducts() : cost::MeasuredProducts()),
      symbolTables(symbolTables) {
  if (profile)
    profilePath = profile->getPath().str();
}

OperationPrice OperationCosts::price(Operation *op) {
  if (!memo || op->getNumRegions() == 0)
    return compute(op);
  if (auto it = memo->prices.find(op); it != memo->prices.end())
    return it->second;
  OperationPrice price = compute(op);
  memo->prices[op] = price;
  return price;
}

OperationPrice OperationCosts::compute(Operation *op) {
  auto find = [&] {
    if (std::optional<int64_t> pinned = getPinnedRuntimeNs(op))
      return OperationPrice::pinned(*pinned);
    if (std::optional<int64_t> measured = findMeasuredNs(op))
      return OperationPrice::measured(*measured);
    return estimate(op);
  };
  OperationPrice price = find();
  if (isa<CollectiveOpInterface>(op))
    std::swap(price.computeNs, price.commNs);
  return price;
}

/// The operator of `op`: that of an opaque computation, else its own name.
static StringRef getOperatorName(Operation *op) {
  if (auto compute = dyn_cast<ComputeOp>(op))
    return compute.getCallee();
  return op->getName().getStringRef();
}

/// The types of operands and results, as a function type.
static std::string printTypes(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  FunctionType::get(op->getContext(), op->getOperandTypes(),
                    op->getResultTypes())
      .print(os);
  return text;
}

using MeasuredTimes = cost::MeasuredOperations::Times;

/// What `operations` has of `op` by its name: in its graph, in its function or
/// in any; or null.
static const MeasuredTimes *
findByName(Operation *op, const cost::MeasuredOperations &operations) {
  auto known = op->getAttrOfType<StringAttr>(graphNameAttrName);
  StringRef name = known ? known.getValue() : getStableName(op);
  if (name.empty() || !operations.hasNames())
    return nullptr;
  auto function = op->getParentOfType<FunctionOpInterface>();
  for (StringRef graph :
       {getGraph(op), function ? function.getName() : StringRef(), StringRef()})
    if (const MeasuredTimes *times =
            operations.findByName(graph, name, getOperatorName(op)))
      return times;
  return nullptr;
}

static const MeasuredTimes *
findByTypes(Operation *op, const cost::MeasuredOperations &operations) {
  if (!operations.hasTypes())
    return nullptr;
  return operations.findByTypes(getOperatorName(op), printTypes(op));
}

/// Whether `op` takes no time of its own that a profile could have.
static bool isUnmeasured(Operation *op) {
  return isa<WaitOpInterface>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
         op->hasTrait<OpTrait::ConstantLike>();
}

std::optional<int64_t> OperationCosts::findMeasuredNs(Operation *op) const {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  StringAttr name = collective ? getImplementation(collective) : StringAttr();
  return findMeasuredNs(op,
                        name ? name.getValue()
                             : StringRef(cost::Implementations::defaultName));
}

std::optional<int64_t>
OperationCosts::findMeasuredNs(Operation *op, StringRef implementation) const {
  if (isUnmeasured(op))
    return std::nullopt;
  Attribute attached = op->getAttr(measuredNsAttrName);
  if (auto times = dyn_cast_if_present<DictionaryAttr>(attached))
    attached = times.get(implementation);
  if (auto time = dyn_cast_if_present<IntegerAttr>(attached))
    return time.getInt();
  if (!operations)
    return std::nullopt;
  const MeasuredTimes *times = findByName(op, *operations);
  if (!times)
    times = findByTypes(op, *operations);
  if (!times)
    return std::nullopt;
  auto it = times->find(implementation);
  return it == times->end() ? std::nullopt : std::optional(it->second);
}

/// `commsched.measured_ns` for `op`; null if there is nothing to say.
static Attribute makeMeasured(Operation *op, const MeasuredTimes &times) {
  Builder builder(op->getContext());
  SmallVector<NamedAttribute> entries;
  for (const auto &[name, ns] : times)
    entries.emplace_back(builder.getStringAttr(name),
                         builder.getI64IntegerAttr(ns));
  auto all = builder.getDictionaryAttr(entries);
  return isa<CollectiveOpInterface>(op)
             ? all
             : all.get(cost::Implementations::defaultName);
}

bool mlir::commsched::attachMeasuredTimes(
    Operation *root, const cost::MeasuredOperations *operations) {
  bool hasNames = false, isNamed = false;
  root->walk([&](Operation *op) {
    op->removeAttr(measuredNsAttrName);
    if (!operations || isUnmeasured(op))
      return;
    const MeasuredTimes *times = findByName(op, *operations);
    hasNames |= !getStableName(op).empty();
    isNamed |= times != nullptr;
    if (!times)
      times = findByTypes(op, *operations);
    if (times)
      if (Attribute measured = makeMeasured(op, *times))
        op->setDiscardableAttr(measuredNsAttrName, measured);
  });
  return isNamed || !hasNames || !operations || !operations->hasNames();
}

std::optional<int64_t> OperationCosts::estimateNs(Operation *op) {
  OperationPrice price = estimate(op);
  return price.isKnown() ? std::optional(price.timeNs) : std::nullopt;
}

OperationPrice OperationCosts::estimate(Operation *op) {
  // A terminator may hold operations, as that of a parallel loop does.
  bool isPlainTerminator =
      op->hasTrait<OpTrait::IsTerminator>() && op->getNumRegions() == 0;
  if (isa<WaitOpInterface>(op) || isPlainTerminator ||
      op->hasTrait<OpTrait::ConstantLike>())
    return OperationPrice();
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    std::optional<CollectiveEstimate> estimate = estimateCollective(collective);
    if (!estimate)
      return OperationPrice::assumed(assumeNs(op));
    return estimate->source == CollectiveEstimate::Source::Profile
               ? OperationPrice::measured(estimate->timeNs)
               : OperationPrice::modelled(estimate->timeNs);
  }
  if (auto cost = dyn_cast<CostOpInterface>(op))
    return estimateOwnCost(cost);
  if (isFreeView(op))
    return OperationPrice();
  if (op->getNumRegions() != 0)
    return priceRegions(op);
  if (std::optional<CalleeSummary> callee = CalleeSummary::find(op))
    return callee->price;
  if (onlyAllocatesOrFrees(op))
    return OperationPrice();
  return estimateBytes(op);
}

std::optional<CollectiveQuery>
OperationCosts::getQuery(CollectiveOpInterface collective) {
  std::optional<int64_t> sent = collective.getOperandBytes();
  std::optional<int64_t> delivered = collective.getResultBytes();
  if (!sent || !delivered)
    return std::nullopt;
  return makeQuery(collective, std::max(*sent, *delivered));
}

bool OperationCosts::roundsByPlace(CollectiveOpInterface collective) {
  CollectiveKind kind = collective.getCollectiveKind();
  if (kind != CollectiveKind::AllReduce &&
      kind != CollectiveKind::ReduceScatter)
    return false;
  FailureOr<ProcessGroup> group = collective.getProcessGroup(symbolTables);
  return failed(group) || group->size > 2;
}

/// The query of `collective`, if it carries `bytes`; none when the group or the
/// implementation is not known.
std::optional<CollectiveQuery>
OperationCosts::makeQuery(CollectiveOpInterface collective, int64_t bytes) {
  FailureOr<ProcessGroup> group = collective.getProcessGroup(symbolTables);
  if (failed(group))
    return std::nullopt;

  constexpr int64_t maxRanks = std::numeric_limits<int32_t>::max();
  CollectiveQuery query;
  query.kind = collective.getCollectiveKind();
  query.bytes = bytes;
  query.ranks = static_cast<int32_t>(std::min(group->size, maxRanks));
  query.ranksPerNode =
      static_cast<int32_t>(std::min(group->ranksPerNode, maxRanks));
  query.tensors = static_cast<int32_t>(
      std::max<int64_t>(collective.getSentValues().size(),
                        collective.getDeliveredTypes().size()));
  if (StringAttr implementation = getImplementation(collective)) {
    std::optional<int32_t> index =
        target.implementations.find(implementation.getValue());
    if (!index)
      return std::nullopt;
    query.implementation = *index;
  }
  return query;
}

CollectiveEstimate
OperationCosts::estimateCollective(const CollectiveQuery &query) const {
  CollectiveEstimate estimate;
  estimate.query = query;
  if (std::optional<int64_t> measured = collectiveCost.tableTimeNs(query)) {
    estimate.source = CollectiveEstimate::Source::Profile;
    estimate.timeNs = *measured;
    return estimate;
  }
  cost::NcclEstimate modelled = collectiveCost.estimate(query);
  if (target.implementations.get(query.implementation).linear)
    estimate.source = CollectiveEstimate::Source::Implementation;
  estimate.timeNs = modelled.timeNs;
  estimate.algorithm = modelled.algorithm;
  estimate.protocol = modelled.protocol;
  return estimate;
}

int64_t OperationCosts::getPackingNs(int64_t sentBytes, int64_t deliveredBytes,
                                     int64_t tensors) const {
  auto copy = [&](int64_t bytes, int64_t kernels) -> int64_t {
    if (bytes == 0)
      return 0;
    return cost::computeTimeNs(target, /*flops=*/0, ElementKind::F32,
                               saturatingAdd(bytes, bytes), kernels);
  };
  return saturatingAdd(copy(sentBytes, 1), copy(deliveredBytes, tensors));
}

/// The bytes of those of `types` whose size is known.
static int64_t addKnownBytes(ArrayRef<Type> types) {
  int64_t total = 0;
  for (Type type : types)
    total = saturatingAdd(total, getStaticBytes(type).value_or(0));
  return total;
}

/// Whether `collective` stands for several, which are packed into one message
/// when they become operations of another dialect.
static bool isPackedLater(CollectiveOpInterface collective) {
  return collective.getSentValues().size() > 1 &&
         collective->hasAttr(originAttrName) && hasPackedLaunches(collective);
}

/// The bytes of `types` that are copied so that what goes to one rank lies
/// together, if `dim` is cut: all, unless it is the first that is not 1.
static int64_t getMovedBytes(TypeRange types, int64_t dim) {
  return addKnownBytes(
      llvm::to_vector(llvm::make_filter_range(types, [&](Type type) {
        ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
        return llvm::any_of(shape.take_front(dim),
                            [](int64_t size) { return size != 1; });
      })));
}

/// The time of the copies that are made around `collective` when it becomes an
/// operation of another dialect. Nothing else stands for them.
static int64_t getLaterCopiesNs(const OperationCosts &costs,
                                CollectiveOpInterface collective) {
  if (isPackedLater(collective))
    return costs.getPackingNs(
        *collective.getOperandBytes(), *collective.getResultBytes(),
        static_cast<int64_t>(collective.getSentValues().size()));
  auto exchange = dyn_cast<AllToAllOp>(collective.getOperation());
  if (!exchange || exchange.getSplitDim() == exchange.getConcatDim() ||
      !hasPackedLaunches(collective))
    return 0;
  return costs.getPackingNs(
      getMovedBytes(exchange.getSentValues().getTypes(),
                    exchange.getSplitDim()),
      getMovedBytes(exchange.getDeliveredTypes(), exchange.getConcatDim()),
      /*tensors=*/1);
}

std::optional<CollectiveEstimate>
OperationCosts::estimateCollective(CollectiveOpInterface collective) {
  std::optional<CollectiveQuery> query = getQuery(collective);
  if (!query)
    return std::nullopt;
  if (isPackedLater(collective))
    query->tensors = 1;
  CollectiveEstimate estimate = estimateCollective(*query);
  estimate.timeNs =
      saturatingAdd(estimate.timeNs, getLaterCopiesNs(*this, collective));
  auto own = dyn_cast<CostOpInterface>(collective.getOperation());
  if (!own || estimate.source == CollectiveEstimate::Source::Profile)
    return estimate;
  if (std::optional<int64_t> known = own.getKnownRuntimeNs())
    return CollectiveEstimate{*query, *known,
                              CollectiveEstimate::Source::Operation};
  return estimate;
}

OperationPrice OperationCosts::estimateOwnCost(CostOpInterface op) {
  if (std::optional<int64_t> known = op.getKnownRuntimeNs())
    return OperationPrice::modelled(*known);
  std::optional<int64_t> bytes = op.getMovedBytes();
  if (!bytes)
    return OperationPrice::assumed(assumeNs(op));
  double flops = op.getFlopCount().value_or(0);
  if (std::optional<OperationPrice> product =
          estimateProduct(op, flops, *bytes))
    return *product;
  return OperationPrice::modelled(
      cost::computeTimeNs(target, flops, getElementKind(op.getComputeType()),
                          *bytes, getNumKernels(op)));
}

/// The time of a product that was measured, or that is a chunk; none for all
/// other operations.
std::optional<OperationPrice>
OperationCosts::estimateProduct(CostOpInterface op, double flops,
                                int64_t bytes) {
  std::optional<ChunkAxis> chunk = getChunkAxis(op);
  if (!chunk && products.empty())
    return std::nullopt;
  std::optional<ProductChunk> product =
      getProductChunk(op, chunk.value_or(ChunkAxis{-1, 1}));
  if (!product)
    return std::nullopt;
  ElementKind kind = getElementKind(op.getComputeType());
  if (std::optional<int64_t> measured = products.findNs(product->chunk, kind))
    return OperationPrice::measured(*measured);
  if (!chunk)
    return std::nullopt;
  double slowdown = cost::getChunkSlowdown(target, product->whole,
                                           product->chunk, chunk->count);
  int64_t modelNs = cost::computeTimeNs(target, flops * slowdown, kind, bytes);
  std::optional<int64_t> measuredWhole = products.findNs(product->whole, kind);
  if (!measuredWhole)
    return OperationPrice::modelled(modelNs);
  double count = static_cast<double>(chunk->count);
  int64_t wholeModelNs =
      cost::computeTimeNs(target, flops * count, kind, product->wholeBytes);
  return OperationPrice::measured(
      scalePinnedNs(*measuredWhole, modelNs, wholeModelNs, chunk->count));
}

OperationPrice OperationCosts::estimateBytes(Operation *op) {
  std::optional<int64_t> bytes = getOperandAndResultBytes(op);
  if (!bytes)
    return OperationPrice::assumed(assumeNs(op));
  return OperationPrice::modelled(cost::computeTimeNs(
      target, /*flops=*/0, ElementKind::F32, *bytes, getNumKernels(op)));
}

//===----------------------------------------------------------------------===//
// Stand-ins
//===----------------------------------------------------------------------===//

int64_t OperationCosts::assumeNs(Operation *op) {
  int64_t read = addKnownBytes(getSizedTypes(op->getOperands()));
  auto cost = dyn_cast<CostOpInterface>(op);
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    if (std::optional<int64_t> own =
            cost ? cost.getKnownRuntimeNs() : std::nullopt)
      return *own;
    int64_t delivered = addKnownBytes(getSizedDeliveredTypes(op));
    if (std::optional<CollectiveQuery> query =
            makeQuery(collective, std::max<int64_t>({read, delivered, 1})))
      return estimateCollective(*query).timeNs;
  }
  int64_t bytes =
      saturatingAdd(read, addKnownBytes(getSizedTypes(op->getResults())));
  return cost::computeTimeNs(target, cost ? cost.getFlopCount().value_or(0) : 0,
                             cost ? getElementKind(cost.getComputeType())
                                  : ElementKind::F32,
                             std::max<int64_t>(bytes, 1));
}

//===----------------------------------------------------------------------===//
// Explanations
//===----------------------------------------------------------------------===//

/// The first value of `op` whose size is not known, if there is one.
static std::optional<std::string> describeUnknownSize(Operation *op) {
  auto find = [&](StringRef what,
                  ArrayRef<Type> types) -> std::optional<std::string> {
    const Type *type =
        llvm::find_if(types, [](Type type) { return !getStaticBytes(type); });
    if (type == types.end())
      return std::nullopt;
    std::string text;
    llvm::raw_string_ostream os(text);
    ShapedType shaped = getTensorType(*type);
    bool isDynamic = shaped && !shaped.hasStaticShape();
    os << "the size of " << what << " " << type - types.begin() << " of '"
       << op->getName() << "', a " << *type << ", is not "
       << (isDynamic ? "static" : "known");
    return text;
  };
  if (auto text = find("operand", getSizedTypes(op->getOperands())))
    return text;
  if (auto text = find("result", getSizedTypes(op->getResults())))
    return text;
  if (isa<CollectiveOpInterface>(op))
    return find("delivered value", getSizedDeliveredTypes(op));
  return std::nullopt;
}

std::string mlir::commsched::explainUnknownCost(OperationCosts &costs,
                                                Operation *op) {
  if (std::optional<std::string> size = describeUnknownSize(op))
    return *size;
  std::string name = "'" + op->getName().getStringRef().str() + "'";
  SmallVector<Region *> regions =
      llvm::to_vector(llvm::make_pointer_range(op->getRegions()));
  if (std::optional<CalleeSummary> callee = CalleeSummary::find(op)) {
    if (!callee->innerBytes)
      return "the function that " + name + " calls calls itself";
    if (Region *body = getCalledBody(op, costs.getSymbolTables()))
      regions.push_back(body);
  }
  for (Region *region : regions)
    for (Operation &nested : region->getOps())
      if (!costs.price(&nested).isKnown())
        return explainUnknownCost(costs, &nested);
  if (getRegionUse(op) == RegionUse::Loop)
    return "how many iterations " + name +
           " has is not known, so that they count as " +
           std::to_string(getTripCount(op).count) + "; '" +
           tripCountAttrName.str() + "' on it gives their number";
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (collective && failed(collective.getProcessGroup(costs.getSymbolTables())))
    return "the group of " + name + " is not known";
  return "the cost of " + name + " is not known";
}
