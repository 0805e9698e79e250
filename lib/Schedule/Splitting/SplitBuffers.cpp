//===- SplitBuffers.cpp - Buffers of split programs -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitBuilder.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Which of the buffers that replace one of the original an operation uses.
struct Route {
  /// The buffer itself or its chunks.
  bool isPlain = false;
  /// What these wholes and slices allocate, ascending.
  std::vector<int32_t> wholes, slices;

  void add(const Route &other) {
    isPlain |= other.isPlain;
    merge(wholes, other.wholes);
    merge(slices, other.slices);
  }

private:
  static void merge(std::vector<int32_t> &into,
                    const std::vector<int32_t> &from) {
    into.insert(into.end(), from.begin(), from.end());
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
  }
};

class BufferSplitter {
public:
  BufferSplitter(const SplitRegions &regions, SplitDraft &draft);

  void split();

private:
  static constexpr int32_t nowhere = -1;

  void addBuffer(BufferId id);
  void addParts();
  Route findOuterRoute(BufferId buffer, NodeId user) const;
  Route findRoute(BufferId buffer, NodeId user) const;
  void use(BufferId buffer, NodeId user, const Route &route);
  void useSlices(BufferId buffer, const Route &route, NodeId firstUser);
  void usePlain(BufferId buffer, NodeId drafted);
  void reroute(BufferId buffer);
  int32_t numCopies(NodeId original) const {
    int32_t spec = regions.specOf(original);
    return spec < 0 ? 1 : regions.numChunks(spec);
  }

  const SplitRegions &regions;
  const Problem &problem;
  SplitDraft &draft;
  std::vector<int32_t> placeOf;
  /// By original buffer: the buffer that replaces it, or its first chunk.
  std::vector<BufferId> firsts;
  /// By Whole: its buffer. By Slice: the one of its first chunk.
  std::vector<BufferId> wholeBuffers, sliceBuffers;
  /// By original buffer: whether it is split or a Whole or Slice reads it.
  std::vector<bool> isRerouted;

  // Of the buffer that is rerouted.
  /// By node: the index of a user's route, or nowhere.
  std::vector<int32_t> routeOf;
  std::vector<Route> routes;
};

} // namespace

BufferSplitter::BufferSplitter(const SplitRegions &regions, SplitDraft &draft)
    : regions(regions), problem(regions.getProblem()), draft(draft),
      placeOf(problem.numNodes()), isRerouted(problem.numBuffers()),
      routeOf(problem.numNodes(), nowhere) {
  const Order &topological = problem.topologicalOrder();
  for (size_t place = 0; place < topological.size(); ++place)
    placeOf[topological[place]] = static_cast<int32_t>(place);
}

void BufferSplitter::addBuffer(BufferId id) {
  Buffer buffer = problem.buffer(id);
  firsts.push_back(static_cast<BufferId>(draft.buffers.size()));
  int32_t spec = regions.specOfBuffer(id);
  if (buffer.producer != noNode)
    buffer.producer = draft.firsts[buffer.producer];
  if (spec < 0) {
    draft.buffers.push_back(buffer);
    return;
  }
  isRerouted[id] = true;
  buffer.bytes = regions.chunkBytes(id);
  for (int32_t chunk = 0; chunk < regions.numChunks(spec); ++chunk) {
    draft.buffers.push_back(buffer);
    ++buffer.producer;
  }
}

/// Adds what wholes and slices allocate.
void BufferSplitter::addParts() {
  for (size_t i = 0; i < draft.wholes.size(); ++i) {
    const SplitSpec::Whole &whole = regions.whole(static_cast<int32_t>(i));
    wholeBuffers.push_back(static_cast<BufferId>(draft.buffers.size()));
    draft.buffers.push_back({whole.bytes, draft.wholes[i], whole.freed});
    isRerouted[whole.source] = true;
    // The whole stays in place of the chunks.
    if (int32_t spec = regions.specOfBuffer(whole.source); spec >= 0)
      for (int32_t chunk = 0; chunk < regions.numChunks(spec); ++chunk)
        draft.buffers[firsts[whole.source] + chunk].freed = true;
  }
  for (size_t i = 0; i < draft.slices.size(); ++i) {
    const SplitSpec::Slice &slice = regions.slice(static_cast<int32_t>(i));
    sliceBuffers.push_back(static_cast<BufferId>(draft.buffers.size()));
    isRerouted[slice.source] = true;
    int32_t chunks = regions.numChunks(regions.slices[i].spec);
    for (int32_t chunk = 0; chunk < chunks; ++chunk)
      draft.buffers.push_back(
          {slice.bytes, draft.slices[i] + chunk, /*freed=*/true});
  }
}

/// The route of `user` but for slices: the wholes that name it, otherwise the
/// routes of the operations from which it has the buffer.
Route BufferSplitter::findOuterRoute(BufferId buffer, NodeId user) const {
  Route route;
  route.wholes = regions.wholesOfSource.find(buffer, user);
  if (!route.wholes.empty())
    return route;
  int32_t spec = regions.specOf(user);
  for (DependenceEnd end : problem.predecessors(user)) {
    if (end.kind != DependenceKind::Data)
      continue;
    if (end.node == problem.buffer(buffer).producer)
      route.isPlain = true;
    if (routeOf[end.node] == nowhere)
      continue;
    const Route &passed = routes[routeOf[end.node]];
    // A slice is of use to its region only; a member's view of a chunk leads to
    // the chunks.
    if (passed.slices.empty() || regions.specOf(end.node) == spec)
      route.add(passed);
    else
      route.isPlain = true;
  }
  if (route.wholes.empty() && route.slices.empty())
    route.isPlain = true;
  return route;
}

Route BufferSplitter::findRoute(BufferId buffer, NodeId user) const {
  Route route;
  route.slices = regions.slicesOfSource.find(buffer, user);
  return route.slices.empty() ? findOuterRoute(buffer, user) : route;
}

/// Makes a node of the draft use the buffer: if it is a chunk of its region the
/// chunk of its own.
void BufferSplitter::usePlain(BufferId buffer, NodeId drafted) {
  int32_t spec = regions.specOfBuffer(buffer);
  if (spec < 0) {
    draft.uses.push_back({firsts[buffer], drafted});
    return;
  }
  const SplitProblem::Origin &origin = draft.nodes[drafted].origin;
  if (origin.role == SplitProblem::Role::Chunk && origin.spec == spec) {
    draft.uses.push_back({firsts[buffer] + origin.chunk, drafted});
    return;
  }
  for (int32_t chunk = 0; chunk < regions.numChunks(spec); ++chunk)
    draft.uses.push_back({firsts[buffer] + chunk, drafted});
}

void BufferSplitter::use(BufferId buffer, NodeId user, const Route &route) {
  for (int32_t chunk = 0; chunk < numCopies(user); ++chunk) {
    NodeId drafted = draft.firsts[user] + chunk;
    if (route.isPlain)
      usePlain(buffer, drafted);
    for (int32_t whole : route.wholes)
      draft.uses.push_back({wholeBuffers[whole], drafted});
    for (int32_t slice : route.slices)
      draft.uses.push_back({sliceBuffers[slice] + chunk, drafted});
  }
}

/// Makes the slices read the buffer as their first user would.
void BufferSplitter::useSlices(BufferId buffer, const Route &route,
                               NodeId firstUser) {
  Route outer = findOuterRoute(buffer, firstUser);
  for (int32_t slice : route.slices) {
    const std::vector<NodeId> &users = regions.slice(slice).users;
    if (firstUser != *std::min_element(users.begin(), users.end()))
      continue;
    for (int32_t chunk = 0; chunk < numCopies(firstUser); ++chunk) {
      NodeId drafted = draft.slices[slice] + chunk;
      if (outer.isPlain)
        usePlain(buffer, drafted);
      for (int32_t whole : outer.wholes)
        draft.uses.push_back({wholeBuffers[whole], drafted});
    }
  }
}

/// Adds the uses of a buffer whose users may use something else instead.
void BufferSplitter::reroute(BufferId buffer) {
  ArrayView<NodeId> users = problem.users(buffer);
  std::vector<NodeId> sorted(users.begin(), users.end());
  std::sort(sorted.begin(), sorted.end(),
            [&](NodeId a, NodeId b) { return placeOf[a] < placeOf[b]; });
  routes.clear();
  for (NodeId user : sorted) {
    Route route = findRoute(buffer, user);
    use(buffer, user, route);
    useSlices(buffer, route, user);
    routeOf[user] = static_cast<int32_t>(routes.size());
    routes.push_back(std::move(route));
  }
  for (NodeId user : sorted)
    routeOf[user] = nowhere;
}

void BufferSplitter::split() {
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    addBuffer(id);
  addParts();
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    if (isRerouted[id]) {
      reroute(id);
      continue;
    }
    for (NodeId user : problem.users(id))
      use(id, user, {/*isPlain=*/true, {}, {}});
  }
  for (size_t i = 0; i < draft.wholes.size(); ++i)
    usePlain(regions.whole(static_cast<int32_t>(i)).source, draft.wholes[i]);
}

void schedule::addSplitBuffers(const SplitRegions &regions, SplitDraft &draft) {
  BufferSplitter(regions, draft).split();
}
