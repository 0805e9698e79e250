//===- OverlapPreservingBucketingTest.cpp - Tests of kept overlap ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/Bucketing.h"

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Model/Simulator.h"

#include "RandomProblem.h"
#include "ReferenceSimulator.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

/// A program whose collectives cost what a launch does and their bytes do, each
/// 1 ns, on one stream for each group.
class Program {
public:
  /// A gather; `key` is for what may not be merged with it though it is of the
  /// same group.
  NodeId gather(int64_t bytes, std::initializer_list<NodeId> operands = {},
                int32_t key = 0, StreamId group = 0) {
    NodeId start = addStart(problem, launchNs + bytes, operands, group);
    candidates.push_back({start, key, bytes});
    return start;
  }

  NodeId wait(NodeId start) { return problem.addWait(start); }

  NodeId mm(int64_t costNs, std::initializer_list<NodeId> operands = {}) {
    NodeId node = addCompute(problem, costNs, operands);
    problem.setExpensive(node);
    return node;
  }

  NodeId cheap(int64_t costNs, std::initializer_list<NodeId> operands = {}) {
    return addCompute(problem, costNs, operands);
  }

  BucketCost getCost(const std::vector<NodeId> &starts) const {
    BucketCost cost = copies;
    cost.collectiveNs = launchNs;
    for (NodeId start : starts) {
      cost.collectiveNs += problem.costNs(start) - launchNs;
      if (auto cast = casts.find(start); cast != casts.end())
        cost.absorbed.push_back(cast->second);
    }
    return cost;
  }

  Result<Bucketing> form() {
    problem.finalize();
    BucketingOptions options;
    options.capBytes.assign(3, {capBytes});
    return formOverlapPreservingBuckets(
        problem, candidates, options, std::vector<bool>(3, exposedFirst),
        [&](const std::vector<NodeId> &starts) { return getCost(starts); });
  }

  /// The members of each bucket.
  std::vector<std::vector<NodeId>> buckets() {
    Result<Bucketing> result = form();
    EXPECT_TRUE(result) << result.error();
    std::vector<std::vector<NodeId>> members;
    for (const Bucket &bucket : result->buckets)
      members.push_back(bucket.starts);
    return members;
  }

  Problem problem;
  std::vector<BucketCandidate> candidates;
  int64_t launchNs = 2;
  int64_t capBytes = 1000;
  bool exposedFirst = false;
  BucketCost copies;
  /// By start: what a copy-in absorbs.
  std::map<NodeId, NodeId> casts;
};

using Buckets = std::vector<std::vector<NodeId>>;

TEST(OverlapPreservingBucketing, MergesWhatIsHiddenTogether) {
  // mm2 and mm3 hide the second, mm1 and mm2 the first.
  Program program;
  NodeId a = program.gather(8), b = program.gather(8);
  for (int i = 0; i < 3; ++i)
    program.mm(6);
  program.wait(a);
  program.wait(b);
  EXPECT_EQ(program.buckets(), (Buckets{{a, b}}));
}

TEST(OverlapPreservingBucketing, KeepsApartWhatIsHiddenByWhatNeedsTheOther) {
  // mm1 hides the first gather. mm2 hides the second, and needs the first.
  Program program;
  NodeId a = program.gather(8);
  program.mm(10);
  NodeId b = program.gather(8);
  NodeId waitA = program.wait(a);
  program.mm(10, {waitA});
  program.wait(b);
  Result<Bucketing> result = program.form();
  ASSERT_TRUE(result) << result.error();
  EXPECT_TRUE(result->buckets.empty());
  ASSERT_EQ(result->assignments.size(), 2u);
  for (BucketAssignment assignment : result->assignments) {
    EXPECT_EQ(assignment.bucket, -1);
    EXPECT_EQ(assignment.reason, UnbucketedReason::LosesOverlap);
  }
  EXPECT_EQ(result->assignments[0].other, b);
  EXPECT_EQ(result->assignments[1].other, a);
}

TEST(OverlapPreservingBucketing, WhatIsExposedMayBecomeOne) {
  // One mm, which can hide one of three.
  Program program;
  NodeId a = program.gather(8), b = program.gather(8), c = program.gather(8);
  program.mm(10);
  for (NodeId start : {a, b, c})
    program.wait(start);
  EXPECT_EQ(program.buckets(), (Buckets{{a, b, c}}));
}

TEST(OverlapPreservingBucketing, DoesNotHoldUpAnotherCollective) {
  // A gather, another collective, another gather, each behind an mm of its own.
  // Merged, the gathers take the time of the first two, so that the collective
  // in the middle would begin late.
  auto build = [](int64_t firstNs, bool isMiddleExposed) {
    Program program;
    NodeId a = program.gather(8);
    program.mm(firstNs);
    program.wait(a);
    NodeId middle = program.gather(8, {}, 1);
    if (!isMiddleExposed)
      program.mm(10);
    program.wait(middle);
    NodeId b = program.gather(8);
    program.mm(10);
    program.wait(b);
    return program;
  };
  EXPECT_EQ(build(10, false).buckets(), Buckets());
  // Both fit behind a first one that is long enough.
  EXPECT_EQ(build(18, false).buckets(), (Buckets{{0, 6}}));
  EXPECT_EQ(build(17, false).buckets(), Buckets());
  // The wait for the collective in the middle is also one for the gathers.
  EXPECT_EQ(build(10, true).buckets(), Buckets());
  EXPECT_EQ(build(18, true).buckets(), (Buckets{{0, 5}}));
}

TEST(OverlapPreservingBucketing, EachKeyMergesWithItself) {
  // All exposed.
  Program program;
  for (int32_t key : {0, 0, 1, 1})
    program.wait(program.gather(8, {}, key));
  EXPECT_EQ(program.buckets(), (Buckets{{0, 2}, {4, 6}}));
}

TEST(OverlapPreservingBucketing, SplitsWhereTheUsersAre) {
  // mm1 hides the first two, which mm2 needs, which hides the others.
  Program program;
  std::vector<NodeId> starts;
  for (int i = 0; i < 4; ++i)
    starts.push_back(program.gather(3));
  program.mm(10);
  NodeId wait0 = program.wait(starts[0]), wait1 = program.wait(starts[1]);
  program.mm(10, {wait0, wait1});
  program.wait(starts[2]);
  program.wait(starts[3]);
  EXPECT_EQ(program.buckets(), (Buckets{{0, 1}, {2, 3}}));
}

TEST(OverlapPreservingBucketing, MergesAllWhereAllAreHiddenByAll) {
  Program program;
  for (int i = 0; i < 4; ++i)
    program.gather(3);
  program.mm(10);
  program.mm(10);
  for (NodeId start : {0, 1, 2, 3})
    program.wait(start);
  EXPECT_EQ(program.buckets(), (Buckets{{0, 1, 2, 3}}));
}

TEST(OverlapPreservingBucketing, ACastHidesOneAndFeedsAnother) {
  // The cast hides some of the first gather, which mm needs; mm hides the
  // second, of what was cast, and the third.
  Program program;
  NodeId a = program.gather(8);
  NodeId cast = program.cheap(2);
  NodeId waitA = program.wait(a);
  NodeId b = program.gather(8, {cast}), c = program.gather(8);
  program.mm(20, {waitA});
  program.wait(b);
  program.wait(c);
  EXPECT_EQ(program.buckets(), (Buckets{{b, c}}));
}

TEST(OverlapPreservingBucketing, CopiesHaveToPay) {
  auto build = [](int64_t hiddenNs) {
    Program program;
    NodeId a = program.gather(8), b = program.gather(8);
    program.mm(hiddenNs);
    program.wait(a);
    program.wait(b);
    return program;
  };
  // Merged, the two are exposed for 2 ns less.
  Program program = build(0);
  program.copies = {1, 0, 1, {}};
  EXPECT_EQ(program.buckets(), (Buckets{{0, 1}}));
  program.copies = {2, 0, 1, {}};
  EXPECT_EQ(program.buckets(), Buckets());
  // If the collectives were hidden, copies make the step longer.
  program = build(20);
  EXPECT_EQ(program.buckets(), (Buckets{{0, 1}}));
  program.copies = {0, 0, 1, {}};
  EXPECT_EQ(program.buckets(), Buckets());
}

TEST(OverlapPreservingBucketing, WhatCopiesAbsorbCounts) {
  auto build = [](int64_t copyInNs, int64_t copyOutNs) {
    Program program;
    NodeId cast = program.cheap(3);
    NodeId a = program.gather(8, {cast}), b = program.gather(8);
    program.casts[a] = cast;
    // Of another group, and without a cast.
    program.gather(8, {}, 1, 1);
    program.gather(8, {}, 1, 1);
    program.mm(20);
    for (NodeId start : {a, b, b + 1, b + 2})
      program.wait(start);
    program.copies.copyInNs = copyInNs;
    program.copies.copyOutNs = copyOutNs;
    return program;
  };
  EXPECT_EQ(build(1, 0).buckets(), (Buckets{{1, 2}, {3, 4}}));
  // In sum, both are too much.
  EXPECT_EQ(build(2, 0).buckets(), (Buckets{{1, 2}}));
  EXPECT_EQ(build(0, 2).buckets(), (Buckets{{1, 2}}));
  EXPECT_EQ(build(2, 1).buckets(), (Buckets{{1, 2}}));
  EXPECT_EQ(build(2, 2).buckets(), Buckets());
}

TEST(OverlapPreservingBucketing, GivesHidingToAnotherIfThatIsWorthIt) {
  // The mm hides the second and a part of the third, which is of another key.
  // Once the first two are one, it hides nothing of them but all of the third.
  Program program;
  program.launchNs = 8;
  NodeId a = program.gather(8), b = program.gather(8),
         c = program.gather(8, {}, 1);
  NodeId waitA = program.wait(a);
  program.mm(20, {waitA});
  program.wait(b);
  program.wait(c);
  EXPECT_EQ(program.buckets(), (Buckets{{a, b}}));
}

TEST(OverlapPreservingBucketing, WaitingForOneInsteadOfTheOtherIsNoLoss) {
  // The middle one is of another key, and waited for second, when all are over.
  // Merged, the gathers are waited for first; in sum nothing is lost.
  Program program;
  NodeId a = program.gather(8), b = program.gather(8),
         middle = program.gather(8, {}, 1);
  program.wait(a);
  program.wait(middle);
  program.wait(b);
  EXPECT_EQ(program.buckets(), (Buckets{{a, b}}));

  // On another stream, too: what the one stalls less the other stalls more.
  Program streams;
  NodeId c = streams.gather(8), d = streams.gather(8),
         other = streams.gather(18, {}, 1, 1);
  streams.wait(c);
  streams.wait(d);
  streams.wait(other);
  EXPECT_EQ(streams.buckets(), (Buckets{{c, d}}));
}

TEST(OverlapPreservingBucketing, BlamesWhoGoesAheadOfOthers) {
  // A pair that goes well together, hidden by mm2. Before it one of a pair of
  // another key, whose second would come up from behind and hold it up.
  Program program;
  NodeId early = program.gather(8, {}, 1);
  program.mm(6);
  NodeId a = program.gather(8), b = program.gather(8);
  program.mm(25);
  NodeId waitA = program.wait(a), waitB = program.wait(b);
  program.wait(early);
  program.mm(1, {waitA, waitB});
  NodeId late = program.gather(8, {}, 1);
  program.mm(10);
  program.wait(late);
  EXPECT_EQ(program.buckets(), (Buckets{{a, b}}));
}

TEST(OverlapPreservingBucketing, BlamesWhoStartsLate) {
  // The second of the other pair needs mm1, so that both start after it.
  Program program;
  NodeId early = program.gather(8, {}, 1);
  NodeId mm1 = program.mm(10);
  NodeId late = program.gather(8, {mm1}, 1);
  NodeId a = program.gather(8), b = program.gather(8);
  program.mm(30);
  NodeId waitA = program.wait(a), waitB = program.wait(b);
  program.wait(early);
  program.mm(1, {waitA, waitB});
  program.wait(late);
  EXPECT_EQ(program.buckets(), (Buckets{{a, b}}));
}

TEST(OverlapPreservingBucketing, BlamesNobodyElse) {
  // As above, with a pair at first that is exposed, and to which it is not due.
  Program program;
  NodeId h = program.gather(8, {}, 2), h2 = program.gather(8, {}, 2);
  NodeId early = program.gather(8, {}, 1);
  NodeId a = program.gather(8), b = program.gather(8);
  NodeId waitH = program.wait(h), waitH2 = program.wait(h2);
  program.mm(30, {waitH, waitH2});
  NodeId waitA = program.wait(a), waitB = program.wait(b);
  program.wait(early);
  program.mm(1, {waitA, waitB});
  NodeId late = program.gather(8, {}, 1);
  program.mm(10);
  program.wait(late);
  EXPECT_EQ(program.buckets(), (Buckets{{h, h2}, {a, b}}));

  // Nor to a late pair that is over by then.
  Program other;
  NodeId mm1 = other.mm(10);
  NodeId r = other.gather(8, {mm1}, 2);
  NodeId mm2 = other.mm(1);
  NodeId r2 = other.gather(8, {mm2}, 2);
  NodeId waitR = other.wait(r), waitR2 = other.wait(r2);
  other.mm(50, {waitR, waitR2});
  early = other.gather(8, {}, 1);
  other.mm(6);
  a = other.gather(8);
  b = other.gather(8);
  other.mm(25);
  waitA = other.wait(a);
  waitB = other.wait(b);
  other.wait(early);
  other.mm(1, {waitA, waitB});
  late = other.gather(8, {}, 1);
  other.mm(10);
  other.wait(late);
  EXPECT_EQ(other.buckets(), (Buckets{{r, r2}, {a, b}}));
}

TEST(OverlapPreservingBucketing, WhoHasNoRoomBlamesNobody) {
  // A late pair, and directly behind it one that is to be kept apart.
  Program program;
  NodeId mm1 = program.mm(10);
  NodeId r = program.gather(8, {mm1}, 1);
  NodeId mm2 = program.mm(1);
  NodeId r2 = program.gather(8, {mm2}, 1);
  NodeId a = program.gather(8);
  NodeId waitR = program.wait(r), waitR2 = program.wait(r2);
  program.mm(10, {waitR, waitR2});
  NodeId b = program.gather(8);
  NodeId waitA = program.wait(a);
  program.mm(10, {waitA});
  program.wait(b);
  EXPECT_EQ(program.buckets(), (Buckets{{r, r2}}));
}

TEST(OverlapPreservingBucketing, BlamesWhoTakesAwayWhatHides) {
  // A pair that pays; then a collective that a cast hides, which goes ahead of
  // it with the gather of what was cast.
  Program program;
  NodeId f = program.gather(8, {}, 1), f2 = program.gather(8, {}, 1);
  NodeId waitF = program.wait(f), waitF2 = program.wait(f2);
  program.mm(10, {waitF, waitF2});
  NodeId n = program.gather(8);
  NodeId victim = addStart(program.problem, 10, {}, 1);
  NodeId cast = program.cheap(10);
  NodeId n2 = program.gather(8, {cast});
  NodeId waitVictim = program.wait(victim);
  program.mm(40, {waitVictim});
  program.wait(n);
  program.wait(n2);
  EXPECT_EQ(program.buckets(), (Buckets{{f, f2}}));
}

TEST(OverlapPreservingBucketing, BlamesWhoNoLongerRunsBesideAnother) {
  // A pair that pays; then two collectives at the same time. One could be
  // merged with what comes later; nothing is uncovered for longer, but no more
  // at the same time.
  Program program;
  NodeId f = program.gather(8, {}, 1), f2 = program.gather(8, {}, 1);
  NodeId waitF = program.wait(f), waitF2 = program.wait(f2);
  program.mm(10, {waitF, waitF2});
  NodeId a = program.gather(8);
  NodeId other = addStart(program.problem, 10, {}, 1);
  program.wait(a);
  NodeId mm = program.mm(5, {program.wait(other)});
  NodeId b = program.gather(8, {mm});
  program.wait(b);
  EXPECT_EQ(program.buckets(), (Buckets{{f, f2}}));
}

TEST(OverlapPreservingBucketing, TheGainOfOneDoesNotExcuseAnother) {
  // A pair that pays more than the other one, which is to be kept apart, costs.
  Program program;
  program.launchNs = 8;
  NodeId f = program.gather(8, {}, 1), f2 = program.gather(8, {}, 1);
  NodeId waitF = program.wait(f), waitF2 = program.wait(f2);
  program.mm(10, {waitF, waitF2});
  NodeId a = program.gather(8);
  program.mm(18);
  NodeId b = program.gather(8);
  NodeId waitA = program.wait(a);
  program.mm(18, {waitA});
  program.wait(b);
  EXPECT_EQ(program.buckets(), (Buckets{{f, f2}}));
}

TEST(OverlapPreservingBucketing, KeepsApartEvenWhereNobodyWaits) {
  // A pair that is to be kept apart, while a long collective decides when the
  // step is over.
  Program program;
  NodeId longest = addStart(program.problem, 100, {}, 1);
  NodeId a = program.gather(8);
  program.mm(10);
  NodeId b = program.gather(8);
  NodeId waitA = program.wait(a);
  program.mm(10, {waitA});
  program.wait(b);
  program.wait(longest);
  EXPECT_EQ(program.buckets(), Buckets());
}

TEST(OverlapPreservingBucketing, ALateReductionKeepsWhatHidesIt) {
  // Two layers of backward pass: what arrives is scaled. The scaling of the
  // first goes down, so that mm3 hides both.
  Program program;
  NodeId mm1 = program.mm(10);
  NodeId a = program.gather(8, {mm1});
  NodeId mm2 = program.mm(10);
  NodeId waitA = program.wait(a);
  program.cheap(1, {waitA});
  NodeId b = program.gather(8, {mm2});
  program.mm(20);
  NodeId waitB = program.wait(b);
  program.cheap(1, {waitB});
  EXPECT_EQ(program.buckets(), (Buckets{{a, b}}));
}

TEST(OverlapPreservingBucketing, LooksAtExposedOnesFirst) {
  // Hidden and exposed in turns; no more than two fit a bucket.
  Program program;
  program.capBytes = 16;
  std::vector<NodeId> hidden, exposed;
  for (int i = 0; i < 2; ++i) {
    hidden.push_back(program.gather(8));
    program.mm(30);
    program.wait(hidden.back());
    exposed.push_back(program.gather(8));
    program.wait(exposed.back());
  }
  EXPECT_EQ(program.buckets(),
            (Buckets{{hidden[0], exposed[0]}, {hidden[1], exposed[1]}}));
  program.exposedFirst = true;
  EXPECT_EQ(program.buckets(),
            (Buckets{{hidden[0], hidden[1]}, {exposed[0], exposed[1]}}));
  // Fates are in the order of the candidates, however they were looked at.
  std::reverse(program.candidates.begin(), program.candidates.end());
  Result<Bucketing> result = program.form();
  ASSERT_TRUE(result) << result.error();
  std::vector<int32_t> bucketOf;
  for (BucketAssignment assignment : result->assignments)
    bucketOf.push_back(assignment.bucket);
  EXPECT_EQ(bucketOf, (std::vector<int32_t>{1, 0, 1, 0}));
}

TEST(OverlapPreservingBucketing, LooksInTheOrderOfTheProgram) {
  Program program;
  program.capBytes = 16;
  for (int i = 0; i < 3; ++i)
    program.wait(program.gather(8));
  std::reverse(program.candidates.begin(), program.candidates.end());
  EXPECT_EQ(program.buckets(), (Buckets{{0, 2}}));
}

/// The forward pass of a transformer, each layer of which needs seven gathers
/// that are prefetched one layer ahead, and takes as long to communicate as to
/// compute.
Program makeTransformer(int numLayers) {
  Program program;
  program.launchNs = 20;
  std::vector<NodeId> starts;
  auto prefetch = [&](int layer) {
    for (int i = 0; i < 7; ++i) {
      NodeId cast = program.cheap(2);
      int64_t bytes = 50 + (i * 37 + layer * 11) % 100;
      starts.push_back(program.gather(bytes, {cast}));
    }
  };
  prefetch(0);
  for (int layer = 0; layer < numLayers; ++layer) {
    if (layer + 1 < numLayers)
      prefetch(layer + 1);
    for (int i = 0; i < 7; ++i) {
      NodeId last = program.problem.numNodes() - 1;
      program.mm(100, {program.wait(starts[layer * 7 + i]), last});
    }
  }
  return program;
}

TEST(OverlapPreservingBucketing, FindsBucketsOfATransformer) {
  Program program = makeTransformer(8);
  program.capBytes = 2000;
  program.problem.finalize();
  auto getStepNs = [&](const std::vector<Bucket> &buckets) {
    std::vector<BucketCost> costs;
    for (const Bucket &bucket : buckets)
      costs.push_back(program.getCost(bucket.starts));
    Result<BucketedProblem> bucketed =
        BucketedProblem::create(program.problem, buckets, costs);
    return simulate(bucketed->getProblem(), *bucketed->place())->stepNs;
  };
  // As large as they may be, buckets are worse than none.
  int64_t originalNs = getStepNs({});
  BucketingOptions options;
  options.capBytes = {{program.capBytes}};
  int64_t formedNs = getStepNs(
      formBuckets(program.problem, program.candidates, options)->buckets);
  Result<Bucketing> result = program.form();
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(originalNs, 6794);
  EXPECT_EQ(formedNs, 8844);
  EXPECT_LE(getStepNs(result->buckets), 6500);
}

TEST(OverlapPreservingBucketing, SaysWhatIsWrong) {
  Program program;
  NodeId a = program.gather(8), b = program.gather(8, {}, 0, 1);
  NodeId cast = program.cheap(1);
  program.wait(a);
  program.wait(b);
  EXPECT_EQ(program.form().error(), "bucket 0 has node 0 (start) on stream 0 "
                                    "and node 1 (start) on stream 1");
  program.problem.addDependence(cast, a, DependenceKind::Data);
  EXPECT_EQ(program.form().error(),
            "the program is not a legal order: node 0 (start) at position 0 "
            "comes before node 2 (compute) at position 2, on which it depends "
            "(data)");
  program.problem.addDependence(a, cast, DependenceKind::Data);
  EXPECT_EQ(program.form().error(),
            "dependences form a cycle of 2 nodes: node 0 (start) -> node 2 "
            "(compute) -> node 0 (start)");

  Program other;
  other.wait(other.gather(8));
  other.candidates[0].start = 1;
  EXPECT_EQ(other.form().error(), "node 1 (wait) is a candidate, but only a "
                                  "start can be in a bucket");
  other.candidates[0].start = 5;
  EXPECT_EQ(other.form().error(),
            "node 5 is a candidate; the problem has 2 nodes");
  other.candidates[0] = {0, -1, 8};
  EXPECT_EQ(other.form().error(), "node 0 (start) has bucket key -1, but there "
                                  "are caps for 3 keys");
  EXPECT_EQ(formOverlapPreservingBuckets(other.problem, {}, {{{1}, {1}}},
                                         {true}, nullptr)
                .error(),
            "exposedFirst is given for 1 keys, caps for 2");
}

/// How a program runs, tick by tick.
struct ReferenceExecution {
  int64_t stepNs;
  /// By node: how many ticks a collective runs without computation beside it.
  std::vector<int64_t> uncoveredNs;

  ReferenceExecution(const Problem &problem, const Order &order)
      : uncoveredNs(order.size()) {
    ReferenceSimulator simulator(problem, order);
    stepNs = simulator.run();
    std::vector<bool> computes(stepNs);
    for (NodeId node : order)
      if (problem.kind(node) == NodeKind::Compute)
        for (int64_t t = simulator.begins()[node]; t < simulator.ends()[node];
             ++t)
          computes[t] = true;
    for (NodeId node : order)
      if (problem.isCollective(node))
        for (int64_t t = simulator.begins()[node]; t < simulator.ends()[node];
             ++t)
          uncoveredNs[node] += !computes[t];
  }
};

/// Candidates of a random problem, and what merging them costs.
struct RandomCase {
  Problem problem;
  std::vector<BucketCandidate> candidates;
  BucketingOptions options;
  std::vector<bool> exposedFirst;
  uint64_t seed;

  explicit RandomCase(uint64_t seed) : seed(seed) {
    RandomProblemOptions random;
    random.maxNodes = seed % 4 == 0 ? 150 : 50;
    random.maxStreams = 2;
    random.expensivePercent = seed % 3 ? 30 : 0;
    problem = makeRandomProblem(seed, random);
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.kind(node) == NodeKind::Start)
        candidates.push_back({node, problem.stream(node), node % 5});
    options.capBytes = {{8, 20}, {1000}};
    exposedFirst = {seed % 5 == 0, seed % 7 == 0};
  }

  BucketCost getCost(const std::vector<NodeId> &starts) const {
    BucketCost cost;
    for (NodeId start : starts)
      cost.collectiveNs += problem.costNs(start);
    int64_t saved = static_cast<int64_t>(seed % 4 * (starts.size() - 1));
    cost.collectiveNs = std::max(cost.collectiveNs - saved, int64_t(0));
    cost.copyInNs = seed % 3 == 0;
    // Casts: cheap operations that only one member needs.
    if (seed % 2)
      for (NodeId start : starts)
        for (DependenceEnd end : problem.predecessors(start))
          if (problem.kind(end.node) == NodeKind::Compute &&
              problem.successors(end.node).size() == 1)
            cost.absorbed.push_back(end.node);
    return cost;
  }

  /// How the program runs when buckets are merged, and whether any collective
  /// is uncovered for longer than its members were.
  std::pair<int64_t, bool> merge(const std::vector<Bucket> &buckets) const {
    std::vector<BucketCost> costs;
    for (const Bucket &bucket : buckets)
      costs.push_back(getCost(bucket.starts));
    Result<BucketedProblem> bucketed =
        BucketedProblem::create(problem, buckets, costs);
    EXPECT_TRUE(bucketed) << bucketed.error();
    Result<Order> order = bucketed->place();
    EXPECT_TRUE(order) << order.error();
    ReferenceExecution before(problem, problem.programOrder());
    ReferenceExecution after(bucketed->getProblem(), *order);
    std::vector<int64_t> mayBe(order->size());
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      mayBe[bucketed->nodeOf(node)] += before.uncoveredNs[node];
    bool anyLoses = false;
    for (size_t node = 0; node < mayBe.size(); ++node)
      anyLoses |= after.uncoveredNs[node] > mayBe[node];
    return {after.stepNs, anyLoses};
  }
};

TEST(OverlapPreservingBucketing, NoStepIsLongerAndWhatIsFineStays) {
  int numKept = 0, numSplit = 0, numAlone = 0, numBetter = 0;
  // The same problems always: of the cases of some later seeds, the first of
  // which is known to be 11'111'496, buckets make a cycle, which is an error.
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase test(seed);
    Result<Bucketing> result = formOverlapPreservingBuckets(
        test.problem, test.candidates, test.options, test.exposedFirst,
        [&](const std::vector<NodeId> &starts) {
          return test.getCost(starts);
        });
    ASSERT_TRUE(result) << result.error();
    int64_t originalNs = test.merge({}).first;
    int64_t stepNs = test.merge(result->buckets).first;
    ASSERT_LE(stepNs, originalNs);

    // Fates and buckets say the same.
    std::vector<std::vector<NodeId>> members(result->buckets.size());
    for (size_t i = 0; i < test.candidates.size(); ++i) {
      BucketAssignment assignment = result->assignments[i];
      ASSERT_EQ(assignment.bucket < 0,
                assignment.reason != UnbucketedReason::None);
      if (assignment.bucket >= 0)
        members[assignment.bucket].push_back(test.candidates[i].start);
      if (assignment.reason == UnbucketedReason::LosesOverlap) {
        ASSERT_NE(assignment.other, test.candidates[i].start);
        ASSERT_EQ(test.problem.stream(assignment.other),
                  test.candidates[i].key);
      }
      numAlone += assignment.reason == UnbucketedReason::LosesOverlap;
    }
    for (size_t i = 0; i < members.size(); ++i) {
      const Bucket &bucket = result->buckets[i];
      ASSERT_EQ(bucket.starts, members[i]);
      int64_t bytes = 0;
      for (NodeId start : members[i])
        bytes += start % 5;
      ASSERT_EQ(bucket.bytes, bytes);
      if (i > 0) {
        ASSERT_LT(members[i - 1].front(), members[i].front());
      }
    }

    // Buckets of formBuckets() without a loss are kept.
    if (test.exposedFirst[0] || test.exposedFirst[1])
      continue;
    Result<Bucketing> formed =
        formBuckets(test.problem, test.candidates, test.options);
    ASSERT_TRUE(formed) << formed.error();
    if (formed->buckets.empty())
      continue;
    auto [formedNs, anyLoses] = test.merge(formed->buckets);
    ASSERT_LE(stepNs, formedNs);
    bool isFine = !anyLoses && formedNs <= originalNs;
    if (isFine) {
      ASSERT_EQ(result->buckets.size(), formed->buckets.size());
      for (size_t i = 0; i < formed->buckets.size(); ++i)
        ASSERT_EQ(result->buckets[i].starts, formed->buckets[i].starts);
    }
    (isFine ? numKept : numSplit) += 1;
    numBetter += stepNs < std::min(originalNs, formedNs);
  }
  EXPECT_GT(numKept, 200);
  EXPECT_GT(numSplit, 200);
  EXPECT_GT(numAlone, 200);
  EXPECT_GT(numBetter, 30);
}

} // namespace
