//===- RandomProblem.cpp - Random scheduling problems ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::testing;
using namespace mlir::commsched::schedule::testing;

namespace {

enum class Shape { Chain, Diamond, Random, NumShapes };

/// A problem written down in a legal order, before it is given its numbers.
class Sketch {
public:
  Sketch(uint64_t seed, const RandomProblemOptions &options);
  Problem number();

private:
  struct Node {
    NodeKind kind;
    int64_t costNs;
    StreamId stream;
    NodeId partner;
    bool isExpensive;
  };
  struct Use {
    BufferId buffer;
    NodeId node;
  };

  NodeId addNode(NodeKind kind);
  void addRandomNode();
  void addWait(size_t pending);
  void addDependences(NodeId node);
  void addBuffers(NodeId node);
  int64_t drawBytes();
  void use(BufferId buffer, NodeId node);

  Random random;
  RandomProblemOptions options;
  Shape shape;
  std::vector<Node> nodes;
  std::vector<Dependence> dependences;
  std::vector<Buffer> buffers;
  std::vector<Use> uses;
  std::vector<NodeId> pendingStarts;
  std::vector<NodeId> lastOnStream;
};

} // namespace

Sketch::Sketch(uint64_t seed, const RandomProblemOptions &options)
    : random(seed), options(options),
      shape(static_cast<Shape>(
          random.below(static_cast<int64_t>(Shape::NumShapes)))),
      lastOnStream(1 + random.below(options.maxStreams), noNode) {
  for (int64_t arg = random.below(4); arg > 0; --arg)
    buffers.push_back({drawBytes(), noNode, random.percent(50)});
  int64_t size = 1 + random.below(options.maxNodes);
  while (static_cast<int64_t>(nodes.size() + pendingStarts.size()) < size)
    addRandomNode();
  while (!pendingStarts.empty())
    addWait(random.below(static_cast<int64_t>(pendingStarts.size())));
}

NodeId Sketch::addNode(NodeKind kind) {
  NodeId node = static_cast<NodeId>(nodes.size());
  int64_t cost = random.percent(15) ? 0 : random.below(options.maxCostNs + 1);
  StreamId stream = noStream;
  if (kind == NodeKind::Wait)
    cost = 0;
  if (kind == NodeKind::Start || kind == NodeKind::Blocking)
    stream = static_cast<StreamId>(
        random.below(static_cast<int64_t>(lastOnStream.size())));
  bool isExpensive = kind == NodeKind::Compute &&
                     options.expensivePercent > 0 &&
                     random.percent(options.expensivePercent);
  nodes.push_back({kind, cost, stream, noNode, isExpensive});
  return node;
}

void Sketch::addRandomNode() {
  int64_t dice = random.below(100);
  if (dice < 20 && !pendingStarts.empty())
    return addWait(random.below(static_cast<int64_t>(pendingStarts.size())));
  NodeKind kind = dice < 65   ? NodeKind::Compute
                  : dice < 95 ? NodeKind::Start
                              : NodeKind::Blocking;
  NodeId node = addNode(kind);
  addDependences(node);
  addBuffers(node);
  if (kind == NodeKind::Compute)
    return;
  if (kind == NodeKind::Start)
    pendingStarts.push_back(node);
  NodeId &last = lastOnStream[nodes[node].stream];
  if (last != noNode && random.percent(50))
    dependences.push_back({last, node, DependenceKind::Order});
  last = node;
}

void Sketch::addWait(size_t pending) {
  NodeId start = pendingStarts[pending];
  pendingStarts.erase(pendingStarts.begin() + static_cast<ptrdiff_t>(pending));
  NodeId wait = addNode(NodeKind::Wait);
  nodes[wait].partner = start;
  nodes[start].partner = wait;
  // The operands of the collective stay in use until here.
  for (size_t i = 0, end = uses.size(); i < end; ++i)
    if (uses[i].node == start)
      use(uses[i].buffer, wait);
  if (random.percent(30))
    addDependences(wait);
  addBuffers(wait);
}

void Sketch::addDependences(NodeId node) {
  if (node == 0)
    return;
  auto add = [&](NodeId from) {
    auto kind = static_cast<DependenceKind>(random.below(4));
    dependences.push_back({from, node, kind});
    if (random.percent(5))
      dependences.push_back({from, node, DependenceKind::Memory});
  };
  switch (shape) {
  case Shape::Chain:
    if (random.percent(75))
      add(node - 1);
    break;
  case Shape::Diamond:
    // Fans of four: out from one node, and back into one.
    if (node % 5 == 4)
      for (NodeId from = node - 4; from < node; ++from)
        add(from);
    else if (node >= 5)
      add(node - node % 5 - 1);
    break;
  case Shape::Random:
  case Shape::NumShapes:
    for (int64_t count = random.below(4); count > 0; --count)
      add(static_cast<NodeId>(random.below(node)));
    break;
  }
}

void Sketch::use(BufferId buffer, NodeId node) {
  uses.push_back({buffer, node});
  if (buffers[buffer].producer == noNode || buffers[buffer].producer == node)
    return;
  if (options.impliedPercent > 0 && random.percent(options.impliedPercent))
    return;
  dependences.push_back({buffers[buffer].producer, node, DependenceKind::Data});
}

int64_t Sketch::drawBytes() {
  if (!options.unevenBuffers)
    return random.below(100);
  int64_t dice = random.below(100);
  if (dice < 15)
    return 0;
  return random.below(dice < 70 ? 100 : int64_t(1) << 40);
}

void Sketch::addBuffers(NodeId node) {
  if (!buffers.empty())
    for (int64_t count = random.below(3); count > 0; --count)
      use(static_cast<BufferId>(
              random.below(static_cast<int64_t>(buffers.size()))),
          node);
  if (nodes[node].kind == NodeKind::Wait && !options.waitsMakeBuffers)
    return;
  for (int64_t count = random.below(3); count > 0; --count)
    buffers.push_back({drawBytes(), node, random.percent(80)});
}

Problem Sketch::number() {
  // numberOf[i]: the index in the problem of what was written down as i.
  Order numberOf(nodes.size());
  std::iota(numberOf.begin(), numberOf.end(), 0);
  if (options.shuffleProgram) {
    for (size_t i = numberOf.size(); i > 1; --i)
      std::swap(numberOf[i - 1],
                numberOf[random.below(static_cast<int64_t>(i))]);
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].kind == NodeKind::Wait)
        if (NodeId &start = numberOf[nodes[i].partner]; numberOf[i] < start)
          std::swap(numberOf[i], start);
  }
  Order sketched(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    sketched[numberOf[i]] = static_cast<NodeId>(i);

  Problem problem;
  for (NodeId i : sketched) {
    const Node &node = nodes[i];
    if (node.kind == NodeKind::Wait)
      problem.addWait(numberOf[node.partner]);
    else
      problem.addNode(node.kind, node.costNs, node.stream);
    if (node.isExpensive)
      problem.setExpensive(problem.numNodes() - 1);
  }
  for (const Dependence &edge : dependences)
    problem.addDependence(numberOf[edge.from], numberOf[edge.to], edge.kind);
  for (const Buffer &buffer : buffers)
    problem.addBuffer(buffer.bytes,
                      buffer.producer == noNode ? noNode
                                                : numberOf[buffer.producer],
                      buffer.freed);
  for (const Use &use : uses)
    problem.addUse(use.buffer, numberOf[use.node]);
  problem.finalize();
  return problem;
}

Problem
schedule::testing::makeRandomProblem(uint64_t seed,
                                     const RandomProblemOptions &options) {
  return Sketch(seed, options).number();
}

Contention schedule::testing::makeRandomContention(Random &random,
                                                   StreamId numStreams) {
  Contention contention;
  if (random.percent(75))
    for (StreamId first = 0; first < numStreams; ++first)
      for (StreamId second = 0; second < first; ++second)
        if (random.percent(33))
          contention.exclusive.push_back({first, second});
  if (random.percent(75))
    for (StreamId stream = 0; stream < numStreams; ++stream)
      contention.links.push_back(static_cast<int32_t>(random.below(3)) - 1);
  // Sometimes for more streams than there are, or the same for all.
  auto drawSlowdown = [&] {
    return random.oneOf<int64_t>({0, 190'000, 1, 1'500'000, 500'000});
  };
  if (random.percent(75))
    for (int64_t count = numStreams + random.below(2); count > 0; --count)
      contention.slowdownPpm.push_back(drawSlowdown());
  if (random.percent(25))
    contention.slowdownPpm.assign(numStreams, drawSlowdown());
  return contention;
}

Order schedule::testing::makeRandomOrder(uint64_t seed,
                                         const Problem &problem) {
  Random random(seed);
  std::vector<size_t> missing(problem.numNodes());
  std::vector<NodeId> ready;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    missing[node] = problem.predecessors(node).size();
    if (missing[node] == 0)
      ready.push_back(node);
  }
  Order order;
  while (!ready.empty()) {
    std::swap(ready[random.below(static_cast<int64_t>(ready.size()))],
              ready.back());
    NodeId node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (DependenceEnd successor : problem.successors(node))
      if (--missing[successor.node] == 0)
        ready.push_back(successor.node);
  }
  return order;
}

/// Returns `problem` without buffers that are live from the start and freed.
static Problem keepInitialBuffers(const Problem &problem) {
  Problem result = copyOperations(problem);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    Buffer buffer = problem.buffer(id);
    result.addBuffer(buffer.bytes, buffer.producer,
                     buffer.freed && buffer.producer != noNode);
    for (NodeId user : problem.users(id))
      result.addUse(id, user);
  }
  result.finalize();
  return result;
}

CyclicProblem schedule::testing::makeRandomCyclicProblem(
    uint64_t seed, const RandomProblemOptions &options) {
  CyclicProblem problem(keepInitialBuffers(makeRandomProblem(seed, options)));
  Random random(seed * 31 + 7);
  const Problem &body = problem.body();
  if (body.numNodes() == 0)
    return problem;
  auto drawNode = [&] {
    return static_cast<NodeId>(random.below(body.numNodes()));
  };
  auto drawDistance = [&] {
    return static_cast<int32_t>(1 + random.percent(20));
  };
  for (int64_t i = random.below(2 + body.numNodes() / 2); i > 0; --i)
    problem.addDependence(drawNode(), drawNode(), DependenceKind::Data,
                          drawDistance());
  for (BufferId id = 0; id < body.numBuffers(); ++id)
    if (body.buffer(id).producer != noNode && random.percent(30))
      problem.addUse(id, drawNode(), drawDistance());
  return problem;
}

namespace {

/// All dependences that an order of the period respects: also those of uses,
/// and that a collective is waited for before it starts again.
std::vector<CarriedDependence> listAll(const CyclicProblem &problem) {
  const Problem &body = problem.body();
  std::vector<CarriedDependence> all = problem.carriedDependences();
  for (NodeId node = 0; node < body.numNodes(); ++node) {
    for (DependenceEnd end : body.successors(node))
      all.push_back({node, end.node, end.kind, 0});
    if (NodeId wait = body.waitOf(node); wait != noNode)
      all.push_back({wait, node, DependenceKind::Order, 1});
  }
  for (BufferId id = 0; id < body.numBuffers(); ++id)
    for (NodeId user : body.users(id))
      if (NodeId producer = body.buffer(id).producer;
          producer != noNode && producer != user)
        all.push_back({producer, user, DependenceKind::Memory, 0});
  for (const CarriedUse &use : problem.carriedUses())
    all.push_back({body.buffer(use.buffer).producer, use.node,
                   DependenceKind::Memory, use.distance});
  return all;
}

} // namespace

CyclicOrder schedule::testing::makeRandomCyclicOrder(
    uint64_t seed, const CyclicProblem &problem, int32_t maxStage) {
  Random random(seed * 17 + 3);
  NodeId numNodes = problem.body().numNodes();
  std::vector<CarriedDependence> all = listAll(problem);
  CyclicOrder schedule;
  for (NodeId node = 0; node < numNodes; ++node)
    schedule.stages.push_back(static_cast<int32_t>(random.below(maxStage + 1)));
  // No operation is more stages before another than the distance allows.
  for (bool changed = true; changed;) {
    changed = false;
    for (const CarriedDependence &edge : all) {
      int32_t least = schedule.stages[edge.from] - edge.distance;
      changed |= schedule.stages[edge.to] < least;
      schedule.stages[edge.to] = std::max(schedule.stages[edge.to], least);
    }
  }
  Problem period;
  for (NodeId node = 0; node < numNodes; ++node)
    period.addNode(NodeKind::Compute, 0);
  for (const CarriedDependence &edge : all)
    if (edge.distance + schedule.stages[edge.to] == schedule.stages[edge.from])
      period.addDependence(edge.from, edge.to, edge.kind);
  period.finalize();
  schedule.order = makeRandomOrder(seed, period);
  return schedule;
}

namespace {

/// Writes a step down as text, in the order of a trace.
class StepWriter {
public:
  StepWriter(uint64_t seed, int32_t maxLayers) : random(seed) {
    spreadPercent = 20 + 20 * random.below(5);
    activationBytes = 64 * (1 + random.below(24));
    commPercent = 20 + 40 * random.below(4);
    isSharded = random.percent(70);
    hasReplicas = random.percent(40);
    exchanges = random.percent(30);
    gathersAgain = random.percent(70);
    casts = random.percent(30);
    waitsLate = random.percent(30);
    keepsOrder = random.percent(20);
    int64_t weightBytes = 256 * (1 + random.below(24));
    layers.resize(1 + random.below(maxLayers));
    for (Layer &layer : layers) {
      int64_t bytes = std::max<int64_t>(1, vary(weightBytes) / groupSize);
      layer.shard = addArgument(isSharded ? bytes : bytes * groupSize);
      layer.productNs = vary(100);
      layer.commNs = vary(commPercent);
    }
  }

  Problem write() {
    Value value = addArgument(activationBytes);
    for (Layer &layer : layers)
      value = runForward(value, layer);
    value = compute({value}, activationBytes, vary(20));
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
      value = runBackward(value, *layer);
    for (const Value &started : pending)
      finish(wait(started));
    return TextProblem(text);
  }

private:
  static constexpr int64_t groupSize = 4;

  struct Value {
    std::string name;
    int64_t bytes = 0;
  };

  struct Layer {
    Value shard;
    /// Values of the forward that the backward needs.
    Value input, weight;
    int64_t productNs = 0;
    int64_t commNs = 0;
  };

  int64_t vary(int64_t middle) {
    return random.below(2 * middle * spreadPercent / 100 + 1) +
           middle * (100 - spreadPercent) / 100;
  }

  /// Adds a statement that makes a value.
  Value add(const std::string &what, int64_t bytes) {
    std::string name = "v" + std::to_string(numValues++);
    text += name + " = " + what + ";";
    return {name, bytes};
  }
  Value addArgument(int64_t bytes) {
    return add("arg " + std::to_string(bytes) + "!", bytes);
  }
  Value compute(std::initializer_list<Value> inputs, int64_t bytes,
                int64_t costNs, bool freed = true) {
    std::string what = std::to_string(costNs);
    for (const Value &input : inputs)
      what += " " + input.name;
    return add(what + " -> " + std::to_string(bytes) + (freed ? "" : "!"),
               bytes);
  }
  Value view(const Value &input) {
    return add("0 " + input.name + " -> " + input.name, input.bytes);
  }

  /// What a collective delivers, before its wait.
  Value start(Value input, int64_t bytes, int64_t costNs, StreamId stream) {
    if (casts)
      input = compute({input}, input.bytes, vary(4));
    std::string what = "start " + std::to_string(costNs) + "@" +
                       std::to_string(stream) + " " + input.name;
    std::string &last = lastOnStream[stream];
    if (keepsOrder && !last.empty())
      what += " order:" + last;
    Value started = add(what + " -> " + std::to_string(bytes), bytes);
    last = started.name;
    return started;
  }
  Value wait(const Value &started) {
    text += "wait " + started.name + ";";
    return {started.name + "'", started.bytes};
  }

  Value gather(const Layer &layer) {
    if (!isSharded)
      return layer.shard;
    Value weight = wait(
        start(layer.shard, layer.shard.bytes * groupSize, layer.commNs, 0));
    return random.percent(50) ? view(weight) : weight;
  }

  /// Returns the value that the next product has to wait for.
  Value exchange(const Value &value) {
    if (!exchanges)
      return value;
    return wait(start(value, value.bytes, vary(commPercent), 1));
  }

  Value runForward(Value value, Layer &layer) {
    layer.input = value;
    layer.weight = gather(layer);
    value = compute({value, layer.weight}, activationBytes, layer.productNs);
    // One draw after the other: compilers evaluate arguments in different
    // orders.
    Value exchanged = exchange(value);
    return compute({exchanged}, activationBytes, vary(8));
  }

  /// An update at the end, which the caller keeps.
  void finish(const Value &gradient) {
    compute({gradient}, gradient.bytes, vary(5), /*freed=*/false);
  }

  /// Sums the gradient of a layer's weight over the ranks.
  void reduce(Value gradient, const Layer &layer) {
    int64_t shardBytes = gradient.bytes / groupSize;
    if (isSharded && hasReplicas)
      gradient = wait(start(gradient, shardBytes, layer.commNs, 0));
    Value started = isSharded && !hasReplicas
                        ? start(gradient, shardBytes, layer.commNs, 0)
                        : start(gradient, gradient.bytes, layer.commNs, 1);
    if (waitsLate)
      pending.push_back(started);
    else
      finish(wait(started));
  }

  Value runBackward(const Value &gradient, const Layer &layer) {
    Value weight = gathersAgain ? gather(layer) : layer.weight;
    Value below = compute({gradient, weight}, activationBytes, layer.productNs);
    below = exchange(below);
    int64_t fullBytes = layer.shard.bytes * (isSharded ? groupSize : 1);
    reduce(compute({gradient, layer.input}, fullBytes, layer.productNs), layer);
    return below;
  }

  Random random;
  std::string text;
  int32_t numValues = 0;
  std::vector<Layer> layers;
  /// Collectives that are waited for at the end.
  std::vector<Value> pending;
  std::string lastOnStream[2];
  int64_t spreadPercent, activationBytes, commPercent;
  bool isSharded, hasReplicas, exchanges, gathersAgain, casts, waitsLate,
      keepsOrder;
};

} // namespace

Problem schedule::testing::makeRandomStep(uint64_t seed, int32_t maxLayers) {
  return StepWriter(seed, maxLayers).write();
}
