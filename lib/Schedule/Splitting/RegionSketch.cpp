//===- RegionSketch.cpp - Gain of splitting one region --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Splitting/RegionSketch.h"

#include "CommSched/Schedule/Model/Simulator.h"

#include "../Step/ListScheduling.h"
#include "SplitBuilder.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// The problem of the region
//===----------------------------------------------------------------------===//

namespace {

/// Copies the members of a region, with dense indices of their own.
class RegionExtractor {
public:
  RegionExtractor(const Problem &problem, const SplitSpec &spec)
      : problem(problem), spec(spec) {}

  /// Error: a member or buffer is none of the problem; members are not in
  /// ascending order, or a start or wait is without the other one.
  Status extract();

  Problem region;
  /// The spec in the indices of the region.
  SplitSpec local;

private:
  template <typename T> static int32_t find(const std::vector<T> &sorted, T id);
  Status addNodes();
  void addDependences();
  void addBuffers();
  void addBuffer(BufferId id);
  void addSlice(const SplitSpec::Slice &slice);
  std::vector<NodeId> localize(const std::vector<NodeId> &users) const;

  const Problem &problem;
  const SplitSpec &spec;
  std::vector<NodeId> nodes;
  std::vector<BufferId> buffers;
  /// By stream of the region: that of the problem.
  std::vector<StreamId> streams;
};

} // namespace

/// The index of `id`, or -1.
template <typename T>
int32_t RegionExtractor::find(const std::vector<T> &sorted, T id) {
  auto it = std::lower_bound(sorted.begin(), sorted.end(), id);
  return it == sorted.end() || *it != id
             ? -1
             : static_cast<int32_t>(it - sorted.begin());
}

Status RegionExtractor::addNodes() {
  for (const SplitSpec::Member &member : spec.members) {
    NodeId node = member.node;
    if (node < 0 || node >= problem.numNodes() ||
        (!nodes.empty() && node <= nodes.back()))
      return Error{"the region has node " + std::to_string(node) +
                   " out of range or order"};
    nodes.push_back(node);
    if (problem.isCollective(node))
      streams.push_back(problem.stream(node));
  }
  std::sort(streams.begin(), streams.end());
  streams.erase(std::unique(streams.begin(), streams.end()), streams.end());
  for (NodeId node : nodes) {
    if (problem.kind(node) != NodeKind::Wait) {
      region.addNode(problem.kind(node), problem.costNs(node),
                     problem.isCollective(node)
                         ? find(streams, problem.stream(node))
                         : noStream);
      continue;
    }
    int32_t start = find(nodes, problem.startOf(node));
    if (start < 0)
      return Error{"the region has " + problem.describe(node) + " without " +
                   problem.describe(problem.startOf(node))};
    region.addWait(start);
  }
  return Status::success();
}

void RegionExtractor::addDependences() {
  for (NodeId from : nodes)
    for (DependenceEnd end : problem.successors(from))
      if (int32_t to = find(nodes, end.node);
          to >= 0 && problem.startOf(end.node) != from)
        region.addDependence(find(nodes, from), to, end.kind);
}

void RegionExtractor::addBuffer(BufferId id) {
  const Buffer &buffer = problem.buffer(id);
  NodeId producer =
      buffer.producer == noNode ? noNode : find(nodes, buffer.producer);
  region.addBuffer(buffer.bytes, producer, buffer.freed);
}

void RegionExtractor::addBuffers() {
  for (NodeId node : nodes) {
    for (BufferId id : problem.buffersMadeBy(node))
      buffers.push_back(id);
    for (BufferId id : problem.buffersUsedBy(node))
      buffers.push_back(id);
  }
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  for (BufferId id : buffers)
    addBuffer(id);
  for (NodeId node : nodes)
    for (BufferId id : problem.buffersUsedBy(node))
      region.addUse(find(buffers, id), find(nodes, node));
}

/// The users that are members.
std::vector<NodeId>
RegionExtractor::localize(const std::vector<NodeId> &users) const {
  std::vector<NodeId> members;
  for (NodeId user : users)
    if (NodeId member = find(nodes, user); member >= 0)
      members.push_back(member);
  return members;
}

void RegionExtractor::addSlice(const SplitSpec::Slice &slice) {
  SplitSpec::Slice copy = slice;
  copy.users = localize(slice.users);
  copy.producer = noNode;
  if (slice.producer != noNode)
    copy.producer = find(nodes, slice.producer);
  if (copy.producer != noNode) {
    copy.source = find(buffers, slice.source);
  } else {
    // What comes from outside is an argument here, even if a member made the
    // buffer.
    copy.source = region.addBuffer(0, noNode, /*freed=*/false);
    for (NodeId user : copy.users)
      region.addUse(copy.source, user);
  }
  local.slices.push_back(copy);
}

Status RegionExtractor::extract() {
  if (!problem.check())
    return problem.check();
  if (Status status = addNodes(); !status)
    return status;
  addDependences();
  addBuffers();
  local.chunks = spec.chunks;
  for (const SplitSpec::Member &member : spec.members)
    local.members.push_back({find(nodes, member.node), member.chunkCostNs});
  for (const SplitSpec::ChunkBuffer &buffer : spec.buffers)
    local.buffers.push_back({find(buffers, buffer.buffer), buffer.chunkBytes});
  for (const SplitSpec::Whole &whole : spec.wholes)
    local.wholes.push_back(
        {find(nodes, whole.producer), find(buffers, whole.source), whole.costNs,
         whole.bytes, whole.freed, localize(whole.users), whole.isWritten});
  for (const SplitSpec::Slice &slice : spec.slices)
    addSlice(slice);
  return region.finalize();
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// The step of a problem in the better of two orders: that of the program, or a
/// topological one, and list scheduling by it.
static Result<int64_t> findStep(const Problem &problem) {
  Result<Timeline> timeline = simulate(problem, problem.topologicalOrder());
  if (!timeline)
    return Error{timeline.error()};
  return std::min(timeline->stepNs,
                  scheduleByRank(problem, rankByProgram(problem)).stepNs);
}

Result<RegionSketch> schedule::sketchRegion(const Problem &problem,
                                            const SplitSpec &spec) {
  RegionExtractor extractor(problem, spec);
  if (Status status = extractor.extract(); !status)
    return status;
  Result<SplitProblem> split =
      SplitProblem::create(extractor.region, {extractor.local});
  if (!split)
    return Error{split.error()};
  Result<int64_t> wholeNs = findStep(extractor.region);
  if (!wholeNs)
    return Error{wholeNs.error()};
  Result<int64_t> splitNs = findStep(split->getProblem());
  if (!splitNs)
    return Error{splitNs.error()};
  return RegionSketch{*wholeNs, *splitNs};
}
