//===- IssuedOrder.cpp ----------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IssuedOrder.h"

using namespace mlir::commsched::schedule;

IssuedOrder::IssuedOrder(
    const Problem &problem,
    const std::vector<std::pair<StreamId, StreamId>> &exclusive,
    int32_t slackPercent)
    : problem(problem), slackPercent(slackPercent),
      isIssued(problem.numNodes(), 0), endsNs(problem.numNodes(), 0),
      streamNs(problem.numStreams(), 0), exclusiveStreams(problem.numStreams()),
      usersLeft(problem.numBuffers()) {
  issued.reserve(problem.numNodes());
  for (auto [a, b] : exclusive) {
    exclusiveStreams[a].push_back(b);
    exclusiveStreams[b].push_back(a);
  }
  for (BufferId buffer = 0; buffer < problem.numBuffers(); ++buffer) {
    usersLeft[buffer] = static_cast<int32_t>(problem.users(buffer).size());
    if (problem.buffer(buffer).producer == noNode)
      live += problem.buffer(buffer).bytes;
  }
  peak = live;
}

void IssuedOrder::issue(NodeId node) {
  issued.push_back(node);
  isIssued[node] = 1;

  switch (problem.kind(node)) {
  case NodeKind::Compute:
    clockNs += problem.costNs(node);
    computed += problem.costNs(node);
    break;
  case NodeKind::Wait:
    clockNs = std::max(clockNs, endsNs[problem.startOf(node)]);
    break;
  case NodeKind::Start:
  case NodeKind::Blocking: {
    StreamId stream = problem.stream(node);
    endsNs[node] = std::max(clockNs, streamNs[stream]) + collectiveNs(node);
    streamNs[stream] = endsNs[node];
    for (StreamId other : exclusiveStreams[stream])
      streamNs[other] = std::max(streamNs[other], endsNs[node]);
    if (problem.kind(node) == NodeKind::Blocking)
      clockNs = endsNs[node];
    break;
  }
  }

  for (BufferId buffer : problem.buffersMadeBy(node))
    live += problem.buffer(buffer).bytes;
  peak = std::max(peak, live);
  for (BufferId buffer : problem.buffersMadeBy(node))
    if (problem.buffer(buffer).freed && problem.users(buffer).empty())
      live -= problem.buffer(buffer).bytes;
  for (BufferId buffer : problem.buffersUsedBy(node))
    if (--usersLeft[buffer] == 0 && problem.buffer(buffer).freed)
      live -= problem.buffer(buffer).bytes;
}
