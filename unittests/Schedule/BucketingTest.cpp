//===- BucketingTest.cpp - Tests of the formation of buckets --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bucketing/Bucketing.h"
#include "ReferenceContraction.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// The buckets, and by candidate the reason why it is alone and, of those that
/// are Dependent, whom it may depend on.
struct ReferenceBucketing {
  using Members = std::tuple<std::vector<NodeId>, int32_t, int64_t>;
  /// The starts, the key and the bytes of each.
  std::vector<Members> buckets;
  std::vector<UnbucketedReason> reasons;
  std::vector<std::vector<NodeId>> others;
};

/// formBuckets() literally by its contract: tries every candidate with every
/// open bucket by merging the two and searching the whole program for a cycle.
ReferenceBucketing
formBucketsSlowly(const Problem &problem,
                  const std::vector<BucketCandidate> &candidates,
                  const BucketingOptions &options) {
  struct Forming {
    int32_t key;
    int64_t cap;
    int64_t bytes;
    std::vector<size_t> members;
    int refusals = 0;
    bool isOpen = true;
  };
  ReferenceBucketing result;
  result.reasons.resize(candidates.size());
  result.others.resize(candidates.size());
  ReferenceContraction graph(problem);
  std::vector<Forming> all;
  std::vector<size_t> numOpened(options.capBytes.size());

  auto tell = [&](size_t index, UnbucketedReason reason) {
    if (result.reasons[index] == UnbucketedReason::None)
      result.reasons[index] = reason;
  };
  auto joins = [&](Forming &bucket, size_t index) {
    int64_t bytes = candidates[index].bytes;
    if (!bucket.isOpen || bucket.key != candidates[index].key ||
        bytes > bucket.cap)
      return false;
    if (bucket.bytes + bytes > bucket.cap ||
        static_cast<int64_t>(bucket.members.size()) == options.maxCount) {
      bucket.isOpen = false;
      tell(index, UnbucketedReason::BucketFull);
      tell(bucket.members[0], UnbucketedReason::BucketFull);
      return false;
    }
    NodeId start = candidates[index].start;
    NodeId member = candidates[bucket.members[0]].start;
    ReferenceContraction merged = graph;
    merged.merge(member, start);
    merged.merge(problem.waitOf(member), problem.waitOf(start));
    if (merged.hasCycle()) {
      bucket.isOpen = ++bucket.refusals < 16;
      result.reasons[index] = UnbucketedReason::Dependent;
      result.others[index].clear();
      for (size_t other : bucket.members)
        result.others[index].push_back(candidates[other].start);
      if (result.reasons[bucket.members[0]] == UnbucketedReason::None)
        result.others[bucket.members[0]] = {start};
      tell(bucket.members[0], UnbucketedReason::Dependent);
      return false;
    }
    graph = merged;
    bucket.bytes += bytes;
    bucket.refusals = 0;
    bucket.members.push_back(index);
    return true;
  };

  for (size_t index = 0; index < candidates.size(); ++index) {
    auto [start, key, bytes] = candidates[index];
    bool hasJoined = false;
    for (size_t i = 0; i < all.size() && !hasJoined; ++i)
      hasJoined = joins(all[i], index);
    if (hasJoined)
      continue;
    const std::vector<int64_t> &caps = options.capBytes[key];
    auto capOf = [&](size_t i) { return caps[std::min(i, caps.size() - 1)]; };
    int64_t cap = capOf(numOpened[key]);
    if (bytes > cap) {
      tell(index, UnbucketedReason::OverCap);
      for (size_t i = numOpened[key]; i < caps.size(); ++i)
        if (bytes <= caps[i]) {
          ++numOpened[key];
          break;
        }
      continue;
    }
    ++numOpened[key];
    Forming *mostRefusals = nullptr;
    int numOpen = 0;
    for (Forming &bucket : all)
      if (bucket.isOpen && bucket.key == key) {
        ++numOpen;
        if (!mostRefusals || bucket.refusals > mostRefusals->refusals)
          mostRefusals = &bucket;
      }
    if (numOpen == 16)
      mostRefusals->isOpen = false;
    all.push_back({key, cap, bytes, {index}});
  }

  for (const Forming &bucket : all)
    if (bucket.members.size() == 1) {
      auto isPartner = [&](const Forming &other) {
        return &other != &bucket && other.key == bucket.key;
      };
      tell(bucket.members[0], std::any_of(all.begin(), all.end(), isPartner)
                                  ? UnbucketedReason::BucketFull
                                  : UnbucketedReason::NoPartner);
    } else {
      std::vector<NodeId> starts;
      for (size_t member : bucket.members) {
        starts.push_back(candidates[member].start);
        result.reasons[member] = UnbucketedReason::None;
      }
      std::sort(starts.begin(), starts.end());
      result.buckets.push_back({starts, bucket.key, bucket.bytes});
    }
  std::sort(result.buckets.begin(), result.buckets.end());
  return result;
}

using Candidates = std::vector<BucketCandidate>;
using Starts = std::vector<NodeId>;

constexpr int64_t huge = std::numeric_limits<int64_t>::max();

Bucketing form(const Problem &problem, const Candidates &candidates,
               const BucketingOptions &options = {{{huge}}}) {
  return need(formBuckets(problem, candidates, options));
}

std::vector<Starts> startsOf(const Bucketing &bucketing) {
  std::vector<Starts> starts;
  for (const Bucket &bucket : bucketing.buckets)
    starts.push_back(bucket.starts);
  return starts;
}

std::vector<UnbucketedReason> reasonsOf(const Bucketing &bucketing) {
  std::vector<UnbucketedReason> reasons;
  for (const BucketAssignment &assignment : bucketing.assignments)
    reasons.push_back(assignment.reason);
  return reasons;
}

/// Collectives that have nothing to do with each other, of the given sizes and
/// one key.
struct Independent {
  TextProblem problem;
  Candidates candidates;

  explicit Independent(const std::vector<int64_t> &sizes)
      : problem(repeat(static_cast<int32_t>(sizes.size()),
                       "s$ = start 1; wait s$")) {
    for (int64_t bytes : sizes)
      candidates.push_back(
          {static_cast<NodeId>(2 * candidates.size()), 0, bytes});
  }
};

TEST(Bucketing, DoesNotOverflow) {
  Independent three({huge - 1, huge, 1});
  EXPECT_EQ(startsOf(form(three.problem, three.candidates)),
            (std::vector<Starts>{}))
      << "the second closes the first's bucket, and the third the second's";
  Independent two({huge - 1, 1});
  Bucketing bucketing = form(two.problem, two.candidates);
  EXPECT_EQ(startsOf(bucketing), (std::vector<Starts>{{0, 2}}));
  EXPECT_EQ(bucketing.buckets[0].bytes, huge);
}

void expectError(const Problem &problem, const Candidates &candidates,
                 const BucketingOptions &options, const char *message) {
  Result<Bucketing> result = formBuckets(problem, candidates, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), message);
}

TEST(Bucketing, RejectsBadCandidates) {
  Problem open;
  expectError(open, {}, {}, "the problem is not finalized");
  Independent two({1, 1});
  const Problem &problem = two.problem;
  BucketingOptions options = {{{5}}};
  expectError(problem, {{4, 0, 1}}, options,
              "node 4 is a candidate; the problem has 4 nodes");
  expectError(problem, {{noNode, 0, 1}}, options,
              "node -1 is a candidate; the problem has 4 nodes");
  expectError(problem, {{1, 0, 1}}, options,
              "node 1 (wait) is a candidate, but only a start can be in a "
              "bucket");
  expectError(problem, {{0, 0, 1}, {2, 0, 1}, {0, 0, 1}}, options,
              "node 0 (start) is a candidate twice");
  expectError(problem, {{0, 1, 1}}, options,
              "node 0 (start) has bucket key 1, but there are caps for 1 keys");
  expectError(
      problem, {{0, -1, 1}}, options,
      "node 0 (start) has bucket key -1, but there are caps for 1 keys");
  expectError(problem, {{2, 0, -7}}, options,
              "node 2 (start) has a negative size of -7 bytes");
}

TEST(Bucketing, RejectsBadOptions) {
  Independent two({1, 1});
  const Problem &problem = two.problem;
  expectError(problem, {}, {{{5}, {}}}, "there is no cap for bucket key 1");
  expectError(problem, {}, {{{5, 0}}},
              "cap 1 for bucket key 0 is 0 bytes; it has to be positive");
  expectError(problem, {}, {{{5}}, 0},
              "a bucket may have 0 members; it has to be at least 1");
}

/// A random program with random candidates of it and options.
struct Drawn {
  Problem problem;
  Candidates candidates;
  BucketingOptions options;

  Drawn(uint64_t seed, const RandomProblemOptions &problemOptions)
      : problem(makeRandomProblem(seed, problemOptions)) {
    std::mt19937_64 random(seed);
    auto below = [&](uint64_t bound) {
      return static_cast<int64_t>(random() % bound);
    };
    int64_t numKeys = 1 + below(3);
    for (int64_t key = 0; key < numKeys; ++key) {
      options.capBytes.emplace_back();
      for (int64_t caps = 1 + below(3); caps > 0; --caps)
        options.capBytes.back().push_back(1 + below(seed % 4 ? 60 : 12));
    }
    if (below(3) == 0)
      options.maxCount = 1 + below(5);
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (problem.kind(node) == NodeKind::Start && below(8) > 0)
        candidates.push_back(
            {node, static_cast<int32_t>(below(numKeys)), below(14)});
    // Not always in the order of the program.
    if (seed % 2)
      for (size_t i = candidates.size(); i > 1; --i)
        std::swap(candidates[i - 1], candidates[below(i)]);
  }
};

void compareWith(const ReferenceBucketing &reference,
                 const Bucketing &bucketing, const Candidates &candidates) {
  std::vector<ReferenceBucketing::Members> buckets;
  for (const Bucket &bucket : bucketing.buckets)
    buckets.push_back({bucket.starts, bucket.key, bucket.bytes});
  EXPECT_EQ(buckets, reference.buckets);
  EXPECT_EQ(reasonsOf(bucketing), reference.reasons);
  for (size_t i = 0; i < bucketing.assignments.size(); ++i) {
    const BucketAssignment &assignment = bucketing.assignments[i];
    EXPECT_EQ(assignment.bucket < 0,
              assignment.reason != UnbucketedReason::None);
    if (assignment.reason == UnbucketedReason::Dependent) {
      const Starts &others = reference.others[i];
      EXPECT_NE(std::find(others.begin(), others.end(), assignment.other),
                others.end());
    } else {
      EXPECT_EQ(assignment.other, noNode);
    }
    if (assignment.bucket >= 0) {
      const Starts &starts = bucketing.buckets[assignment.bucket].starts;
      EXPECT_TRUE(std::binary_search(starts.begin(), starts.end(),
                                     candidates[i].start));
    }
  }
}

TEST(Bucketing, FormsWhatTheReferenceForms) {
  // The large ones have enough of one key to reach what bounds the searches.
  for (auto [maxNodes, count] : {std::pair(60, 600), {400, 30}})
    for (uint64_t seed : Seeds(count)) {
      RandomProblemOptions options;
      options.maxNodes = maxNodes;
      options.shuffleProgram = maxNodes == 60 && seed % 3 == 0;
      Drawn drawn(seed, options);
      ASSERT_TRUE(drawn.problem.check());
      compareWith(
          formBucketsSlowly(drawn.problem, drawn.candidates, drawn.options),
          form(drawn.problem, drawn.candidates, drawn.options),
          drawn.candidates);
      if (HasFailure())
        FAIL();
    }
}

/// A step of fully sharded data parallelism on top of tensor parallelism, two
/// layers a repetition: parameters are gathered in both passes (stream 0), a
/// product of both layers is reduced before the next one (stream 1), and in the
/// backward pass gradients are scattered and used when all is done (stream 2).
TextProblem makeLargeStep(int32_t numPairs) {
  std::string chain;
  for (int i = 1; i < 40; ++i)
    chain +=
        "f$." + std::to_string(i) + " = 1 f$." + std::to_string(i - 1) + ";";
  return "r-1' = arg 0;" +
         repeat(numPairs, "g$ = start 1; wait g$; h$ = start 1; wait h$;"
                          "f$.0 = 1 r^' g$';" +
                              chain +
                              "e$ = 1 f$.39 h$'; r$ = start 1@1 e$; wait r$") +
         "R-1 = start 1@1 r" + std::to_string(numPairs - 1) + "'; wait R-1;" +
         repeat(numPairs, "G$ = start 1; wait G$; H$ = start 1; wait H$;"
                          "E$ = 1 R^' G$' e$; s$ = start 1@2 E$;"
                          "F$ = 1 E$ H$' f$.0; t$ = start 1@2 F$;"
                          "R$ = start 1@1 F$; wait R$") +
         repeat(numPairs, "wait s$; u$ = 1 s$'; wait t$; v$ = 1 t$'");
}

/// Anything quadratic would take minutes.
TEST(Bucketing, HandlesLargeSteps) {
  TextProblem problem = makeLargeStep(2000);
  Candidates candidates;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == NodeKind::Start)
      candidates.push_back({node, problem.stream(node), 1});
  for (int64_t cap : {int64_t(8), int64_t(1000), huge}) {
    Bucketing bucketing = form(problem, candidates, {{{cap}, {cap}, {cap}}});
    int64_t numGathers = 0, numScatters = 0;
    for (const Bucket &bucket : bucketing.buckets) {
      EXPECT_NE(bucket.key, 1) << "no two of a chain can be merged";
      EXPECT_EQ(bucket.bytes, bucket.key == 0 ? std::min<int64_t>(cap, 8000)
                                              : std::min<int64_t>(cap, 4000));
      ++(bucket.key == 0 ? numGathers : numScatters);
    }
    EXPECT_EQ(numGathers, cap == huge ? 1 : 8000 / cap);
    EXPECT_EQ(numScatters, cap == huge ? 1 : 4000 / cap);
  }
}

} // namespace
