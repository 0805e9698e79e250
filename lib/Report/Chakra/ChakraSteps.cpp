//===- ChakraSteps.cpp - What a trace says of each operation --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ChakraSteps.h"

#include "../ReportParts.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;
using schedule::NodeKind;

/// Tags of permutes are above those of sends and receives.
static constexpr int32_t firstPermuteTag = 1 << 30;

static uint64_t roundToMicros(int64_t ns) {
  return (static_cast<uint64_t>(ns) + 500) / 1000;
}

namespace {

class StepReader {
public:
  StepReader(const BlockProblem &block, const ChakraRanks &ranks,
             const schedule::Timeline &timeline)
      : block(block), problem(block.getProblem()), ranks(ranks),
        timeline(timeline), names(block), stepOf(problem.numNodes()) {}

  FailureOr<std::vector<ChakraStep>> read();

private:
  LogicalResult addComputation(NodeId node);
  LogicalResult addCollective(NodeId node);
  LogicalResult readGroup(CollectiveOpInterface op, ChakraStep &step);
  LogicalResult readKind(CollectiveOpInterface op, ChakraStep &step);
  LogicalResult readPeer(Operation *op, int64_t peer,
                         std::optional<int64_t> tag, ChakraStep &step);
  void readPairs(PermuteOp op, ChakraStep &step);
  void add(NodeId node, ChakraStep step);
  /// How long the operation runs beside what is in flight with it.
  int64_t getTakenNs(NodeId node) const {
    return timeline.endNs[node] - timeline.beginNs[node];
  }

  const BlockProblem &block;
  const schedule::Problem &problem;
  const ChakraRanks &ranks;
  const schedule::Timeline &timeline;
  ReportNames names;
  ScanningSymbolTables symbolTables;
  std::vector<ChakraStep> steps;
  /// By node that is a collective.
  std::vector<size_t> stepOf;
  /// Of the computations so far.
  int64_t computeNs = 0;
};

} // namespace

void StepReader::add(NodeId node, ChakraStep step) {
  step.node = node;
  step.name = llvm::json::fixUTF8(names.getOperationName(node));
  step.message.id = 2 * static_cast<uint64_t>(node);
  step.message.startMicros = roundToMicros(timeline.beginNs[node]);
  step.message.runtimeNs = getTakenNs(node);
  stepOf[node] = steps.size();
  steps.push_back(std::move(step));
}

LogicalResult StepReader::addComputation(NodeId node) {
  Operation *op = block.getOperation(node);
  if (isa<CallOpInterface>(op) &&
      getCommunicationEffect(op) != CommunicationEffect::None)
    return op->emitError("cannot be exported: which function it calls is not "
                         "known, and that might communicate");
  if (Operation *inner = findCollective(op)) {
    auto error = op->emitError("cannot be exported: a region of it "
                               "communicates, and how often that runs, and "
                               "what results from it, is known of branches, "
                               "scf.for and scf.while alone");
    error.attachNote(inner->getLoc()) << "the first collective in it";
    return error;
  }
  if (getTakenNs(node) == 0)
    return success();
  // The ends are rounded, so that errors do not add up.
  uint64_t begin = roundToMicros(computeNs);
  computeNs += getTakenNs(node);
  ChakraStep step;
  step.kind = ChakraStep::Kind::Computation;
  step.message.type = chakra::NodeType::Comp;
  step.message.durationMicros = roundToMicros(computeNs) - begin;
  add(node, std::move(step));
  return success();
}

LogicalResult StepReader::readGroup(CollectiveOpInterface op,
                                    ChakraStep &step) {
  auto symbol = dyn_cast<SymbolRefAttr>(op.getGroupKey());
  GroupOp group =
      symbol ? symbolTables.lookupNearestSymbolFrom<GroupOp>(op, symbol)
             : GroupOp();
  std::optional<unsigned> index = group ? ranks.find(group) : std::nullopt;
  if (!index)
    return op.emitError("cannot be exported: the ranks of its group are known "
                        "only if the module declares it by commsched.group, "
                        "but it is ")
           << op.getGroupKey();
  step.group = *index;
  step.message.axes = ranks.getAxes(*index);
  return success();
}

LogicalResult StepReader::readPeer(Operation *op, int64_t peer,
                                   std::optional<int64_t> tag,
                                   ChakraStep &step) {
  if (tag.value_or(0) >= firstPermuteTag)
    return op->emitError("cannot be exported: its tag must be less than ")
           << firstPermuteTag << ", but is " << *tag;
  step.peer = peer;
  step.message.peers.tag = static_cast<int32_t>(tag.value_or(0));
  return success();
}

void StepReader::readPairs(PermuteOp op, ChakraStep &step) {
  auto values = llvm::to_vector(op.getPairs().getValues<int64_t>());
  int64_t size = op.getProcessGroup(symbolTables)->size;
  step.targetOf.assign(size, -1);
  step.sourceOf.assign(size, -1);
  for (size_t pair = 0; pair + 1 < values.size(); pair += 2) {
    // What a rank sends to itself is not communicated.
    if (values[pair] == values[pair + 1])
      continue;
    step.targetOf[values[pair]] = values[pair + 1];
    step.sourceOf[values[pair + 1]] = values[pair];
  }
}

LogicalResult StepReader::readKind(CollectiveOpInterface op, ChakraStep &step) {
  step.kind = ChakraStep::Kind::Collective;
  step.message.type = chakra::NodeType::CommColl;
  switch (op.getCollectiveKind()) {
  case CollectiveKind::AllGather:
    step.message.collective = chakra::CommType::AllGather;
    return success();
  case CollectiveKind::ReduceScatter:
    step.message.collective = chakra::CommType::ReduceScatter;
    return success();
  case CollectiveKind::AllReduce:
    step.message.collective = chakra::CommType::AllReduce;
    return success();
  case CollectiveKind::AllToAll:
    step.message.collective = chakra::CommType::AllToAll;
    return success();
  case CollectiveKind::Broadcast:
    step.message.collective = chakra::CommType::Broadcast;
    return success();
  case CollectiveKind::Barrier:
    step.message.collective = chakra::CommType::Barrier;
    return success();
  case CollectiveKind::Permute:
    if (auto permute = dyn_cast<PermuteOp>(*op)) {
      step.kind = ChakraStep::Kind::Permute;
      readPairs(permute, step);
      return success();
    }
    break;
  case CollectiveKind::Send:
    if (auto send = dyn_cast<SendOp>(*op)) {
      step.kind = ChakraStep::Kind::Send;
      return readPeer(op, send.getTo(), send.getTag(), step);
    }
    break;
  case CollectiveKind::Recv:
    if (auto recv = dyn_cast<RecvOp>(*op)) {
      step.kind = ChakraStep::Kind::Recv;
      return readPeer(op, recv.getFrom(), recv.getTag(), step);
    }
    break;
  case CollectiveKind::Offload:
    step.kind = ChakraStep::Kind::Transfer;
    step.message.type = chakra::NodeType::MemStore;
    return success();
  case CollectiveKind::Reload:
    step.kind = ChakraStep::Kind::Transfer;
    step.message.type = chakra::NodeType::MemLoad;
    return success();
  }
  return op.emitError("cannot be exported: the ranks that it connects are "
                      "known only of operations of the dialect commsched");
}

LogicalResult StepReader::addCollective(NodeId node) {
  auto op = cast<CollectiveOpInterface>(block.getOperation(node));
  ChakraStep step;
  step.stream = problem.stream(node);
  step.isBlocking = problem.kind(node) == NodeKind::Blocking;
  if (!isHostTransfer(op.getCollectiveKind()) && failed(readGroup(op, step)))
    return failure();
  if (failed(readKind(op, step)))
    return failure();
  if (step.kind == ChakraStep::Kind::Permute)
    step.message.peers.tag = firstPermuteTag + node % firstPermuteTag;
  std::optional<int64_t> bytes = step.kind == ChakraStep::Kind::Recv
                                     ? op.getResultBytes()
                                     : op.getOperandBytes();
  if (!bytes)
    return op.emitError("cannot be exported without its size in bytes");
  step.message.bytes = *bytes;
  // A duration of 0 stands for one that is not known.
  if (int64_t ns = getTakenNs(node))
    step.message.durationMicros = std::max<uint64_t>(1, roundToMicros(ns));
  add(node, std::move(step));
  return success();
}

FailureOr<std::vector<ChakraStep>> StepReader::read() {
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (problem.isCollective(node)) {
      if (failed(addCollective(node)))
        return failure();
    } else if (problem.kind(node) == NodeKind::Compute) {
      if (failed(addComputation(node)))
        return failure();
    } else {
      ChakraStep step;
      step.kind = ChakraStep::Kind::Wait;
      step.node = node;
      step.start = stepOf[problem.startOf(node)];
      step.stream = problem.stream(problem.startOf(node));
      steps.push_back(std::move(step));
    }
  }
  return std::move(steps);
}

FailureOr<std::vector<ChakraStep>>
mlir::commsched::readChakraSteps(const BlockProblem &block,
                                 const schedule::Contention &contention,
                                 const ChakraRanks &ranks) {
  const schedule::Problem &problem = block.getProblem();
  Result<schedule::Timeline> timeline =
      schedule::simulate(problem, problem.programOrder(), contention);
  if (!timeline)
    return emitError(block.getOperation(0)->getLoc(),
                     "the function cannot be simulated: ")
           << timeline.error();
  return StepReader(block, ranks, *timeline).read();
}
