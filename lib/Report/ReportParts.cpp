//===- ReportParts.cpp - Names and memory in reports ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ReportParts.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// A group that is a matrix of ranks, by its first row: "ranks 0-7", or
/// "ranks 0, 8, 16, 24, ..." of which the first four are named. Empty for other
/// keys.
static std::string getNameOfRanks(Attribute key) {
  auto parts = dyn_cast<ArrayAttr>(key);
  auto matrix =
      dyn_cast<DenseIntElementsAttr>(parts && !parts.empty() ? parts[0] : key);
  if (!matrix || matrix.getType().getRank() != 2 || matrix.empty())
    return {};
  SmallVector<int64_t> ranks;
  auto element = matrix.getValues<APInt>().begin();
  for (int64_t i = 0, size = matrix.getType().getDimSize(1); i < size; ++i)
    ranks.push_back((*element++).getSExtValue());
  std::string text = "ranks ";
  llvm::raw_string_ostream os(text);
  bool isRange = ranks.size() > 2;
  for (auto [index, rank] : llvm::enumerate(ranks))
    isRange &= rank == ranks[0] + static_cast<int64_t>(index);
  if (isRange) {
    os << ranks.front() << "-" << ranks.back();
    return text;
  }
  constexpr size_t mostNamed = 4;
  llvm::interleaveComma(ArrayRef(ranks).take_front(mostNamed), os);
  os << (ranks.size() > mostNamed ? ", ..." : "");
  return text;
}

std::string mlir::commsched::getGroupName(Attribute key) {
  if (std::string name = getNameOfRanks(key); !name.empty())
    return name;
  if (auto symbol = dyn_cast<SymbolRefAttr>(key))
    return makePrintable(symbol.getLeafReference());
  if (auto name = dyn_cast<StringAttr>(key))
    return makePrintable(name.getValue());
  if (auto stream = dyn_cast<StreamAttr>(key))
    return stream.getName().str();
  // That of a stream: a group and an implementation.
  if (auto stream = dyn_cast<ArrayAttr>(key); stream && stream.size() == 2)
    if (auto implementation = dyn_cast<StringAttr>(stream[1]))
      return getGroupName(stream[0]) + " (" +
             makePrintable(implementation.getValue()) + ")";
  return makePrintable(llvm::to_string(key));
}

std::string mlir::commsched::getOperationName(Operation *op) {
  if (StringRef name = getStableName(op); !name.empty())
    return makePrintable(name);
  if (auto compute = dyn_cast<ComputeOp>(op))
    return makePrintable(compute.getCallee());
  if (auto call = dyn_cast<CallOpInterface>(op))
    if (auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
      return "@" + makePrintable(symbol.getLeafReference());
  return op->getName().getStringRef().str();
}

ReportNames::ReportNames(const BlockProblem &block, size_t numBefore)
    : block(block), numBefore(numBefore) {
  const Problem &problem = block.getProblem();
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.isCollective(node))
      collectives.push_back(node);
}

std::string ReportNames::getOperationName(NodeId node) const {
  Operation *op = block.getOperation(node);
  if (!block.getProblem().isCollective(node))
    return mlir::commsched::getOperationName(op);
  auto index = llvm::lower_bound(collectives, node) - collectives.begin();
  return getCollectiveName(cast<CollectiveOpInterface>(op),
                           static_cast<unsigned>(numBefore + index));
}

std::string ReportNames::getBufferName(BufferId buffer) const {
  Value root = block.getBufferRoot(buffer);
  if (!root)
    return getOperationName(block.getProblem().buffer(buffer).producer) +
           " (inside)";
  auto result = dyn_cast<OpResult>(root);
  if (!result)
    return getArgumentName(cast<BlockArgument>(root));
  // The buffer of a collective is a result of its wait. The buffer of a resize
  // belongs to the operation that made the memref.
  const Problem &problem = block.getProblem();
  NodeId producer = problem.buffer(buffer).producer;
  std::string name = producer != noNode && problem.isCollective(producer)
                         ? getOperationName(producer)
                         : mlir::commsched::getOperationName(result.getOwner());
  if (unsigned number = result.getResultNumber())
    name += "#" + std::to_string(number);
  return name;
}

StringRef ReportNames::getBufferRule(BufferId buffer) const {
  Value root = block.getBufferRoot(buffer);
  if (!root)
    return "inside";
  auto isLoop = [](Operation *op) {
    return op->getNumRegions() != 0 && getRegionUse(op) == RegionUse::Loop;
  };
  if (Operation *taker = block.getTaker(buffer))
    return isLoop(taker) ? "loop" : "update";
  const Problem &problem = block.getProblem();
  auto result = dyn_cast<OpResult>(root);
  if (!result)
    return problem.buffer(buffer).freed ? "freeable_argument" : "argument";
  NodeId producer = problem.buffer(buffer).producer;
  if (producer != noNode && problem.isCollective(producer))
    return "collective";
  return isLoop(result.getOwner()) ? "loop" : "result";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Returns the moves that a pass has recorded on `op`, in printable form.
static std::optional<ReorderInfo> getPrintableReorderInfo(Operation *op) {
  std::optional<ReorderInfo> info = getReorderInfo(op);
  if (info) {
    info->limitingFactor = makePrintable(info->limitingFactor);
    info->pass = makePrintable(info->pass);
    info->movesInfo = makePrintable(info->movesInfo);
    info->overlapInfo = makePrintable(info->overlapInfo);
  }
  return info;
}

void mlir::commsched::addCollective(StepReport &step, const Problem &problem,
                                    NodeId node, Operation *start,
                                    Operation *wait, std::string name,
                                    const Timeline &timeline,
                                    BlockPlace place) {
  auto op = cast<CollectiveOpInterface>(start);
  CollectiveReport &report = step.collectives.emplace_back();
  report.name = std::move(name);
  if (auto origin = getOrigin(start); origin.size() > 1)
    for (ArrayRef<StringRef> member : origin)
      report.members.push_back(makePrintable(member.front()));
  report.kind = stringifyCollectiveKind(op.getCollectiveKind());
  report.group = getGroupName(op.getGroupKey());
  if (StringAttr implementation = getImplementation(op))
    report.implementation = makePrintable(implementation.getValue());
  report.isTransfer = isHostTransfer(op.getCollectiveKind());
  report.bytes = std::max(op.getOperandBytes().value_or(0),
                          op.getResultBytes().value_or(0));
  report.areBytesExpected =
      countDynamicDims(op.getSentValues().getTypes()) > 0 ||
      countDynamicDims(op.getDeliveredTypes()) > 0;
  report.start = start;
  report.startNs = place.beginNs + timeline.beginNs[node];
  report.endNs = place.beginNs + timeline.endNs[node];
  report.startReorder = getPrintableReorderInfo(op);
  NodeId waitNode = problem.waitOf(node);
  // What finds the stream idle may stand still for it before the wait does.
  if (!wait || timeline.exposedNs[waitNode] < timeline.exposedNs[node])
    report.waitNs = report.endNs - timeline.exposedNs[node];
  else
    report.waitNs = place.beginNs + timeline.beginNs[waitNode];
  if (wait)
    report.waitReorder = getPrintableReorderInfo(wait);
  report.iterations = place.iterations;
  report.exposedNs =
      saturatingMultiply(timeline.exposedNs[node], place.iterations);
  int64_t &total = report.isTransfer ? step.transferBytes : step.commBytes;
  total =
      saturatingAdd(total, saturatingMultiply(report.bytes, place.iterations));
}

void mlir::commsched::addTimes(StepReport &report) {
  report.computeTimeNs = report.evidence.price.computeNs;
  report.commTimeNs = report.evidence.price.commNs;
  report.exposedCommNs = report.stepTimeNs - report.computeTimeNs;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Fills in the live bytes over time. An operation allocates when it issues.
static void addSamples(StepReport &report, const Problem &problem,
                       const Timeline &timeline, const MemoryTimeline &memory) {
  report.memory.push_back({0, memory.initialBytes});
  int64_t now = 0;
  auto add = [&](int64_t timeNs, int64_t bytes) {
    if (report.memory.back().bytes == bytes)
      return;
    if (report.memory.back().timeNs == timeNs &&
        report.memory.back().bytes < bytes)
      report.memory.back().bytes = bytes;
    else
      report.memory.push_back({timeNs, bytes});
  };
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    add(now, memory.allocatedBytes[node]);
    // A start lets the compute stream go on at once.
    if (problem.kind(node) != NodeKind::Start)
      now = timeline.endNs[node];
    add(now, memory.remainingBytes[node]);
  }
}

/// Fills in the largest of what is live at the peak.
static void addPeakValues(StepReport &report, const Problem &problem,
                          ArrayRef<BufferId> live,
                          function_ref<NamedBuffer(BufferId)> locate) {
  SmallVector<BufferId> largest;
  llvm::copy_if(live, std::back_inserter(largest),
                [&](BufferId id) { return problem.buffer(id).bytes > 0; });
  size_t count = std::min(largest.size(), StepReport::maxPeakValues);
  std::partial_sort(largest.begin(), largest.begin() + count, largest.end(),
                    [&](BufferId a, BufferId b) {
                      return std::make_pair(-problem.buffer(a).bytes, a) <
                             std::make_pair(-problem.buffer(b).bytes, b);
                    });
  largest.resize(count);
  for (BufferId id : largest) {
    const schedule::Buffer &buffer = problem.buffer(id);
    LiveValue &value = report.peakValues.emplace_back();
    auto [names, known] = locate(id);
    value.name = names.getBufferName(known);
    value.bytes = buffer.bytes;
    value.rule = names.getBufferRule(known);
    if (buffer.producer != noNode)
      value.producer = buffer.producer;
  }
}

/// Fills in the buffers, by the rules of simulateMemory().
static void addBuffers(StepReport &report, const Problem &problem,
                       const Timeline &timeline,
                       function_ref<NamedBuffer(BufferId)> locate) {
  // When the compute stream reaches each operation, as in addSamples().
  std::vector<int64_t> reachedNs(problem.numNodes() + 1);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    reachedNs[node + 1] = problem.kind(node) == NodeKind::Start
                              ? reachedNs[node]
                              : timeline.endNs[node];
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const schedule::Buffer &buffer = problem.buffer(id);
    if (buffer.bytes == 0)
      continue;
    NodeId last = buffer.producer;
    for (NodeId user : problem.users(id))
      last = std::max(last, user);
    bool isKept = !buffer.freed || last == noNode;
    auto [names, known] = locate(id);
    report.buffers.push_back(
        {names.getBufferName(known), buffer.bytes,
         buffer.producer == noNode ? 0 : reachedNs[buffer.producer],
         isKept ? timeline.stepNs : reachedNs[last + 1]});
  }
  llvm::stable_sort(report.buffers,
                    [](const BufferReport &a, const BufferReport &b) {
                      return a.beginNs < b.beginNs;
                    });
}

/// The most bytes that are live in the host's memory at a time.
static int64_t computeHostPeak(const Problem &problem,
                               function_ref<NamedBuffer(BufferId)> locate) {
  Problem host;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    host.addNode(NodeKind::Compute, 0);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const schedule::Buffer &buffer = problem.buffer(id);
    auto [names, known] = locate(id);
    host.addBuffer(names.getHostBytes(known), buffer.producer, buffer.freed);
    for (NodeId user : problem.users(id))
      host.addUse(id, user);
  }
  host.finalize();
  return simulateMemory(host, host.programOrder())->peakBytes;
}

FailureOr<SimulatedProgram> mlir::commsched::simulateProgram(
    Location loc, const Problem &problem,
    const schedule::Contention &contention,
    std::optional<schedule::SegmentKind> allocator) {
  auto fail = [&](const std::string &reason) {
    return emitError(loc, "cannot be simulated: ") << reason;
  };
  schedule::Order order = problem.programOrder();
  Result<Timeline> timeline = simulate(problem, order, contention);
  Result<MemoryTimeline> memory = simulateMemory(problem, order);
  if (!timeline || !memory)
    return fail(!timeline ? timeline.error() : memory.error());
  SimulatedProgram result{std::move(*timeline), std::move(*memory), {}};
  if (!allocator)
    return result;
  Result<schedule::ReservedMemory> reserved =
      replayAllocations(problem, order, result.timeline, *allocator);
  if (!reserved)
    return fail(reserved.error());
  result.reserved = *reserved;
  return result;
}

void mlir::commsched::addSimulated(StepReport &report, const Problem &problem,
                                   const SimulatedProgram &simulated,
                                   function_ref<NamedBuffer(BufferId)> locate,
                                   bool withBuffers) {
  const auto &[timeline, memory, reserved] = simulated;
  report.stepTimeNs = timeline.stepNs;
  report.slowdownNs = saturatingAdd(report.slowdownNs, timeline.slowdownNs);
  report.reserved = reserved;
  report.peakMemoryBytes = memory.peakBytes;
  report.peakPosition = memory.peakPosition;
  addSamples(report, problem, timeline, memory);
  // It accepts what simulateMemory() accepts.
  addPeakValues(report, problem,
                *findLive(problem, problem.programOrder(), memory.peakPosition),
                locate);
  if (withBuffers)
    addBuffers(report, problem, timeline, locate);
  report.hostPeakBytes = computeHostPeak(problem, locate);
}
