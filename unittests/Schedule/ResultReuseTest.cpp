//===- ResultReuseTest.cpp - Tests of the reuse of results ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Reordering/ResultReuse.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// The choice of reuseResults(), which looks at the whole program after every
/// collective that it drops.
class ReferenceResultReuse {
public:
  ReferenceResultReuse(const Problem &problem,
                       const ReuseCandidates &candidates,
                       std::optional<int64_t> limit)
      : problem(problem), candidates(candidates), state(look({})),
        limit(limit.value_or(state.peakBytes)) {}

  void run() {
    std::vector<std::pair<int64_t, NodeId>> order;
    std::map<NodeId, NodeId> before;
    for (const std::vector<NodeId> &starts : candidates.classes)
      for (size_t place = 1; place < starts.size(); ++place) {
        order.push_back({-problem.costNs(starts[place]), starts[place]});
        before[starts[place]] = starts[place - 1];
      }
    std::sort(order.begin(), order.end());
    for (auto [cost, start] : order) {
      std::map<NodeId, NodeId> trial = dropped;
      trial[start] = before[start];
      State next = look(trial);
      NodeId source = findSource(trial, start);
      NodeId worst = noNode;
      for (NodeId node = 0; node < problem.numNodes(); ++node)
        if (isLive(next, source, node) && !isLive(state, source, node) &&
            !isLive(state, start, node) &&
            (worst == noNode || next.bytes[node] > next.bytes[worst]))
          worst = node;
      if (worst != noNode && next.bytes[worst] > limit) {
        refused[start] = worst;
        needed[start] = next.bytes[worst];
        continue;
      }
      dropped = trial;
      state = next;
    }
  }

  std::vector<NodeId> removed() const {
    return {state.removed.begin(), state.removed.end()};
  }
  int64_t peakBytes() const { return state.peakBytes; }
  int64_t neededBytes(NodeId start) const {
    auto it = needed.find(start);
    return it == needed.end() ? 0 : it->second;
  }
  /// Whose result takes the place of a collective that is dropped.
  NodeId source(NodeId start) const {
    return dropped.count(start) ? findSource(dropped, start) : noNode;
  }
  NodeId obstacle(NodeId start) const {
    auto it = refused.find(start);
    return it == refused.end() ? noNode : it->second;
  }

private:
  struct State {
    std::set<NodeId> removed;
    /// By buffer: from where to where it is live; {0, -1}: nowhere.
    std::vector<std::pair<NodeId, NodeId>> live;
    /// By node, once it has allocated.
    std::vector<int64_t> bytes;
    int64_t peakBytes = 0;
  };

  static NodeId findSource(const std::map<NodeId, NodeId> &dropped,
                           NodeId start) {
    for (auto it = dropped.find(start); it != dropped.end();
         it = dropped.find(start))
      start = it->second;
    return start;
  }

  BufferId delivered(NodeId start) const {
    ArrayView<BufferId> made = problem.buffersMadeBy(start);
    return *std::find_if(made.begin(), made.end(), [&](BufferId id) {
      ArrayView<NodeId> users = problem.users(id);
      return std::find(users.begin(), users.end(), start) == users.end();
    });
  }

  bool isLive(const State &in, NodeId start, NodeId node) const {
    auto [first, last] = in.live[delivered(start)];
    return first <= node && node <= last;
  }

  /// The operations that need a result of `node`.
  std::set<NodeId> consumers(NodeId node) const {
    std::set<NodeId> found;
    for (DependenceEnd end : problem.successors(node))
      if (end.kind == DependenceKind::Data)
        found.insert(end.node);
    for (BufferId buffer : problem.buffersMadeBy(node))
      for (NodeId user : problem.users(buffer))
        if (user != node)
          found.insert(user);
    return found;
  }

  bool mayGo(NodeId node) const {
    if (!candidates.isRemovable[node] ||
        problem.kind(node) != NodeKind::Compute)
      return false;
    for (const std::vector<NodeId> &starts : candidates.classes)
      for (NodeId start : starts)
        for (NodeId user : problem.users(delivered(start)))
          if (user == node)
            return false;
    return !consumers(node).empty();
  }

  State look(const std::map<NodeId, NodeId> &dropped) const {
    State next;
    for (auto [start, source] : dropped) {
      next.removed.insert(start);
      next.removed.insert(problem.waitOf(start));
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (NodeId node = 0; node < problem.numNodes(); ++node) {
        if (!mayGo(node) || next.removed.count(node))
          continue;
        std::set<NodeId> needing = consumers(node);
        if (std::all_of(needing.begin(), needing.end(), [&](NodeId user) {
              return next.removed.count(user) > 0;
            })) {
          next.removed.insert(node);
          changed = true;
        }
      }
    }
    lookAtBuffers(dropped, next);
    return next;
  }

  void lookAtBuffers(const std::map<NodeId, NodeId> &dropped,
                     State &next) const {
    // Uses and freedom of what was dropped are those of its source.
    std::vector<std::set<NodeId>> users(problem.numBuffers());
    std::vector<bool> freed(problem.numBuffers(), true);
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      BufferId kept = id;
      NodeId producer = problem.buffer(id).producer;
      if (dropped.count(producer))
        kept = delivered(findSource(dropped, producer));
      for (NodeId user : problem.users(id))
        if (!next.removed.count(user))
          users[kept].insert(user);
      if (!problem.buffer(id).freed)
        freed[kept] = false;
    }
    next.live.assign(problem.numBuffers(), {0, -1});
    next.bytes.assign(problem.numNodes(), 0);
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      NodeId producer = problem.buffer(id).producer;
      if (producer != noNode && next.removed.count(producer))
        continue;
      NodeId last = users[id].empty() ? producer : *users[id].rbegin();
      if (!freed[id] || last == noNode)
        last = problem.numNodes();
      next.live[id] = {producer, std::max(producer, last)};
      for (NodeId node = 0; node < problem.numNodes(); ++node)
        if (producer <= node && node <= last)
          next.bytes[node] += problem.buffer(id).bytes;
      if (producer == noNode)
        next.peakBytes += problem.buffer(id).bytes;
    }
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (!next.removed.count(node))
        next.peakBytes = std::max(next.peakBytes, next.bytes[node]);
  }

  const Problem &problem;
  const ReuseCandidates &candidates;
  std::map<NodeId, NodeId> dropped;
  State state;
  int64_t limit;
  std::map<NodeId, NodeId> refused;
  std::map<NodeId, int64_t> needed;
};

/// A cast of 10 bytes, a gather of it that delivers 100, and its wait.
const std::string gather = "c$ = 0 -> 10; g$ = start 1 c$ -> 100; wait g$;";

/// All starts on stream 0 deliver the same, and what takes no time can go.
ReuseCandidates getCandidates(const Problem &problem) {
  ReuseCandidates candidates{{{}}, std::vector<bool>(problem.numNodes())};
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (problem.kind(node) == NodeKind::Start && problem.stream(node) == 0)
      candidates.classes[0].push_back(node);
    candidates.isRemovable[node] =
        problem.kind(node) == NodeKind::Compute && problem.costNs(node) == 0;
  }
  return candidates;
}

std::vector<NodeId> removed(const ResultReuse &reuse) {
  std::vector<NodeId> nodes;
  for (size_t node = 0; node < reuse.isRemoved.size(); ++node)
    if (reuse.isRemoved[node])
      nodes.push_back(static_cast<NodeId>(node));
  return nodes;
}

TEST(ResultReuse, RemovesNoOtherCollective) {
  // The second gather's shard needs what another collective delivers, and a
  // user of the first.
  TextProblem problem(R"(
    c0 = 0 -> 10; g0 = start 1 c0 -> 100; wait g0; a = 1 g0' -> 50
    other = start 1@1; wait other; c1 = 0 data:a data:other' -> 10
    g1 = start 1 c1 -> 100; wait g1)");
  ReuseCandidates candidates = getCandidates(problem);
  candidates.isRemovable.assign(problem.numNodes(), true);
  EXPECT_EQ(problem.tell(removed(need(reuseResults(problem, candidates)))),
            "c1 g1 g1'");
}

TEST(ResultReuse, RefusesBadCandidates) {
  TextProblem problem(repeat(2, gather) + "other = 1 -> 1");
  auto errorOf = [](const Problem &of,
                    std::vector<std::vector<NodeId>> classes) {
    return reuseResults(of, {std::move(classes),
                             std::vector<bool>(of.numNodes(), false)})
        .error();
  };
  EXPECT_EQ(errorOf(problem, {{1, 9}}),
            "node 9 is in a class; the problem has 7 nodes");
  EXPECT_EQ(errorOf(problem, {{6}}),
            "node 6 (compute) is in a class, but no start");
  EXPECT_EQ(errorOf(problem, {{1}, {1}}), "node 1 (start) is in a class twice");
  EXPECT_EQ(errorOf(problem, {{4, 1}}),
            "node 1 (start) comes behind node 4 (start) in a class, but is "
            "waited for before it");
  EXPECT_EQ(reuseResults(problem, {{{1, 4}}, {true}}).error(),
            "1 nodes are removable or not; the problem has 7 nodes");
  EXPECT_EQ(reuseResults(Problem(), {}).error(),
            "the problem is not finalized");

  // Of starts that make no buffer, one whose result is read before its wait,
  // and others.
  TextProblem bad(R"(
    a = start 1; wait a; b = start 1 -> 1; early = 1 b; wait b
    c = start 1 -> 2; wait c; d = start 1 -> 3; wait d)");
  EXPECT_EQ(errorOf(bad, {{0}}),
            "node 0 (start) is in a class, but delivers 0 buffers");
  EXPECT_EQ(errorOf(bad, {{2}}),
            "node 3 (compute) uses what node 2 (start) delivers before it is "
            "waited for");
  EXPECT_EQ(errorOf(bad, {{5, 7}}), "node 7 (start) delivers 3 bytes, but node "
                                    "5 (start) of its class 2");
}

/// A program that gathers up to three parameters again and again, through casts
/// that gathers share or do not.
class RandomGathers {
public:
  explicit RandomGathers(uint64_t seed) : random(seed) {
    candidates.classes.resize(1 + draw(3));
    for (size_t which = 0; which < candidates.classes.size(); ++which) {
      parameters.push_back(problem.addBuffer(5, noNode, draw(3) == 0));
      sharedCasts.push_back(draw(2) ? addCast(parameters[which]) : noNode);
      fullBytes.push_back(draw(3) * 60);
    }
    for (int32_t count = 3 + draw(25); count > 0; --count)
      addSomething();
    while (!pending.empty())
      addWait();
    problem.finalize();
    candidates.isRemovable.resize(problem.numNodes(), false);
  }

  Problem problem;
  ReuseCandidates candidates;

private:
  int32_t draw(uint64_t end) { return static_cast<int32_t>(random() % end); }

  /// Makes a shard of `from`, a buffer of its own.
  NodeId addCast(BufferId from) {
    NodeId cast = addCompute(problem, 0);
    candidates.isRemovable.resize(cast + 1, false);
    candidates.isRemovable[cast] = draw(5) > 0;
    problem.addUse(from, cast);
    problem.addBuffer(draw(5) == 0 ? 150 : 10, cast, draw(8) > 0);
    return cast;
  }

  BufferId madeBy(NodeId cast) const {
    BufferId made = 0;
    while (problem.buffer(made).producer != cast)
      ++made;
    return made;
  }

  void addSomething() {
    int32_t dice = draw(10);
    if (dice < 4)
      addGather();
    else if (dice < 6 && !pending.empty())
      addWait();
    else if (dice < 9)
      addUser();
    else if (NodeId cast = sharedCasts[draw(sharedCasts.size())];
             cast != noNode)
      problem.addUse(madeBy(cast), addCompute(problem, 1, {cast}));
  }

  void addGather() {
    size_t which = draw(candidates.classes.size());
    NodeId cast = draw(2) ? sharedCasts[which] : noNode;
    BufferId sent = parameters[which];
    if (cast == noNode && draw(2))
      cast = addCast(sent);
    // A view of the shard.
    NodeId view = noNode;
    if (cast != noNode && draw(3) == 0) {
      view = addCompute(problem, 0, {cast});
      candidates.isRemovable.resize(view + 1, false);
      candidates.isRemovable[view] = true;
    }
    NodeId start = addStart(problem, draw(4), {});
    if (cast != noNode) {
      problem.addDependence(view == noNode ? cast : view, start,
                            DependenceKind::Data);
      sent = madeBy(cast);
    }
    problem.addUse(sent, start);
    // In front of what it delivers, or behind it.
    BufferId copy = draw(4) == 0 ? addCopy(start) : -1;
    BufferId full = problem.addBuffer(fullBytes[which], start, draw(8) > 0);
    if (copy < 0 && draw(4) == 0)
      copy = addCopy(start);
    pending.push_back({start, sent, full, copy, which});
  }

  /// What a start makes for itself.
  BufferId addCopy(NodeId start) {
    BufferId copy = problem.addBuffer(draw(3) * 40, start, true);
    problem.addUse(copy, start);
    return copy;
  }

  void addWait() {
    size_t index = draw(pending.size());
    Pending gather = pending[index];
    pending.erase(pending.begin() + static_cast<ptrdiff_t>(index));
    NodeId wait = problem.addWait(gather.start);
    problem.addUse(gather.sent, wait);
    problem.addUse(gather.full, wait);
    if (gather.copy >= 0)
      problem.addUse(gather.copy, wait);
    candidates.classes[gather.which].push_back(gather.start);
    delivered.push_back({wait, gather.full});
  }

  /// Of something that was delivered, or of nothing.
  void addUser() {
    NodeId user = addCompute(problem, 1);
    if (!delivered.empty() && draw(3) > 0) {
      auto [wait, full] = delivered[draw(delivered.size())];
      problem.addDependence(wait, user, DependenceKind::Data);
      problem.addUse(full, user);
    }
    problem.addBuffer(draw(8) * 30, user, draw(10) > 0);
  }

  struct Pending {
    NodeId start;
    BufferId sent;
    BufferId full;
    BufferId copy;
    size_t which;
  };

  std::mt19937_64 random;
  std::vector<BufferId> parameters;
  std::vector<NodeId> sharedCasts;
  std::vector<int64_t> fullBytes;
  std::vector<Pending> pending;
  std::vector<std::pair<NodeId, BufferId>> delivered;
};

TEST(ResultReuse, AgreesWithTheReferenceOnRandomPrograms) {
  int64_t dropped = 0, kept = 0, removedMore = 0;
  for (uint64_t seed : Seeds(4000)) {
    RandomGathers random(seed);
    const Problem &problem = random.problem;
    ASSERT_TRUE(problem.check()) << problem.check().error();
    std::optional<int64_t> limit;
    if (seed % 4 != 0)
      limit = static_cast<int64_t>(seed % 300);
    ResultReuse reuse = need(reuseResults(problem, random.candidates, limit));
    ReferenceResultReuse reference(problem, random.candidates, limit);
    reference.run();
    ASSERT_EQ(removed(reuse), reference.removed());
    ASSERT_EQ(reuse.newPeakBytes, reference.peakBytes());
    ASSERT_EQ(reuse.oldPeakBytes,
              simulateMemory(problem, problem.programOrder())->peakBytes);
    ASSERT_EQ(reuse.limitBytes, limit.value_or(reuse.oldPeakBytes));
    size_t numDropped = 0;
    for (const ReuseDecision &decision : reuse.decisions) {
      ASSERT_EQ(decision.neededBytes, reference.neededBytes(decision.start));
      ASSERT_EQ(decision.obstacle, reference.obstacle(decision.start));
      ASSERT_EQ(decision.isDropped ? decision.source : noNode,
                reference.source(decision.start));
      numDropped += decision.isDropped;
      kept += !decision.isDropped;
    }
    dropped += static_cast<int64_t>(numDropped);
    removedMore += removed(reuse).size() > 2 * numDropped;
  }
  EXPECT_GT(dropped, 150);
  EXPECT_GT(kept, 60);
  EXPECT_GT(removedMore, 60);
}

/// Many gathers of one parameter, half of which are dropped.
TEST(ResultReuse, TakesManyInTime) {
  TextProblem problem(
      repeat(10000, gather + "a$ = 1 g$' -> 50; b$ = 1 -> 10; "
                             "C$ = 0 -> 10; G$ = start 1 C$ -> 100; "
                             "wait G$; A$ = 1 G$' -> 50; B$ = 1 -> 60"));
  ResultReuse reuse = need(reuseResults(problem, getCandidates(problem)));
  EXPECT_EQ(std::count_if(reuse.decisions.begin(), reuse.decisions.end(),
                          [](const ReuseDecision &it) { return it.isDropped; }),
            10000);
}

} // namespace
