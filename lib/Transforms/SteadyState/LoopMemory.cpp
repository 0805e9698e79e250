//===- LoopMemory.cpp - Memory around loops -------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopMemory.h"

#include "../MemoryBudget.h"
#include "CommSched/Schedule/Cyclic/Period.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The bytes of the buffers of `loop`, which is node `node` of `body`, that are
/// counted in it: its results, and initial values that it writes in place and
/// that nothing needs behind it.
static int64_t sumOwnBytes(scf::ForOp loop, NodeId node,
                           const LoopProblem &problem,
                           const BlockProblem &body) {
  const Problem &program = body.getProblem();
  DenseSet<Value> inPlace;
  for (unsigned index : problem.getInPlaceArguments())
    inPlace.insert(loop.getInitArgs()[index]);
  int64_t bytes = 0;
  for (BufferId id : program.buffersMadeBy(node))
    bytes += program.buffer(id).bytes;
  for (BufferId id : program.buffersUsedBy(node)) {
    const Buffer &buffer = program.buffer(id);
    ArrayView<NodeId> users = program.users(id);
    bool isLast = std::all_of(users.begin(), users.end(),
                              [&](NodeId user) { return user <= node; });
    if (buffer.producer != node && buffer.freed && isLast &&
        inPlace.contains(body.getBufferRoot(id)))
      bytes += buffer.bytes;
  }
  return bytes;
}

LogicalResult LoopMemory::addLoop(scf::ForOp loop, OperationCosts &costs,
                                  const BlockProblem &body,
                                  ArrayRef<int64_t> allocatedBytes) {
  FailureOr<std::optional<LoopProblem>> problem =
      LoopProblem::create(loop, costs, [](Location, StringRef) {});
  if (failed(problem))
    return failure();
  if (!*problem)
    return success();
  NodeId node = 0;
  while (body.getOperation(node) != loop)
    ++node;
  int64_t outer =
      allocatedBytes[node] - sumOwnBytes(loop, node, **problem, body);
  const CyclicProblem &cyclic = (*problem)->getProblem();
  outerBytes[loop] = outer;
  peakBytes =
      std::max(peakBytes, outer + computeRunPeak(cyclic, programOrder(cyclic)));
  return success();
}

FailureOr<LoopMemory> LoopMemory::create(func::FuncOp function,
                                         ArrayRef<scf::ForOp> loops,
                                         OperationCosts &costs) {
  LoopMemory memory;
  SmallVector<scf::ForOp> inBody;
  for (scf::ForOp loop : loops)
    if (isBody(function, *loop->getBlock()))
      inBody.push_back(loop);
  if (inBody.empty())
    return memory;
  FailureOr<BlockProblem> body = BlockProblem::create(
      function.front(), [](Operation *) { return 0; }, StreamOrder::Free);
  if (failed(body))
    return failure();
  const Problem &program = body->getProblem();
  Result<MemoryTimeline> timeline =
      simulateMemory(program, program.programOrder());
  if (!timeline)
    return emitError(function.getLoc())
           << "cannot be scheduled: " << timeline.error();
  memory.peakBytes = timeline->peakBytes;
  for (scf::ForOp loop : inBody)
    if (failed(memory.addLoop(loop, costs, *body, timeline->allocatedBytes)))
      return failure();
  return memory;
}

std::optional<int64_t> LoopMemory::getPeakAround(scf::ForOp loop) const {
  return outerBytes.contains(loop) ? std::optional(peakBytes) : std::nullopt;
}
