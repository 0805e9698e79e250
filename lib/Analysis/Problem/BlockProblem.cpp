//===- BlockProblem.cpp - Scheduling problem of a block -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "Dependences.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace mlir::commsched {

/// Builds the problem of one block in one pass over its operations.
class BlockProblemBuilder {
public:
  BlockProblemBuilder(Block &block, BlockProblem::CostFunction getCost,
                      StreamOrder streamOrder, ScratchBytes *scratch)
      : getCost(getCost), scratch(scratch), storages(block),
        nodes(result.problem), memory(result.problem, storages),
        communication(result.problem, streamOrder) {
    result.block = &block;
  }

  FailureOr<BlockProblem> build();

private:
  int64_t price(Operation *op);
  void addDataDependences(Operation *op, NodeId node);
  LogicalResult addBuffers();

  BlockProblem result;
  BlockProblem::CostFunction getCost;
  ScratchBytes *scratch;
  StorageAnalysis storages;
  BlockNodes nodes;
  MemoryDependences memory;
  CommunicationDependences communication;
  /// The operation at which the sum of all costs exceeds 64 bits, or null.
  Operation *overflow = nullptr;
};

} // namespace mlir::commsched

/// Whether the time of `op` is given, so that its regions do not count.
static bool hasGivenTime(Operation *op) {
  return getPinnedRuntimeNs(op) || op->hasAttr(measuredNsAttrName);
}

/// Whether `ns` is what is left of a longer time of the regions or the callee
/// of `op`.
static bool isSaturated(Operation *op, int64_t ns) {
  return ns == std::numeric_limits<int64_t>::max() &&
         (op->getNumRegions() != 0 || isa<CallOpInterface>(op)) &&
         !hasGivenTime(op);
}

/// Reports that `op`, which takes `ns`, is too long.
static LogicalResult reportOverflow(Operation *op, int64_t ns) {
  bool isLoop = getRegionUse(op) == RegionUse::Loop && !hasGivenTime(op);
  InFlightDiagnostic diag = op->emitOpError();
  if (!isSaturated(op, ns)) {
    diag << "takes " << ns << " ns";
    if (isLoop)
      diag << " for " << getTripCount(op).count << " iterations";
    return diag << ", which together with the operations before it does not "
                   "fit 64 bits";
  }
  if (isLoop)
    return diag << "runs its body " << getTripCount(op).count
                << " times, and the nanoseconds of that do not fit 64 bits";
  return diag << (isa<CallOpInterface>(op) ? "calls a function" : "has regions")
              << " whose nanoseconds do not fit 64 bits";
}

int64_t BlockProblemBuilder::price(Operation *op) {
  OperationPrice price = getCost(op);
  if (!price.isKnown())
    result.assumed.push_back(op);
  int64_t totalNs;
  if (isSaturated(op, price.timeNs) ||
      llvm::AddOverflow(result.price.timeNs, price.timeNs, totalNs))
    overflow = op;
  result.price.add(price);
  return price.timeNs;
}

void BlockProblemBuilder::addDataDependences(Operation *op, NodeId node) {
  auto addOperands = [&](Operation *user) {
    for (Value operand : user->getOperands()) {
      NodeId producer = nodes.lookup(operand.getDefiningOp());
      // A value of `op` itself that its own region uses is no dependence.
      if (producer != noNode && producer != node)
        result.problem.addDependence(producer, node, DependenceKind::Data);
    }
  };
  if (op->getNumRegions() == 0)
    addOperands(op);
  else
    op->walk(addOperands);
}

LogicalResult BlockProblemBuilder::addBuffers() {
  int64_t totalBytes = 0;
  result.bufferRoots.reserve(storages.getStorages().size());
  result.hostBytes.reserve(storages.getStorages().size());
  for (const Storage &storage : storages.getStorages()) {
    if (!storage.bytes)
      result.unsized.push_back(storage.root);
    int64_t bytes = storage.bytes.value_or(0);
    // One of the two is 0.
    int64_t anywhere = bytes + storage.hostBytes;
    if (llvm::AddOverflow(totalBytes, anywhere, totalBytes))
      return emitError(storage.root.getLoc())
             << "the " << anywhere << " bytes of a " << storage.root.getType()
             << " and those of the values before it do not fit 64 bits";
    result.problem.addBuffer(bytes, storage.producer, storage.freed);
    result.bufferRoots.push_back(storage.root);
    result.hostBytes.push_back(storage.hostBytes);
  }
  for (NodeId node = 0, end = result.problem.numNodes(); node < end; ++node) {
    for (int32_t storage : storages.getUses(node))
      result.problem.addUse(storage, node);
    for (int32_t storage : storages.getTakenOver(node))
      result.takers[storage] = result.operations[node];
  }
  for (auto [node, op] : llvm::enumerate(result.operations)) {
    int64_t bytes = computeScratchBytes(op, scratch);
    if (bytes == 0)
      continue;
    if (llvm::AddOverflow(totalBytes, bytes, totalBytes))
      return op->emitOpError("has ")
             << bytes << " bytes live in "
             << (isa<CallOpInterface>(op) ? "its callee" : "its regions")
             << ", which together with the values of its block do not fit 64 "
                "bits";
    result.problem.addBuffer(bytes, static_cast<NodeId>(node),
                             /*freed=*/true);
    result.bufferRoots.push_back(Value());
    result.hostBytes.push_back(0);
  }
  return success();
}

FailureOr<BlockProblem> BlockProblemBuilder::build() {
  size_t numOps = storages.getNumOperations();
  result.operations.reserve(numOps);
  for (Operation &op : getScheduledOperations(*result.block)) {
    CommunicationEffect effect = getCommunicationEffect(&op);
    CommunicationEffect inBlock = getEffectInBlock(&op);
    int64_t costNs = effect == CommunicationEffect::Wait ? 0 : price(&op);
    NodeId node = nodes.add(&op, inBlock, costNs);
    if (inBlock != effect) {
      effect = CommunicationEffect::Unknown;
      if (!result.halfOfPair && isInFlightAcrossBlock(&op))
        result.halfOfPair = &op;
    }
    if (overflow)
      return reportOverflow(&op, result.problem.costNs(node));
    result.operations.push_back(&op);
    addDataDependences(&op, node);
    memory.visit(&op, node);
    if (failed(communication.visit(&op, node, effect)))
      return failure();
  }
  result.streams = nodes.takeStreams();
  if (failed(addBuffers()))
    return failure();
  if (const Status &status = result.problem.finalize(); !status)
    return emitError(result.block->getParentOp()->getLoc())
           << "cannot be scheduled: " << status.error();
  return std::move(result);
}

FailureOr<BlockProblem> BlockProblem::create(Block &block, CostFunction getCost,
                                             StreamOrder streamOrder,
                                             ScratchBytes *scratch) {
  return BlockProblemBuilder(block, getCost, streamOrder, scratch).build();
}

FailureOr<BlockProblem> BlockProblem::create(Block &block,
                                             StreamOrder streamOrder) {
  return create(
      block, [](Operation *) { return OperationPrice(); }, streamOrder);
}

bool BlockProblem::apply(const schedule::Order &order) const {
  bool moved = false;
  for (auto [position, node] : llvm::enumerate(order))
    moved |= static_cast<NodeId>(position) != node;
  if (!moved)
    return false;
  // Behind the last operation stands the terminator, or nothing.
  for (NodeId node : order)
    operations[node]->remove();
  auto place = block->begin();
  for (NodeId node : order)
    block->getOperations().insert(place, operations[node]);
  return true;
}

//===----------------------------------------------------------------------===//
// Obstacles
//===----------------------------------------------------------------------===//

std::optional<BlockObstacle>
mlir::commsched::getObstacle(const BlockProblem &block) {
  if (Operation *op = block.getHalfOfPair())
    return BlockObstacle{op->getLoc(),
                         ("the collective of '" + op->getName().getStringRef() +
                          "' is in flight across the boundary of the block")
                             .str()};
  return std::nullopt;
}

std::string mlir::commsched::explainUnknownSize(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "the size of a " << value.getType() << " is not known";
  if (countDynamicDims(value.getType()) > 0)
    os << "; '" << sizeHintsAttrName << "' may give it";
  return text;
}

//===----------------------------------------------------------------------===//
// Fixed order of collectives
//===----------------------------------------------------------------------===//

LogicalResult mlir::commsched::verifyCollectiveOrder(Operation *earlier,
                                                     Operation *later) {
  int64_t first = *getCollectiveOrder(earlier);
  int64_t second = *getCollectiveOrder(later);
  if (first < second)
    return success();
  return emitOpErrorWithNote(later, earlier->getLoc(),
                             "that collective is here")
         << "has " << orderAttrName << " " << second
         << ", but starts after a collective with " << first;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

StreamId BlockNodes::getStream(Operation *collective) {
  Attribute key = getStreamKey(cast<CollectiveOpInterface>(collective));
  auto [it, inserted] =
      streamOf.try_emplace(key, static_cast<StreamId>(streams.size()));
  if (inserted) {
    streams.push_back(key);
    collectives.push_back(collective);
    starts.emplace_back();
  }
  return it->second;
}

/// Lets `node`, which is that of `op`, begin when the streams of collectives
/// inside are idle. No start or wait crosses it, so that what is in flight is
/// what was started before.
void BlockNodes::findStreamsIdle(Operation *op, NodeId node) {
  for (Attribute key : findStreamsInside(op)) {
    auto it = streamOf.find(key);
    if (it == streamOf.end())
      continue;
    for (NodeId start : std::exchange(starts[it->second], {}))
      problem.addDependence(start, node, DependenceKind::Stream);
  }
}

NodeId BlockNodes::add(Operation *op, CommunicationEffect effect,
                       int64_t costNs) {
  NodeId &node = nodeOf[op];
  switch (effect) {
  case CommunicationEffect::Wait:
    return node = problem.addWait(lookup(cast<WaitOpInterface>(op).getStart()));
  case CommunicationEffect::Start:
    node = problem.addNode(NodeKind::Start, costNs, getStream(op));
    starts[problem.stream(node)].push_back(node);
    return node;
  case CommunicationEffect::Blocking:
    return node = problem.addNode(NodeKind::Blocking, costNs, getStream(op));
  case CommunicationEffect::None:
  case CommunicationEffect::Unknown:
    break;
  }
  node = problem.addNode(NodeKind::Compute, costNs);
  if (effect == CommunicationEffect::Unknown)
    findStreamsIdle(op, node);
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.isExpensive())
    problem.setExpensive(node);
  return node;
}

CommunicationEffect mlir::commsched::getEffectInBlock(Operation *op) {
  CommunicationEffect effect = getCommunicationEffect(op);
  bool isStart = effect == CommunicationEffect::Start;
  if (!(isStart || effect == CommunicationEffect::Wait) || !isHalfOfPair(op))
    return effect;
  return isStart ? CommunicationEffect::Blocking : CommunicationEffect::None;
}

bool mlir::commsched::isInFlightAcrossBlock(Operation *op) {
  if (!isHalfOfPair(op))
    return false;
  // A loop of the block takes the future, or has made it.
  auto isLoop = [&](Operation *other) {
    return other && other->getBlock() == op->getBlock() &&
           isSteadyStateConstruct(other);
  };
  if (auto wait = dyn_cast<WaitOpInterface>(op))
    return !isLoop(wait.getAwaitedFuture().getDefiningOp());
  Value future = cast<CollectiveOpInterface>(op).getInFlightFuture();
  return !llvm::all_of(future.getUsers(), isLoop);
}
