//===- LoopProblem.cpp - Cyclic problem of a loop -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Cyclic/LoopProblem.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Buffer;
using schedule::BufferId;
using schedule::CyclicProblem;
using schedule::DependenceEnd;
using schedule::DependenceKind;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::noNode;
using schedule::Problem;

/// Returns whether every value that the loop yields comes from the same
/// iteration, or is passed through at its own place; else calls `decline`.
static bool carriesOneIteration(scf::ForOp loop,
                                LoopProblem::DeclineFunction decline) {
  for (auto [index, value] : llvm::enumerate(loop.getYieldedValues())) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != loop.getBody() ||
        argument == loop.getRegionIterArg(index))
      continue;
    decline(loop.getBody()->getTerminator()->getLoc(),
            "yields an argument of its body as another one, which is then two "
            "iterations old");
    return false;
  }
  return true;
}

static bool hasFuture(TypeRange types) {
  return llvm::any_of(types, [](Type type) { return isa<FutureType>(type); });
}

/// Returns a copy of the loop, directly behind it, whose body is two copies of
/// that of `loop`.
static scf::ForOp cloneTwice(scf::ForOp loop) {
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  auto twice = cast<scf::ForOp>(builder.clone(*loop));
  IRMapping mapping;
  for (auto [argument, value] :
       llvm::zip_equal(twice.getRegionIterArgs(), twice.getYieldedValues()))
    mapping.map(argument, value);
  Operation *terminator = twice.getBody()->getTerminator();
  SmallVector<Operation *> first = llvm::map_to_vector(
      twice.getBody()->without_terminator(), [](Operation &op) { return &op; });
  builder.setInsertionPoint(terminator);
  for (Operation *op : first)
    builder.clone(*op, mapping);
  for (OpOperand &operand : terminator->getOpOperands())
    operand.set(mapping.lookupOrDefault(operand.get()));
  return twice;
}

namespace {

/// Reads the problem of one iteration from that of two.
class IterationReader {
public:
  /// `block` is the problem of the two copies, the body of a loop.
  IterationReader(Block *twice, const BlockProblem &block)
      : twice(twice), block(block), both(block.getProblem()),
        numNodes(both.numNodes() / 2) {}

  CyclicProblem read() {
    Problem body;
    addNodes(body);
    std::vector<std::pair<NodeId, DependenceEnd>> carried;
    for (NodeId node = 0; node < numNodes; ++node)
      for (DependenceEnd end : both.successors(node)) {
        bool isWait =
            both.startOf(end.node) == node && end.kind == DependenceKind::Data;
        if (end.node >= numNodes)
          carried.push_back({node, end});
        else if (!isWait)
          body.addDependence(node, end.node, end.kind);
      }
    std::vector<std::pair<BufferId, NodeId>> carriedUses;
    addBuffers(body, carriedUses);
    body.finalize();
    CyclicProblem result(std::move(body));
    for (auto [node, end] : carried)
      result.addDependence(node, end.node - numNodes, end.kind,
                           /*distance=*/1);
    for (auto [buffer, user] : carriedUses)
      result.addUse(buffer, user, /*distance=*/1);
    return result;
  }

  /// For LoopProblem::getInPlaceArguments().
  SmallVector<unsigned> takeInPlaceArguments() { return std::move(inPlace); }

private:
  void addNodes(Problem &body) {
    for (NodeId node = 0; node < numNodes; ++node) {
      if (both.kind(node) == NodeKind::Wait) {
        body.addWait(both.startOf(node));
        continue;
      }
      body.addNode(both.kind(node), both.costNs(node), both.stream(node));
      if (both.isExpensive(node))
        body.setExpensive(node);
    }
  }

  /// Whether the buffer is the one of a carried value before the first of the
  /// two iterations, and another one is there after it.
  bool isReplaced(BufferId id) const {
    auto argument = dyn_cast<BlockArgument>(block.getBufferRoot(id));
    if (!argument || argument.getOwner() != twice)
      return false;
    ArrayView<NodeId> users = both.users(id);
    return std::none_of(users.begin(), users.end(),
                        [&](NodeId user) { return user >= numNodes; });
  }

  void addBuffers(Problem &body,
                  std::vector<std::pair<BufferId, NodeId>> &carriedUses) {
    for (BufferId id = 0; id < both.numBuffers(); ++id) {
      const Buffer &buffer = both.buffer(id);
      if (buffer.producer >= numNodes ||
          (buffer.producer == noNode && isReplaced(id)))
        continue;
      auto argument = dyn_cast<BlockArgument>(block.getBufferRoot(id));
      if (argument && argument.getOwner() == twice)
        // The first argument counts the iterations.
        inPlace.push_back(argument.getArgNumber() - 1);
      bool isFreed = buffer.freed && buffer.producer != noNode;
      BufferId added = body.addBuffer(buffer.bytes, buffer.producer, isFreed);
      for (NodeId user : both.users(id)) {
        if (user < numNodes)
          body.addUse(added, user);
        else if (buffer.producer == noNode)
          body.addUse(added, user - numNodes);
        else
          carriedUses.push_back({added, user - numNodes});
      }
    }
  }

  Block *twice;
  const BlockProblem &block;
  const Problem &both;
  NodeId numNodes;
  SmallVector<unsigned> inPlace;
};

} // namespace

FailureOr<std::optional<LoopProblem>>
LoopProblem::create(scf::ForOp loop, OperationCosts &costs,
                    DeclineFunction decline) {
  using Outcome = std::optional<LoopProblem>;
  if (!carriesOneIteration(loop, decline))
    return Outcome();
  if (hasFuture(loop.getBody()->getArgumentTypes())) {
    decline(loop.getLoc(),
            "has collectives in flight from one iteration to the next already");
    return Outcome();
  }
  scf::ForOp twice = cloneTwice(loop);
  llvm::scope_exit erase([&] { twice.erase(); });
  FailureOr<BlockProblem> block = BlockProblem::create(
      *twice.getBody(), [&](Operation *op) { return costs.getRuntimeNs(op); },
      StreamOrder::Free);
  if (failed(block))
    return failure();
  if (Operation *op = block->getUnpriced())
    return emitError(op->getLoc(), "cannot be scheduled without its time: ")
           << *getUnpricedReason(*block, costs)
           << "; run commsched-estimate-runtime where sizes are static, or set "
              "commsched.runtime_ns on it";
  if (std::optional<BlockObstacle> obstacle = getObstacle(*block)) {
    decline(obstacle->location, obstacle->reason);
    return Outcome();
  }
  IterationReader reader(twice.getBody(), *block);
  LoopProblem result(reader.read());
  result.inPlaceArguments = reader.takeInPlaceArguments();
  if (Status status = result.problem.check(); !status)
    return emitError(loop.getLoc())
           << "cannot be scheduled: " << status.error();
  for (Operation &op : loop.getBody()->without_terminator())
    result.operations.push_back(&op);
  result.streams.assign(block->getStreams().begin(), block->getStreams().end());
  return Outcome(std::move(result));
}
