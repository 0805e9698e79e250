//===- RandomStep.cpp - Random problems like training steps ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Random.h"
#include "RandomProblem.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::testing;
using namespace mlir::commsched::schedule::testing;

namespace {

/// A tensor: its producer and its buffer.
struct Value {
  NodeId node = noNode;
  BufferId buffer = 0;
  int64_t bytes = 0;
};

/// A collective that has been started.
struct Flight {
  NodeId start;
  BufferId sent;
  Value result;
};

struct Layer {
  Value shard;
  /// Values of the forward that the backward needs.
  Value input, weight;
  int64_t productNs = 0;
  int64_t commNs = 0;
};

/// Writes a step down as a program, in the order of a trace.
class StepWriter {
public:
  StepWriter(uint64_t seed, int32_t maxLayers);
  Problem write();

private:
  static constexpr int64_t groupSize = 4;

  int64_t vary(int64_t middle) {
    return random.below(2 * middle * spreadPercent / 100 + 1) +
           middle * (100 - spreadPercent) / 100;
  }
  Value addArgument(int64_t bytes);
  Value compute(std::initializer_list<Value> inputs, int64_t bytes,
                int64_t costNs, bool freed = true);
  Value view(Value input);
  Flight start(Value input, int64_t bytes, int64_t costNs, StreamId stream);
  Value wait(const Flight &flight);
  void use(NodeId node, Value value);

  Value gather(const Layer &layer);
  Value exchange(Value value);
  Value runForward(Value value, Layer &layer);
  Value runBackward(Value gradient, const Layer &layer);
  void reduce(Value gradient, const Layer &layer);
  void finish(Value value);

  Random random;
  Problem problem;
  std::vector<Layer> layers;
  /// Collectives that are waited for at the end.
  std::vector<Flight> pending;
  std::vector<NodeId> lastOnStream = {noNode, noNode};
  int64_t spreadPercent, activationBytes, commPercent;
  bool isSharded, hasReplicas, exchanges, gathersAgain, casts, waitsLate,
      keepsOrder;
};

} // namespace

StepWriter::StepWriter(uint64_t seed, int32_t maxLayers) : random(seed) {
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

Value StepWriter::addArgument(int64_t bytes) {
  return {noNode, problem.addBuffer(bytes, noNode, /*freed=*/false), bytes};
}

void StepWriter::use(NodeId node, Value value) {
  problem.addUse(value.buffer, node);
  if (value.node != noNode)
    problem.addDependence(value.node, node, DependenceKind::Data);
}

Value StepWriter::compute(std::initializer_list<Value> inputs, int64_t bytes,
                          int64_t costNs, bool freed) {
  NodeId node = problem.addNode(NodeKind::Compute, costNs);
  for (Value input : inputs)
    use(node, input);
  return {node, problem.addBuffer(bytes, node, freed), bytes};
}

Value StepWriter::view(Value input) {
  NodeId node = problem.addNode(NodeKind::Compute, 0);
  use(node, input);
  return {node, input.buffer, input.bytes};
}

Flight StepWriter::start(Value input, int64_t bytes, int64_t costNs,
                         StreamId stream) {
  if (casts)
    input = compute({input}, input.bytes, vary(4));
  NodeId node = problem.addNode(NodeKind::Start, costNs, stream);
  use(node, input);
  NodeId &last = lastOnStream[stream];
  if (keepsOrder && last != noNode)
    problem.addDependence(last, node, DependenceKind::Order);
  last = node;
  BufferId received = problem.addBuffer(bytes, node, /*freed=*/true);
  return {node, input.buffer, {noNode, received, bytes}};
}

Value StepWriter::wait(const Flight &flight) {
  Value result = flight.result;
  result.node = problem.addWait(flight.start);
  problem.addUse(flight.sent, result.node);
  problem.addUse(result.buffer, result.node);
  return result;
}

Value StepWriter::gather(const Layer &layer) {
  if (!isSharded)
    return layer.shard;
  Value weight =
      wait(start(layer.shard, layer.shard.bytes * groupSize, layer.commNs, 0));
  return random.percent(50) ? view(weight) : weight;
}

/// Returns the value that the next product has to wait for.
Value StepWriter::exchange(Value value) {
  if (!exchanges)
    return value;
  return wait(start(value, value.bytes, vary(commPercent), 1));
}

Value StepWriter::runForward(Value value, Layer &layer) {
  layer.input = value;
  layer.weight = gather(layer);
  value = compute({value, layer.weight}, activationBytes, layer.productNs);
  // One draw after the other: compilers evaluate arguments in different orders.
  Value exchanged = exchange(value);
  return compute({exchanged}, activationBytes, vary(8));
}

/// An update at the end, which the caller keeps.
void StepWriter::finish(Value gradient) {
  compute({gradient}, gradient.bytes, vary(5), /*freed=*/false);
}

/// Sums the gradient of a layer's weight over the ranks.
void StepWriter::reduce(Value gradient, const Layer &layer) {
  int64_t shardBytes = gradient.bytes / groupSize;
  if (isSharded && hasReplicas)
    gradient = wait(start(gradient, shardBytes, layer.commNs, 0));
  Flight flight = isSharded && !hasReplicas
                      ? start(gradient, shardBytes, layer.commNs, 0)
                      : start(gradient, gradient.bytes, layer.commNs, 1);
  if (waitsLate)
    pending.push_back(flight);
  else
    finish(wait(flight));
}

Value StepWriter::runBackward(Value gradient, const Layer &layer) {
  Value weight = gathersAgain ? gather(layer) : layer.weight;
  Value below = compute({gradient, weight}, activationBytes, layer.productNs);
  below = exchange(below);
  int64_t fullBytes = layer.shard.bytes * (isSharded ? groupSize : 1);
  reduce(compute({gradient, layer.input}, fullBytes, layer.productNs), layer);
  return below;
}

Problem StepWriter::write() {
  Value value = addArgument(activationBytes);
  for (Layer &layer : layers)
    value = runForward(value, layer);
  value = compute({value}, activationBytes, vary(20));
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer)
    value = runBackward(value, *layer);
  for (const Flight &flight : pending)
    finish(wait(flight));
  problem.finalize();
  return std::move(problem);
}

Problem schedule::testing::makeRandomStep(uint64_t seed, int32_t maxLayers) {
  return StepWriter(seed, maxLayers).write();
}
