//===- RandomStep.cpp - Random training steps -----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

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

mlir::commsched::schedule::Problem
mlir::commsched::schedule::testing::makeRandomStep(uint64_t seed,
                                                   int32_t maxLayers) {
  return StepWriter(seed, maxLayers).write();
}
