//===- MinCutTest.cpp - Tests of the minimum cuts of a joint graph --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/MinCut.h"
#include "CommSched/Partition/PricedCut.h"
#include "FlowNetwork.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

namespace {

constexpr VertexId source = FlowNetwork::source;
constexpr VertexId sink = FlowNetwork::sink;
constexpr int64_t unbounded = FlowNetwork::unbounded;

using Sides = std::vector<char>;

/// With so many vertices besides the source and the sink: 2, 3 and so on.
FlowNetwork makeNetwork(int count,
                        const std::vector<FlowNetwork::Edge> &edges) {
  FlowNetwork network;
  for (; count > 0; --count)
    network.addVertex();
  for (const FlowNetwork::Edge &edge : edges)
    network.addEdge(edge.from, edge.to, edge.capacity);
  return network;
}

FlowNetwork::Cut expectCut(const FlowNetwork &network, int64_t capacity) {
  FlowNetwork::Cut cut = network.findMinimumCut();
  EXPECT_TRUE(network.verify(cut));
  EXPECT_TRUE(cut.unboundedPath.empty());
  EXPECT_EQ(cut.capacity, capacity);
  EXPECT_EQ(cut.flow, capacity);
  return cut;
}

TEST(FlowNetworkTest, NamesTheShortestUnboundedPath) {
  FlowNetwork network = makeNetwork(3, {{source, 2, unbounded},
                                        {2, 3, unbounded},
                                        {3, sink, unbounded},
                                        {source, sink, 7},
                                        {source, 4, unbounded},
                                        {source, 4, unbounded},
                                        {4, sink, unbounded}});
  FlowNetwork::Cut cut = network.findMinimumCut();
  EXPECT_TRUE(network.verify(cut));
  EXPECT_TRUE(cut.onSinkSide.empty());
  ASSERT_EQ(cut.unboundedPath.size(), 2u);
  EXPECT_EQ(cut.unboundedPath[0].to, 4);
  EXPECT_EQ(cut.unboundedPath[1].from, 4);
  // Of two equally short ones, the one that was added first.
  network.addEdge(2, sink, unbounded);
  cut = network.findMinimumCut();
  ASSERT_EQ(cut.unboundedPath.size(), 2u);
  EXPECT_EQ(cut.unboundedPath[0].to, 2);
}

TEST(FlowNetworkTest, DividesCapacitiesThatDoNotFit) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  FlowNetwork network = makeNetwork(2, {{source, 2, huge},
                                        {2, sink, huge / 4},
                                        {source, 3, huge},
                                        {3, sink, huge / 4}});
  // The sum is 2.5 * 2^63, so capacities are divided by 2^4.
  EXPECT_EQ(expectCut(network, huge / 4 / 16 * 2).onSinkSide,
            (Sides{0, 1, 0, 0}));
  FlowNetwork fits;
  fits.addEdge(source, sink, (int64_t(1) << 61) - 1);
  expectCut(fits, (int64_t(1) << 61) - 1);
  fits.addEdge(source, sink, 1);
  expectCut(fits, (int64_t(1) << 60) - 1);
}

/// Capacity 2 from the source, then 1 to the sink beside an unbounded edge to
/// where nothing goes on.
FlowNetwork makeSmall() {
  return makeNetwork(2, {{source, 2, 2}, {2, sink, 1}, {2, 3, unbounded}});
}

TEST(FlowNetworkTest, VerificationRefusesWrongCuts) {
  FlowNetwork network = makeSmall();
  EXPECT_EQ(network.verify({{0, 1, 0}, 1, 1, {}}).error(),
            "the cut divides 3 vertices, but the network has 4");
  EXPECT_EQ(network.verify({{1, 1, 0, 0}, 1, 1, {}}).error(),
            "the cut does not divide the source from the sink");
  EXPECT_EQ(network.verify({{0, 0, 0, 0}, 1, 1, {}}).error(),
            "the cut does not divide the source from the sink");
  EXPECT_EQ(network.verify({{0, 1, 0, 1}, 1, 1, {}}).error(),
            "the cut divides the ends of an unbounded edge");
  EXPECT_EQ(network.verify({{0, 1, 0, 0}, 2, 1, {}}).error(),
            "the capacity across the cut is 1, not 2");
  EXPECT_EQ(network.verify({{0, 1, 1, 1}, 2, 1, {}}).error(),
            "the capacity across the cut is 2, but the flow is 1");
  EXPECT_TRUE(network.verify({{0, 1, 0, 0}, 1, 1, {}}));
}

TEST(FlowNetworkTest, VerificationRefusesWrongPaths) {
  FlowNetwork network = makeSmall();
  network.addEdge(source, 2, unbounded);
  network.addEdge(3, sink, unbounded);
  FlowNetwork::Edge first = {source, 2, unbounded};
  FlowNetwork::Edge second = {2, 3, unbounded};
  FlowNetwork::Edge third = {3, sink, unbounded};
  EXPECT_TRUE(network.verify({{}, 0, 0, {first, second, third}}));
  EXPECT_EQ(network.verify({{}, 0, 0, {first, second}}).error(),
            "the path ends at vertex 3, not at the sink");
  EXPECT_EQ(network.verify({{}, 0, 0, {first, third}}).error(),
            "the path goes from vertex 3 to vertex 1, where no unbounded edge "
            "continues it");
  EXPECT_EQ(network.verify({{}, 0, 0, {first, {2, sink, unbounded}}}).error(),
            "the path goes from vertex 2 to vertex 1, where no unbounded edge "
            "continues it");
}

/// Returns the capacity of the cut; none for unbounded.
std::optional<int64_t> measure(const FlowNetwork &network, const Sides &sides) {
  int64_t sum = 0;
  for (const FlowNetwork::Edge &edge : network.getEdges()) {
    if (sides[edge.from] || !sides[edge.to])
      continue;
    if (edge.capacity == unbounded)
      return std::nullopt;
    sum += edge.capacity;
  }
  return sum;
}

/// Of all cuts the smallest, and of those the one with the fewest vertices at
/// the sink; empty if all are unbounded.
Sides findByTryingAll(const FlowNetwork &network) {
  Sides best;
  int64_t least = 0;
  int64_t fewest = 0;
  for (uint32_t choice = 0; choice < (1u << (network.size() - 2)); ++choice) {
    Sides sides = {0, 1};
    for (VertexId vertex = 2; vertex < network.size(); ++vertex)
      sides.push_back(choice >> (vertex - 2) & 1);
    std::optional<int64_t> capacity = measure(network, sides);
    int64_t count = std::count(sides.begin(), sides.end(), 1);
    if (!capacity || (!best.empty() &&
                      std::tie(least, fewest) <= std::tie(*capacity, count)))
      continue;
    best = sides;
    least = *capacity;
    fewest = count;
  }
  return best;
}

FlowNetwork makeRandomNetwork(uint32_t seed) {
  std::mt19937 random(seed);
  FlowNetwork network;
  for (uint32_t count = random() % 9; count > 0; --count)
    network.addVertex();
  auto size = static_cast<uint32_t>(network.size());
  uint32_t unboundedPercent = random() % 40;
  uint32_t mostCapacity = 1 + random() % 30;
  for (uint32_t count = random() % (4 * size); count > 0; --count) {
    auto from = static_cast<VertexId>(random() % size);
    auto to = static_cast<VertexId>(random() % size);
    int64_t capacity = random() % mostCapacity;
    if (random() % 100 < unboundedPercent)
      capacity = unbounded;
    network.addEdge(from, to, capacity);
  }
  return network;
}

TEST(FlowNetworkTest, FindsTheSmallestOfAllCuts) {
  int32_t numWithoutCut = 0;
  for (uint64_t seed : Seeds(3000)) {
    FlowNetwork network = makeRandomNetwork(seed);
    FlowNetwork::Cut cut = network.findMinimumCut();
    ASSERT_TRUE(network.verify(cut));
    Sides expected = findByTryingAll(network);
    ASSERT_EQ(cut.unboundedPath.empty(), !expected.empty());
    numWithoutCut += expected.empty();
    ASSERT_EQ(cut.onSinkSide, expected);
    if (!expected.empty()) {
      ASSERT_EQ(cut.capacity, measure(network, expected));
    }
  }
  EXPECT_GT(numWithoutCut, 30);
}

/// Many values in a row, each of which can be cut, and read by others further
/// on: a network as large as those of the largest models.
TEST(FlowNetworkTest, TakesAHundredThousandVertices) {
  std::mt19937 random(1);
  FlowNetwork network;
  constexpr int32_t numValues = 50'000;
  auto in = [](int32_t value) { return 2 + 2 * value; };
  for (int32_t value = 0; value < numValues; ++value) {
    network.addVertex();
    network.addVertex();
    network.addEdge(in(value), in(value) + 1, 1 + random() % 1000);
    for (int32_t other : {1, 2, 1 + int32_t(random() % 50)})
      if (value >= other)
        network.addEdge(in(value - other) + 1, in(value), unbounded);
    if (random() % 4 == 0)
      network.addEdge(source, in(value), unbounded);
    if (random() % 8 == 0)
      network.addEdge(in(value) + 1, sink, unbounded);
  }
  FlowNetwork::Cut cut = network.findMinimumCut();
  EXPECT_TRUE(network.verify(cut));
  EXPECT_GT(cut.capacity, 0);
}

} // namespace

static PartitionResult<std::vector<NodeId>>
cut(const JointGraph &graph, const CutOptions &options = {}) {
  Classification classes = expectNoConflict(classify(graph));
  return solveMinCut(graph, classes, options,
                     findBans(graph, classes, options));
}

static std::string cutOrFail(const TextGraph &graph,
                             const CutOptions &options = {}) {
  return graph.tell(expectNoConflict(cut(graph, options)));
}

TEST(MinCut, AnArgumentThatStaysIsFreeToSave) {
  TextGraph graph(R"(
    p = parameter 1000000; dy = tangent 64; a = pointwise 500000 p
    dx = pointwise 64 a dy; return a | dx)");
  EXPECT_EQ(cutOrFail(graph), "p");
  CutOptions options;
  options.treatParametersAsFreeToSave = false;
  EXPECT_EQ(cutOrFail(graph, options), "a");
  graph["p"].isFreeable = true;
  EXPECT_EQ(cutOrFail(graph), "a");
}

TEST(MinCut, NamesWhatContradicts) {
  TextGraph graph(R"(
    p = parameter 8; dy = tangent 64; s = start p
    w = wait 64 s : must-recompute; dx = mm 64 w dy; return w | dx)");
  PartitionConflict conflict = expectConflict(cut(graph));
  EXPECT_EQ(graph.tell({conflict.node, conflict.other}), "s w");
  EXPECT_EQ(conflict.reason, "cannot be computed again, for it communicates, "
                             "and is no value that can be saved");
  EXPECT_EQ(conflict.otherReason, "has to be computed again");
}

/// A minimum cut by its definition, without a network: the lightest of all sets
/// of values from which the backward can be computed. Exponential.
namespace reference {

/// By node: whether the backward computes it if `saved` is there. None if
/// something that is banned, or an argument, would have to be computed.
static std::optional<std::vector<char>>
findComputed(const JointGraph &graph, const Classification &classes,
             const std::vector<BanReason> &bans,
             const std::vector<NodeId> &saved) {
  std::vector<char> isSaved(graph.size(), 0), needed(graph.size(), 0),
      isComputed(graph.size(), 0);
  for (NodeId node : saved)
    isSaved[node] = 1;
  for (NodeId node = graph.size() - 1; node >= 0; --node) {
    bool isBackward = classes.needsTangent[node];
    bool mustRepeat = !isBackward && isToBeRecomputed(graph[node]);
    if (isSaved[node] && (isBackward || mustRepeat || !graph[node].isSaveable))
      return std::nullopt;
    isComputed[node] =
        isBackward || mustRepeat ||
        ((needed[node] || classes.requiredBackward[node]) && !isSaved[node]);
    if (!isComputed[node])
      continue;
    if (!isBackward && bans[node] != BanReason::None)
      return std::nullopt;
    for (NodeId operand : graph.getOperands(node))
      needed[operand] = 1;
  }
  return isComputed;
}

/// The weight of saving a value; none if it cannot be saved.
static std::optional<int64_t> getWeight(const JointGraph &graph,
                                        const Classification &classes,
                                        const CutOptions &options,
                                        NodeId node) {
  const JointNode &data = graph[node];
  bool isOperation = data.kind == JointNodeKind::Operation;
  bool isView = isOperation && !data.isPinned &&
                data.operatorClass == OperatorClass::View;
  bool isConstant = isOperation && !data.isPinned &&
                    data.operatorClass == OperatorClass::Constant;
  if (!data.isSaveable)
    return std::nullopt;
  if (options.treatParametersAsFreeToSave &&
      data.kind == JointNodeKind::Primal && !data.isFreeable)
    return 0;
  bool mayBeRepeated = data.policy != RecomputePolicy::MustSave &&
                       data.tag != PartitionTag::MustBeForward;
  if (mayBeRepeated && (isConstant || (isView && options.recomputeViews)))
    return std::nullopt;
  double weight = static_cast<double>(data.bytes);
  int32_t distance =
      std::max(1, std::min(100, classes.distanceToBackward[node]));
  double factor = 1;
  for (int32_t i = 0; i < distance; ++i)
    factor *= 1.1;
  bool isMaterialized = graph.isArgument(node);
  auto classOf = [&](NodeId n) {
    return graph[n].kind == JointNodeKind::Result ? OperatorClass::DataMovement
                                                  : graph[n].operatorClass;
  };
  for (NodeId user : graph.getUsers(node))
    isMaterialized |= !areFusible(classOf(node), classOf(user));
  return static_cast<int64_t>(weight * factor * (isMaterialized ? 1 : 2));
}

static int64_t getWeight(const JointGraph &graph, const Classification &classes,
                         const CutOptions &options,
                         const std::vector<NodeId> &saved) {
  int64_t sum = 0;
  for (NodeId node : saved)
    sum += getWeight(graph, classes, options, node).value_or(0);
  return sum;
}

/// What a choice is made of: the values that could be saved.
static std::vector<NodeId> getCandidates(const JointGraph &graph,
                                         const Classification &classes,
                                         const CutOptions &options) {
  std::vector<NodeId> candidates;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (!classes.needsTangent[node] && !isToBeRecomputed(graph[node]) &&
        getWeight(graph, classes, options, node))
      candidates.push_back(node);
  return candidates;
}

/// Calls `visit` with each subset of `candidates`.
template <typename Visit>
static void forEachSubset(const std::vector<NodeId> &candidates, Visit visit) {
  for (uint32_t choice = 0; choice < 1u << candidates.size(); ++choice) {
    std::vector<NodeId> saved;
    for (size_t i = 0; i < candidates.size(); ++i)
      if (choice >> i & 1)
        saved.push_back(candidates[i]);
    visit(saved);
  }
}

/// The weight of the lightest cut; none if there is no cut.
static std::optional<int64_t>
findLeastWeight(const JointGraph &graph, const Classification &classes,
                const CutOptions &options, const std::vector<BanReason> &bans) {
  std::optional<int64_t> least;
  forEachSubset(getCandidates(graph, classes, options),
                [&](const std::vector<NodeId> &saved) {
                  int64_t weight = getWeight(graph, classes, options, saved);
                  if ((!least || weight < *least) &&
                      findComputed(graph, classes, bans, saved))
                    least = weight;
                });
  return least;
}

} // namespace reference

TEST(MinCut, NoChoiceWeighsLess) {
  int numCuts = 0, numSaved = 0;
  for (uint64_t seed : Seeds(600)) {
    RandomJointOptions shape;
    shape.maxForwardOperations = 10;
    shape.maxBackwardOperations = 8;
    JointGraph graph = makeRandomJointGraph(seed, shape);
    PartitionResult<Classification> classified = classify(graph);
    auto *classes = std::get_if<Classification>(&classified);
    if (!classes)
      continue;
    CutOptions options;
    options.recomputeViews = seed % 2;
    options.treatParametersAsFreeToSave = seed % 3 != 0;
    if (reference::getCandidates(graph, *classes, options).size() > 14)
      continue;
    std::vector<BanReason> bans = findBans(graph, *classes, options);
    PartitionResult<std::vector<NodeId>> result =
        solveMinCut(graph, *classes, options, bans);
    std::optional<int64_t> least =
        reference::findLeastWeight(graph, *classes, options, bans);
    auto *saved = std::get_if<std::vector<NodeId>>(&result);
    ASSERT_EQ(saved != nullptr, least.has_value());
    if (!saved)
      continue;
    EXPECT_EQ(reference::getWeight(graph, *classes, options, *saved), *least);
    EXPECT_TRUE(reference::findComputed(graph, *classes, bans, *saved));
    ++numCuts;
    numSaved += static_cast<int>(saved->size());
  }
  EXPECT_GT(numCuts, 30);
  EXPECT_GT(numSaved, 30);
}

/// Prices of so many nanoseconds a byte, and the costs of the graph.
static TreatmentPrices makePrices(const JointGraph &graph, int64_t nsPerByte) {
  TreatmentPrices prices;
  for (NodeId node = 0; node < graph.size(); ++node) {
    prices.saveNs.push_back(graph[node].bytes * nsPerByte);
    prices.repeatNs.push_back(graph[node].cost);
  }
  return prices;
}

static std::string solve(const TextGraph &graph, int64_t nsPerByte) {
  Classification classes = expectNoConflict(classify(graph));
  return graph.tell(expectNoConflict(
      solvePricedCut(graph, classes, makePrices(graph, nsPerByte))));
}

TEST(PricedCut, ComputesAgainWhatIsCheaperThanItsBytes) {
  TextGraph graph(R"(
    x = input 1000; dy = tangent 1000; y = pointwise 1000 x : cost=5000
    dx = mm 1000 y dy; return y | dx)");
  // The argument stays, so that saving it costs nothing.
  EXPECT_EQ(solve(graph, 4), "y");
  EXPECT_EQ(solve(graph, 6), "x");
  // A tie: nothing is computed again.
  EXPECT_EQ(solve(graph, 5), "y");
}

/// What `saved` costs together with all that is then computed again; none if
/// something can neither be saved nor computed again.
static std::optional<int64_t> findPrice(const JointGraph &graph,
                                        const Classification &classes,
                                        const std::vector<BanReason> &bans,
                                        const TreatmentPrices &prices,
                                        const std::vector<NodeId> &saved) {
  auto isComputed = reference::findComputed(graph, classes, bans, saved);
  if (!isComputed)
    return std::nullopt;
  int64_t price = 0;
  for (NodeId node : saved)
    if (graph[node].kind != JointNodeKind::Primal || graph[node].isFreeable)
      price += prices.saveNs[node];
  for (NodeId node = 0; node < graph.size(); ++node)
    if ((*isComputed)[node] && !classes.needsTangent[node] &&
        !isToBeRecomputed(graph[node]) &&
        graph[node].kind == JointNodeKind::Operation)
      price += prices.repeatNs[node];
  return price;
}

TEST(PricedCut, IsTheCheapestOfAllChoices) {
  RandomJointOptions options;
  options.maxForwardOperations = 8;
  options.maxBackwardOperations = 6;
  options.policyPercent = 3;
  int numCompared = 0, numSplit = 0;
  for (uint64_t seed : Seeds(600)) {
    JointGraph graph = makeRandomJointGraph(seed, options);
    auto classified = classify(graph);
    if (std::holds_alternative<PartitionConflict>(classified))
      continue;
    const Classification &classes = std::get<Classification>(classified);
    std::mt19937 random(seed);
    TreatmentPrices prices;
    for (NodeId node = 0; node < graph.size(); ++node) {
      prices.saveNs.push_back(random() % 50);
      prices.repeatNs.push_back(random() % 100);
    }
    CutOptions hard;
    hard.repeatGathers = true;
    std::vector<BanReason> bans = findBans(graph, classes, hard);
    for (BanReason &ban : bans)
      ban = isHard(ban) ? ban : BanReason::None;
    std::vector<NodeId> candidates =
        reference::getCandidates(graph, classes, {});
    // Views and constants are taken again whatever their policy is, if nothing
    // keeps them in the forward.
    auto isTakenAgain = [&](NodeId node) {
      return bans[node] == BanReason::None && !graph.isArgument(node) &&
             !graph[node].isPinned &&
             graph[node].kind == JointNodeKind::Operation &&
             (graph[node].operatorClass == OperatorClass::View ||
              graph[node].operatorClass == OperatorClass::Constant);
    };
    candidates.erase(
        std::remove_if(candidates.begin(), candidates.end(), isTakenAgain),
        candidates.end());
    if (candidates.size() > 12)
      continue;
    std::optional<int64_t> least;
    reference::forEachSubset(candidates, [&](const std::vector<NodeId> &saved) {
      std::optional<int64_t> price =
          findPrice(graph, classes, bans, prices, saved);
      if (price && (!least || *price < *least))
        least = price;
    });
    auto result = solvePricedCut(graph, classes, prices);
    if (!least) {
      EXPECT_TRUE(std::holds_alternative<PartitionConflict>(result));
      continue;
    }
    std::vector<NodeId> saved = expectNoConflict(std::move(result));
    EXPECT_EQ(findPrice(graph, classes, bans, prices, saved), least);
    ++numCompared;
    for (NodeId node : saved)
      numSplit += !graph.isArgument(node);
  }
  // The graphs are not trivial.
  EXPECT_GT(numCompared, 60);
  EXPECT_GT(numSplit, 60);
}
