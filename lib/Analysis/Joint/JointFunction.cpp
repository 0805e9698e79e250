//===- JointFunction.cpp - Joint graph of a function ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Joint/JointFunction.h"
#include "../Problem/Dependences.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::JointNode;
using partition::JointNodeKind;
using partition::NodeId;
using partition::PartitionTag;
using partition::RecomputePolicy;
using schedule::NodeKind;

//===----------------------------------------------------------------------===//
// Recognition of joint functions
//===----------------------------------------------------------------------===//

namespace {

/// Something that only a joint function has, with the text of a note on it.
struct JointMark {
  Location location;
  StringRef text;
};

} // namespace

/// The evidence that `function` holds a forward and its backward. A backward
/// alone takes what its forward saved; a forward alone has no operation of a
/// backward.
static std::optional<JointMark> findJointMark(func::FuncOp function) {
  auto hasRole = [](StringRef role) {
    return [=](BlockArgument argument) { return getRole(argument) == role; };
  };
  auto arguments = function.getArguments();
  if (llvm::any_of(arguments, hasRole(savedActivationRole)))
    return std::nullopt;
  if (auto tangent = llvm::find_if(arguments, hasRole(tangentRole));
      tangent != arguments.end())
    return JointMark{tangent->getLoc(), "this argument is a tangent"};
  Operation *forward = nullptr, *backward = nullptr;
  for (Operation &op : function.getOps()) {
    auto half = op.getAttrOfType<StringAttr>(partitionAttrName);
    if (!half)
      continue;
    bool isForward = half.getValue().ends_with("forward");
    Operation *&first = isForward ? forward : backward;
    first = first ? first : &op;
  }
  if (!forward || !backward)
    return std::nullopt;
  return JointMark{backward->getLoc(),
                   "this operation belongs to the backward, and others to the "
                   "forward"};
}

/// Whether `function` calls its parts, or is called with what another one
/// returns, as all that a partition makes.
static bool isOfPartition(func::FuncOp function) {
  if (!function.getOps<func::CallOp>().empty())
    return true;
  auto uses = SymbolTable::getSymbolUses(function, function->getParentOp());
  return uses && llvm::any_of(*uses, [](SymbolTable::SymbolUse use) {
           auto call = dyn_cast<func::CallOp>(use.getUser());
           return call && llvm::any_of(call.getOperands(), [](Value operand) {
                    return operand.getDefiningOp<func::CallOp>();
                  });
         });
}

bool mlir::commsched::saysForwardOutputs(func::FuncOp function) {
  return function->hasAttr(numForwardOutputsAttrName);
}

bool mlir::commsched::isJointFunction(func::FuncOp function) {
  return saysForwardOutputs(function) ||
         (!function.isExternal() && findJointMark(function) &&
          !isOfPartition(function));
}

//===----------------------------------------------------------------------===//
// Facts about values and operations
//===----------------------------------------------------------------------===//

/// Whether a function can return `value` and another one go on with it.
static bool isSaveable(Value value) {
  // Of a memref that the function makes, only the handle would be saved.
  if (isa<BaseMemRefType>(value.getType()))
    return isa<BlockArgument>(value);
  return isa<ShapedType>(value.getType()) || isNumber(value.getType());
}

/// Bytes of `value` in the device's memory, those of a number included.
static std::optional<int64_t> getBytes(Value value) {
  Type type = getSizedType(value);
  if (isHostType(type))
    return 0;
  return getStaticBytes(isNumber(type) ? RankedTensorType::get({}, type)
                                       : type);
}

/// The text of an attribute that `name` is interned for, empty without it.
static StringRef getString(Operation *op, StringAttr name) {
  auto attr = dyn_cast_if_present<StringAttr>(op->getDiscardableAttr(name));
  return attr ? attr.getValue() : StringRef();
}

static RecomputePolicy getPolicy(StringRef text) {
  return llvm::StringSwitch<RecomputePolicy>(text)
      .Case("must_save", RecomputePolicy::MustSave)
      .Case("prefer_save", RecomputePolicy::PreferSave)
      .Case("prefer_recompute", RecomputePolicy::PreferRecompute)
      .Case("must_recompute", RecomputePolicy::MustRecompute)
      .Default(RecomputePolicy::None);
}

static PartitionTag getTag(StringRef text) {
  return llvm::StringSwitch<PartitionTag>(text)
      .Case("forward", PartitionTag::Forward)
      .Case("backward", PartitionTag::Backward)
      .Case("must_be_forward", PartitionTag::MustBeForward)
      .Case("must_be_backward", PartitionTag::MustBeBackward)
      .Default(PartitionTag::None);
}

//===----------------------------------------------------------------------===//
// Operations that run once
//===----------------------------------------------------------------------===//

namespace {

/// The operations of a block that may be neither repeated nor dropped, since
/// their execution can be observed: in memory, or on another rank. Operations
/// are identified by their index in the block.
struct PinnedOperations {
  /// By operation. It is pinned if it
  ///  * writes memory or a hidden random state, or has unknown effects,
  ///  * reads what another operation writes,
  ///  * makes what is written later,
  ///  * sends, receives, blocks, copies to or from the host, or communicates in
  ///    a way that no interface describes. Other collectives are not pinned:
  ///    all ranks repeat them.
  std::vector<char> isPinned;
  /// Pairs that have to keep their order because of memory, each once, sorted.
  std::vector<std::pair<int32_t, int32_t>> memoryOrder;
};

} // namespace

/// Whether the collective `start` may be neither repeated nor dropped. What was
/// copied to or from the host was so for the sake of memory.
static bool startsOnce(Operation *start) {
  return isPointToPoint(start) ||
         isHostTransfer(cast<CollectiveOpInterface>(start).getCollectiveKind());
}

static bool communicatesOnce(Operation *op) {
  switch (getCommunicationEffect(op)) {
  case CommunicationEffect::None:
    return false;
  case CommunicationEffect::Start:
    return startsOnce(op);
  case CommunicationEffect::Wait: {
    Operation *start = cast<WaitOpInterface>(op).getStart();
    return !start || startsOnce(start);
  }
  case CommunicationEffect::Blocking:
  case CommunicationEffect::Unknown:
    return true;
  }
  llvm_unreachable("unknown communication effect");
}

namespace {

/// The storages that the operations of a block write.
class Writes {
public:
  explicit Writes(const StorageAnalysis &storages)
      : storages(storages), accesses(storages),
        isWritten(storages.getStorages().size()) {}

  /// Whether `op` writes anything.
  bool visit(Operation *op, int32_t index) {
    bool writes = false;
    accesses.visit(op, index, [&](const MemoryAccess &access) {
      if (!access.isWrite)
        return;
      writes = true;
      anywhere |= access.isAnywhere();
      if (access.object != StorageAnalysis::none)
        isWritten[access.object] = 1;
    });
    return writes;
  }

  /// Whether an operation that was visited may write the storage of `value`.
  bool reach(Value value) const {
    int32_t index = storages.getStorage(value);
    if (index == StorageAnalysis::none)
      return false;
    const Storage &storage = storages.getStorages()[index];
    return isWritten[storage.object] || (anywhere && storage.isMemory);
  }

private:
  const StorageAnalysis &storages;
  MemoryAccesses accesses;
  /// By object.
  std::vector<char> isWritten;
  /// Whether an operation with unknown effects may write anything.
  bool anywhere = false;
};

} // namespace

/// Linear in the operations, operands and effects of the block.
static PinnedOperations findPinnedOperations(Block &block,
                                             const StorageAnalysis &storages) {
  // A problem that has no other dependences than those of memory.
  schedule::Problem problem;
  MemoryDependences dependences(problem, storages);
  Writes writes(storages);
  PinnedOperations result;
  for (Operation &op : getScheduledOperations(block)) {
    schedule::NodeId index = problem.addNode(NodeKind::Compute, /*costNs=*/0);
    dependences.visit(&op, index);
    result.isPinned.push_back(writes.visit(&op, index) ||
                              communicatesOnce(&op));
  }
  [[maybe_unused]] const Status &status = problem.finalize();
  assert(status && "dependences lead forwards");
  for (auto [index, op] : llvm::enumerate(getScheduledOperations(block))) {
    auto from = static_cast<schedule::NodeId>(index);
    for (const schedule::DependenceEnd &end : problem.successors(from)) {
      result.memoryOrder.emplace_back(from, end.node);
      result.isPinned[from] = result.isPinned[end.node] = 1;
    }
    if (llvm::any_of(op.getResults(),
                     [&](Value value) { return writes.reach(value); }))
      result.isPinned[from] = 1;
  }
  llvm::sort(result.memoryOrder);
  result.memoryOrder.erase(llvm::unique(result.memoryOrder),
                           result.memoryOrder.end());
  return result;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

namespace mlir::commsched {

/// Builds the graph of one function in one pass over its operations.
class JointFunctionBuilder {
public:
  JointFunctionBuilder(func::FuncOp function,
                       JointFunction::CostFunction getCost)
      : getCost(getCost), storages(function.front()) {
    result.function = function;
    auto intern = [&](StringRef name) {
      return StringAttr::get(function.getContext(), name);
    };
    recomputeName = intern(recomputeAttrName);
    regionName = intern(recomputeRegionAttrName);
    partitionName = intern(partitionAttrName);
    stableName = intern(nameAttrName);
  }

  FailureOr<JointFunction> build();

private:
  LogicalResult addArgument(BlockArgument argument);
  LogicalResult addOperation(Operation *op, bool isPinned);
  LogicalResult addResult(JointNode node, OpResult value, NodeId operation);
  LogicalResult measure(JointNode &node, Value value);
  NodeId addNode(const JointNode &node, Value value, Operation *op,
                 StringAttr name);
  void addUses(Operation *op, NodeId node);
  LogicalResult addFunctionResults();

  JointFunction result;
  JointFunction::CostFunction getCost;
  StorageAnalysis storages;
  llvm::DenseSet<StringAttr> names;
  /// Names of attributes, looked up on every operation.
  StringAttr recomputeName, regionName, partitionName, stableName;
};

} // namespace mlir::commsched

NodeId JointFunctionBuilder::addNode(const JointNode &node, Value value,
                                     Operation *op, StringAttr name) {
  NodeId id = result.graph.addNode(node);
  result.values.push_back(value);
  result.operations.push_back(op);
  if (value)
    result.nodeOf[value] = id;
  while (!names.insert(name).second)
    name =
        StringAttr::get(name.getContext(), name.getValue() + "#" + Twine(id));
  result.names.push_back(name);
  return id;
}

/// Sets the facts that follow from the type and the storage of `value`.
LogicalResult JointFunctionBuilder::measure(JointNode &node, Value value) {
  node.isSaveable = isSaveable(value);
  node.storage = storages.getStorage(value);
  std::optional<int64_t> bytes = getBytes(value);
  node.bytes = bytes.value_or(0);
  if (bytes || !node.isSaveable)
    return success();
  InFlightDiagnostic diag = emitError(value.getLoc());
  if (auto argument = dyn_cast<BlockArgument>(value))
    diag << "argument #" << argument.getArgNumber();
  else
    diag << "result #" << cast<OpResult>(value).getResultNumber() << " of '"
         << value.getDefiningOp()->getName() << "'";
  diag << " of the joint function '" << result.function.getSymName()
       << "' has type " << value.getType()
       << ", whose size is not static: nothing tells what saving it takes";
  return diag;
}

LogicalResult JointFunctionBuilder::addArgument(BlockArgument argument) {
  func::FuncOp function = result.function;
  unsigned index = argument.getArgNumber();
  StringRef role = getRole(argument);
  if (role.empty() || role == savedActivationRole) {
    InFlightDiagnostic diag = emitError(argument.getLoc())
                              << "argument #" << index
                              << " of the joint function '"
                              << function.getSymName() << "' has ";
    if (role.empty())
      diag << "no '" << roleAttrName << "'";
    else
      diag << "the role \"" << role
           << "\", which only arguments of a backward have";
    return diag;
  }
  JointNode node;
  node.kind = role == tangentRole            ? JointNodeKind::Tangent
              : role == backwardRngStateRole ? JointNodeKind::BackwardSeed
                                             : JointNodeKind::Primal;
  node.isStatic = role == parameterRole || role == unshardedParamRole;
  node.isFreeable = mlir::commsched::isFreeable(argument);
  if (failed(measure(node, argument)))
    return failure();
  auto name = function.getArgAttrOfType<StringAttr>(index, nameAttrName);
  if (!name)
    name = StringAttr::get(function.getContext(), "arg" + Twine(index));
  addNode(node, argument, /*op=*/nullptr, name);
  return success();
}

LogicalResult JointFunctionBuilder::addResult(JointNode node, OpResult value,
                                              NodeId operation) {
  node.kind = JointNodeKind::Result;
  node.isPinned = false;
  node.readsDimensions = false;
  // Taking one result of several is computed with anything.
  node.operatorClass = OperatorClass::DataMovement;
  if (failed(measure(node, value)))
    return failure();
  auto name =
      StringAttr::get(value.getContext(), result.getName(operation) + "#" +
                                              Twine(value.getResultNumber()));
  NodeId id = addNode(node, value, value.getOwner(), name);
  result.graph.addUse(operation, id);
  return success();
}

void JointFunctionBuilder::addUses(Operation *op, NodeId node) {
  // Each half makes it from the type.
  if (getStaticDimension(op))
    return;
  visitReads(op, [&](Value value) {
    result.graph.addUse(result.nodeOf.at(value), node);
  });
}

LogicalResult JointFunctionBuilder::addOperation(Operation *op, bool isPinned) {
  JointNode node;
  node.operatorClass =
      getStaticDimension(op) ? OperatorClass::Constant : getOperatorClass(op);
  node.policy = getPolicy(getString(op, recomputeName));
  node.tag = getTag(getString(op, partitionName));
  node.isPinned = isPinned;
  node.readsDimensions = readsOnlyDimensions(op);
  if (auto region = dyn_cast_if_present<IntegerAttr>(
          op->getDiscardableAttr(regionName))) {
    if (!region.getValue().isSignedIntN(32))
      return op->emitOpError()
             << "has '" << recomputeRegionAttrName << "' " << region.getInt()
             << ", but regions are numbered with 32 bits";
    node.region = static_cast<int32_t>(region.getInt());
  }
  JointNode whole = node;
  whole.cost = getCost(op);
  Value value = op->getNumResults() == 1 ? op->getResult(0) : Value();
  if (value && failed(measure(whole, value)))
    return failure();
  auto name =
      dyn_cast_if_present<StringAttr>(op->getDiscardableAttr(stableName));
  if (!name || name.empty())
    name =
        StringAttr::get(op->getContext(), op->getName().getStringRef() + "." +
                                              Twine(result.graph.size()));
  NodeId id = addNode(whole, value, op, name);
  addUses(op, id);
  if (value)
    return success();
  for (OpResult each : op->getResults())
    if (failed(addResult(node, each, id)))
      return failure();
  return success();
}

LogicalResult JointFunctionBuilder::addFunctionResults() {
  Operation *terminator = result.function.front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    int64_t index = operand.getOperandNumber();
    NodeId node = result.getNode(operand.get());
    if (!result.graph[node].isSaveable)
      return terminator->emitOpError()
             << "returns '" << result.getName(node) << "' of type "
             << operand.get().getType() << " as result #" << index
             << ", but a half can return only tensors, numbers and memrefs "
                "that are arguments";
    if (index < result.numForwardOutputs)
      result.graph.addForwardResult(node);
    else
      result.graph.addBackwardResult(node);
  }
  return success();
}

FailureOr<JointFunction> JointFunctionBuilder::build() {
  func::FuncOp function = result.function;
  Block &block = function.front();
  result.numForwardOutputs =
      function->getAttrOfType<IntegerAttr>(numForwardOutputsAttrName).getInt();
  for (BlockArgument argument : block.getArguments())
    if (failed(addArgument(argument)))
      return failure();
  if (failed(verifyOffloadedPolicies(block)) ||
      failed(verifyOffloadedUnchanged(block, storages)))
    return failure();
  PinnedOperations pinned = findPinnedOperations(block, storages);
  SmallVector<NodeId> nodes;
  for (auto [index, op] : llvm::enumerate(getScheduledOperations(block))) {
    nodes.push_back(result.graph.size());
    if (failed(addOperation(&op, pinned.isPinned[index])))
      return failure();
  }
  for (auto [first, second] : pinned.memoryOrder)
    result.graph.addMemoryOrder(nodes[first], nodes[second]);
  if (failed(addFunctionResults()))
    return failure();
  if (Status status = result.graph.finalize(); !status)
    return function.emitOpError("cannot be partitioned: ") << status.error();
  return std::move(result);
}

FailureOr<JointFunction> JointFunction::create(func::FuncOp function,
                                               CostFunction getCost) {
  if (function.isExternal())
    return function.emitOpError(
        "is only declared: there is nothing to partition");
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("has ")
           << function.getBody().getBlocks().size()
           << " blocks, but only a function of one can be partitioned";
  Operation *end = function.front().getTerminator();
  if (!isa<func::ReturnOp>(end))
    return emitOpErrorWithNote(function, end->getLoc(), "it ends here")
           << "does not return: there is nothing to partition";
  if (!function->hasAttr(numForwardOutputsAttrName)) {
    InFlightDiagnostic diag =
        function.emitOpError("has no '")
        << numForwardOutputsAttrName << "' to say how many of its "
        << function.getNumResults() << " results are the forward's";
    if (std::optional<JointMark> mark = findJointMark(function))
      diag.attachNote(mark->location) << mark->text;
    return diag;
  }
  return JointFunctionBuilder(function, getCost).build();
}
