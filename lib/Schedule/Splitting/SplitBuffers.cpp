//===- SplitBuffers.cpp - Buffers of split programs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SplitBuilder.h"

#include <algorithm>
#include <map>

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

/// Follows the values of buffers that are split, or that a Whole or a Slice
/// reads, along data dependences, and so finds what each user has instead.
class BufferSplitter {
public:
  BufferSplitter(const SpecIndex &regions, SplitDraft &draft)
      : regions(regions), problem(regions.getProblem()), draft(draft),
        isRerouted(problem.numBuffers()), passed(problem.numNodes()) {}

  void split();

private:
  /// By buffer that is rerouted.
  using Routes = std::map<BufferId, Route>;

  void addBuffer(BufferId id);
  void addParts();
  void indexParts();
  Route findPassed(NodeId from, BufferId buffer) const;
  void follow(NodeId from, NodeId user, Routes &routes);
  void pass(NodeId node, const Routes &routes);
  void visit(NodeId node);
  void use(BufferId buffer, NodeId drafted, const Route &route);
  void useChunks(BufferId first, int32_t spec, NodeId drafted);
  int32_t numCopies(NodeId original) const {
    int32_t spec = regions.specOf(original);
    return spec < 0 ? 1 : regions.numChunks(spec);
  }

  const SpecIndex &regions;
  const Problem &problem;
  SplitDraft &draft;
  /// By original buffer: the buffer that replaces it, or its first chunk.
  std::vector<BufferId> firsts;
  /// By Whole: its buffer. By Slice: the one of its first chunk.
  std::vector<BufferId> wholeBuffers, sliceBuffers;
  /// By original buffer: whether it is split or a Whole or Slice reads it.
  std::vector<bool> isRerouted;
  /// By node: what its results are in, or of a Start what its Wait uses.
  std::vector<Routes> passed;
  /// By producer: its wholes.
  Csr<int32_t> wholesOfNode;
};

} // namespace

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

void BufferSplitter::addBuffer(BufferId id) {
  Buffer buffer = problem.buffer(id);
  firsts.push_back(static_cast<BufferId>(draft.buffers.size()));
  int32_t spec = regions.specOfBuffer(id);
  if (int32_t storage = regions.storageOf(id); storage >= 0) {
    for (int32_t copy = 0; copy < numCopies(buffer.producer); ++copy)
      draft.uses.push_back(
          {firsts.back(), draft.firsts[buffer.producer] + copy});
    buffer.producer = draft.storages[storage];
    draft.buffers.push_back(buffer);
    return;
  }
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
    if (whole.isWritten) {
      wholeBuffers.push_back(firsts[whole.source]);
      continue;
    }
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

void BufferSplitter::indexParts() {
  wholesOfNode.build(
      problem.numNodes(), regions.wholes.size(),
      [&](size_t i) { return regions.whole(static_cast<int32_t>(i)).producer; },
      [](size_t i) { return static_cast<int32_t>(i); });
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

/// Makes a node of the draft use all chunks of a buffer or of a slice; a chunk
/// of the same region its own one.
void BufferSplitter::useChunks(BufferId first, int32_t spec, NodeId drafted) {
  const SplitProblem::Origin &origin = draft.nodes[drafted].origin;
  if (origin.chunk >= 0 && origin.spec == spec) {
    draft.uses.push_back({first + origin.chunk, drafted});
    return;
  }
  for (int32_t chunk = 0; chunk < regions.numChunks(spec); ++chunk)
    draft.uses.push_back({first + chunk, drafted});
}

void BufferSplitter::use(BufferId buffer, NodeId drafted, const Route &route) {
  if (int32_t spec = regions.specOfBuffer(buffer); route.isPlain && spec >= 0)
    useChunks(firsts[buffer], spec, drafted);
  else if (route.isPlain)
    draft.uses.push_back({firsts[buffer], drafted});
  for (int32_t whole : route.wholes)
    draft.uses.push_back({wholeBuffers[whole], drafted});
  for (int32_t slice : route.slices)
    useChunks(sliceBuffers[slice], regions.slices[slice].spec, drafted);
}

/// What a user of a result of `from` has in place of the buffer.
Route BufferSplitter::findPassed(NodeId from, BufferId buffer) const {
  auto it = passed[from].find(buffer);
  return it == passed[from].end() ? Route{/*isPlain=*/true, {}, {}}
                                  : it->second;
}

/// Adds what `user` has of the results of `from`, or of arguments, and makes
/// the slices that it is the first user of read these.
void BufferSplitter::follow(NodeId from, NodeId user, Routes &routes) {
  Routes direct;
  if (from != noNode)
    direct = passed[from];
  if (from != noNode && regions.specOf(from) >= 0) {
    Routes whole;
    for (int32_t id : regions.wholesOfProducer.find(from, user))
      whole[regions.whole(id).source].wholes.push_back(id);
    for (auto &[buffer, route] : whole)
      direct[buffer] = route;
  }
  if (regions.specOf(user) >= 0) {
    Routes sliced;
    for (int32_t id : regions.slicesOfProducer.find(from, user)) {
      BufferId source = regions.slice(id).source;
      sliced[source].slices.push_back(id);
      if (findFirstUser(regions.slice(id)) != user)
        continue;
      auto outer = direct.find(source);
      for (int32_t chunk = 0; chunk < numCopies(user); ++chunk)
        use(source, draft.slices[id] + chunk,
            outer == direct.end() ? Route{/*isPlain=*/true, {}, {}}
                                  : outer->second);
    }
    for (auto &[buffer, route] : sliced)
      direct[buffer] = route;
  }
  for (const auto &[buffer, route] : direct)
    routes[buffer].add(route);
}

/// Notes what the users of the results of `node` have.
void BufferSplitter::pass(NodeId node, const Routes &routes) {
  for (BufferId id : problem.buffersMadeBy(node))
    if (isRerouted[id])
      passed[node][id].isPlain = true;
  // The results of a computation that allocates are no views. Its operands end
  // here.
  if (problem.kind(node) == NodeKind::Start ||
      problem.buffersMadeBy(node).empty())
    for (BufferId id : problem.buffersUsedBy(node))
      if (auto it = routes.find(id); it != routes.end())
        passed[node][id].add(it->second);
  // So do those of a collective that allocates, when it has been waited for.
  NodeId start = problem.startOf(node);
  if (start == noNode || problem.buffersMadeBy(start).empty())
    return;
  for (auto it = passed[node].begin(); it != passed[node].end();)
    it = problem.buffer(it->first).producer == start ? std::next(it)
                                                     : passed[node].erase(it);
}

void BufferSplitter::visit(NodeId node) {
  Routes routes;
  for (DependenceEnd end : problem.predecessors(node))
    if (end.kind == DependenceKind::Data)
      follow(end.node, node, routes);
  if (regions.specOf(node) >= 0)
    follow(noNode, node, routes);
  for (BufferId id : problem.buffersUsedBy(node)) {
    auto it = routes.find(id);
    Route route =
        it == routes.end() ? Route{/*isPlain=*/true, {}, {}} : it->second;
    for (int32_t copy = 0; copy < numCopies(node); ++copy)
      use(id, draft.firsts[node] + copy, route);
  }
  pass(node, routes);
  for (int32_t whole : wholesOfNode[node]) {
    BufferId source = regions.whole(whole).source;
    use(source, draft.wholes[whole], findPassed(node, source));
  }
}

void BufferSplitter::split() {
  for (BufferId id = 0; id < problem.numBuffers(); ++id)
    addBuffer(id);
  addParts();
  indexParts();
  for (NodeId node : problem.topologicalOrder())
    visit(node);
}

void schedule::addSplitBuffers(const SpecIndex &regions, SplitDraft &draft) {
  BufferSplitter(regions, draft).split();
}
