//===- ResultReuseTest.cpp - Tests of the reuse of results ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Reordering/ResultReuse.h"

#include "../Seeds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"

#include "ReferenceResultReuse.h"
#include "TestProblems.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

/// A program of gathers that deliver the same 100 bytes.
class Gathers {
public:
  /// A cast of 10 bytes, a gather of it that takes `costNs`, and its wait.
  NodeId addGather(int64_t costNs = 1) {
    NodeId cast = addCompute(problem, 0);
    BufferId shard = problem.addBuffer(10, cast, true);
    NodeId start = addStart(problem, costNs, {cast});
    problem.addUse(shard, start);
    NodeId wait = problem.addWait(start);
    problem.addUse(shard, wait);
    full.push_back(problem.addBuffer(100, start, true));
    problem.addUse(full.back(), wait);
    starts.push_back(start);
    casts.push_back(cast);
    return start;
  }

  /// A computation on what the last gather delivered, with `bytes` of its own
  /// while it runs.
  NodeId addUser(int64_t bytes) {
    NodeId user = addCompute(problem, 1, {starts.back() + 1});
    problem.addUse(full.back(), user);
    return addBytes(user, bytes);
  }

  /// A computation on nothing.
  NodeId addOther(int64_t bytes) {
    return addBytes(addCompute(problem, 1), bytes);
  }

  Result<ResultReuse> run(std::optional<int64_t> limit = {}) {
    problem.finalize();
    ReuseCandidates candidates{{starts},
                               std::vector<bool>(problem.numNodes(), false)};
    for (NodeId cast : casts)
      candidates.isRemovable[cast] = true;
    return reuseResults(problem, candidates, limit);
  }

  Problem problem;
  std::vector<NodeId> starts;
  std::vector<NodeId> casts;
  std::vector<BufferId> full;

private:
  NodeId addBytes(NodeId node, int64_t bytes) {
    problem.addBuffer(bytes, node, true);
    return node;
  }
};

std::vector<NodeId> removed(const ResultReuse &reuse) {
  std::vector<NodeId> nodes;
  for (size_t node = 0; node < reuse.isRemoved.size(); ++node)
    if (reuse.isRemoved[node])
      nodes.push_back(static_cast<NodeId>(node));
  return nodes;
}

TEST(ResultReuse, DropsAGatherWhoseSourceFits) {
  Gathers gathers;
  gathers.addGather();
  gathers.addUser(50);
  gathers.addOther(10);
  NodeId second = gathers.addGather();
  gathers.addUser(20);
  Result<ResultReuse> reuse = gathers.run();
  ASSERT_TRUE(reuse) << reuse.error();
  ASSERT_EQ(reuse->decisions.size(), 1u);
  EXPECT_TRUE(reuse->decisions[0].isDropped);
  EXPECT_EQ(reuse->decisions[0].start, second);
  EXPECT_EQ(reuse->decisions[0].source, gathers.starts[0]);
  EXPECT_EQ(removed(*reuse), (std::vector<NodeId>{5, 6, 7}));
  EXPECT_EQ(reuse->oldPeakBytes, 150);
  EXPECT_EQ(reuse->limitBytes, 150);
  EXPECT_EQ(reuse->newPeakBytes, 150);
}

TEST(ResultReuse, RemovesNoOtherCollective) {
  // The second gather's shard needs what another collective delivers, and a
  // user of the first.
  Gathers gathers;
  gathers.addGather();
  NodeId user = gathers.addUser(50);
  NodeId other = addStart(gathers.problem, 1, {}, 1);
  NodeId wait = gathers.problem.addWait(other);
  NodeId second = gathers.addGather();
  NodeId cast = second - 1;
  gathers.problem.addDependence(user, cast, DependenceKind::Data);
  gathers.problem.addDependence(wait, cast, DependenceKind::Data);
  gathers.problem.finalize();
  ReuseCandidates candidates{
      {gathers.starts}, std::vector<bool>(gathers.problem.numNodes(), true)};
  Result<ResultReuse> reuse = reuseResults(gathers.problem, candidates);
  ASSERT_TRUE(reuse) << reuse.error();
  EXPECT_EQ(removed(*reuse), (std::vector<NodeId>{cast, second, second + 1}));
}

TEST(ResultReuse, RefusesBadCandidates) {
  Gathers gathers;
  gathers.addGather();
  gathers.addGather();
  NodeId other = gathers.addOther(1);
  Problem &problem = gathers.problem;
  problem.finalize();
  auto error = [&](std::vector<std::vector<NodeId>> classes) {
    return reuseResults(problem, {std::move(classes),
                                  std::vector<bool>(problem.numNodes(), false)})
        .error();
  };
  EXPECT_EQ(error({{1, 9}}), "node 9 is in a class; the problem has 7 nodes");
  EXPECT_EQ(error({{other}}), "node 6 (compute) is in a class, but no start");
  EXPECT_EQ(error({{1}, {1}}), "node 1 (start) is in a class twice");
  EXPECT_EQ(error({{4, 1}}), "node 1 (start) comes behind node 4 (start) in a "
                             "class, but is waited for before it");
  EXPECT_EQ(reuseResults(problem, {{{1, 4}}, {true}}).error(),
            "1 nodes are removable or not; the problem has 7 nodes");
  EXPECT_EQ(reuseResults(Problem(), {}).error(),
            "the problem is not finalized");

  // Of starts that make no buffer, one whose result is read before its wait,
  // and others.
  TextProblem bad(R"(
    a = start 1; wait a; b = start 1 -> 1; early = 1 b; wait b
    c = start 1 -> 2; wait c; d = start 1 -> 3; wait d)");
  auto badError = [&](std::vector<NodeId> starts) {
    return reuseResults(bad, {{std::move(starts)},
                              std::vector<bool>(bad.numNodes(), false)})
        .error();
  };
  EXPECT_EQ(badError({0}), "node 0 (start) is in a class, but makes 0 buffers");
  EXPECT_EQ(badError({2}), "node 3 (compute) uses what node 2 (start) delivers "
                           "before it is waited for");
  EXPECT_EQ(badError({5, 7}), "node 7 (start) delivers 3 bytes, but node 5 "
                              "(start) of its class 2");
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
    BufferId full = problem.addBuffer(fullBytes[which], start, draw(8) > 0);
    pending.push_back({start, sent, full, which});
  }

  void addWait() {
    size_t index = draw(pending.size());
    Pending gather = pending[index];
    pending.erase(pending.begin() + static_cast<ptrdiff_t>(index));
    NodeId wait = problem.addWait(gather.start);
    problem.addUse(gather.sent, wait);
    problem.addUse(gather.full, wait);
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
    ASSERT_TRUE(problem.check()) << "seed " << seed << problem.check().error();
    std::optional<int64_t> limit;
    if (seed % 4 != 0)
      limit = static_cast<int64_t>(seed % 300);
    Result<ResultReuse> reuse = reuseResults(problem, random.candidates, limit);
    ASSERT_TRUE(reuse) << "seed " << seed << ": " << reuse.error();
    ReferenceResultReuse reference(problem, random.candidates, limit);
    reference.run();
    ASSERT_EQ(removed(*reuse), reference.removed()) << "seed " << seed;
    ASSERT_EQ(reuse->newPeakBytes, reference.peakBytes()) << "seed " << seed;
    size_t numDropped = 0;
    for (const ReuseDecision &decision : reuse->decisions) {
      ASSERT_EQ(decision.neededBytes, reference.neededBytes(decision.start))
          << "seed " << seed;
      ASSERT_EQ(decision.obstacle, reference.obstacle(decision.start))
          << "seed " << seed;
      numDropped += decision.isDropped;
      kept += !decision.isDropped;
    }
    dropped += static_cast<int64_t>(numDropped);
    removedMore += removed(*reuse).size() > 2 * numDropped;
  }
  EXPECT_GT(dropped, 150);
  EXPECT_GT(kept, 60);
  EXPECT_GT(removedMore, 60);
}

/// Many gathers of one parameter, half of which are dropped.
TEST(ResultReuse, TakesManyInTime) {
  Gathers gathers;
  for (int i = 0; i < 20000; ++i) {
    gathers.addGather();
    gathers.addUser(50);
    gathers.addOther(i % 2 == 0 ? 10 : 60);
  }
  Result<ResultReuse> reuse = gathers.run();
  ASSERT_TRUE(reuse) << reuse.error();
  int64_t dropped = 0;
  for (const ReuseDecision &decision : reuse->decisions)
    dropped += decision.isDropped;
  EXPECT_EQ(dropped, 10000);
}

} // namespace
