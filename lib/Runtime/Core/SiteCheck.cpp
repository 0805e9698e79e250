//===- SiteCheck.cpp - Whether a collective is well described ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/SiteCheck.h"

#include "Numerics/Types.h"

#include <numeric>
#include <set>

using namespace commsched::runtime;

static std::string str(int64_t value) { return std::to_string(value); }

static Error checkSplits(const char *what, const std::vector<int64_t> &splits,
                         int64_t elements, int64_t size) {
  if (static_cast<int64_t>(splits.size()) != size)
    return std::string(what) + "_splits has " + str(splits.size()) +
           " entries for " + str(size) + " ranks";
  int64_t sum = 0;
  for (int64_t split : splits)
    sum += split;
  if (sum != elements)
    return std::string(what) + "_splits adds up to " + str(sum) + ", but '" +
           what + "s' is " + str(elements);
  return std::nullopt;
}

static Error checkTensor(const Site &site, const Tensor &tensor, int64_t size) {
  int64_t inputs = tensor.inputs;
  int64_t outputs = tensor.outputs;
  auto expectOutputs = [&](int64_t expected) -> Error {
    if (outputs == expected)
      return std::nullopt;
    return "'outputs' is " + str(outputs) + ", but " + getName(site.kind) +
           " of 'inputs' = " + str(inputs) + " on " + str(size) +
           " ranks gives " + str(expected);
  };
  switch (site.kind) {
  case COMMSCHED_ALL_GATHER:
    return expectOutputs(inputs * size);
  case COMMSCHED_REDUCE_SCATTER:
    if (inputs % size != 0)
      return str(size) + " ranks do not divide 'inputs' = " + str(inputs);
    return expectOutputs(inputs / size);
  case COMMSCHED_ALL_REDUCE:
  case COMMSCHED_BROADCAST:
  case COMMSCHED_PERMUTE:
    return expectOutputs(inputs);
  case COMMSCHED_ALL_TO_ALL:
    if (!tensor.inputSplits.empty()) {
      if (Error error = checkSplits("input", tensor.inputSplits, inputs, size))
        return error;
      return checkSplits("output", tensor.outputSplits, outputs, size);
    }
    if (inputs % size != 0)
      return str(size) + " ranks do not divide 'inputs' = " + str(inputs);
    return expectOutputs(inputs);
  case COMMSCHED_SEND:
    if (outputs != 0)
      return "a send has no 'outputs', but " + str(outputs);
    return std::nullopt;
  case COMMSCHED_RECV:
    if (inputs != 0)
      return "a recv has no 'inputs', but " + str(inputs);
    return std::nullopt;
  case COMMSCHED_BARRIER:
    break;
  }
  return std::nullopt;
}

static Error checkPairs(const Site &site, bool hasPairs) {
  if (hasPairs != (site.kind == COMMSCHED_PERMUTE))
    return hasPairs ? std::string("only permute has 'pairs'")
                    : std::string("'pairs' is missing");
  std::set<int32_t> sources, targets;
  for (const auto &[source, target] : site.pairs) {
    if (!sources.insert(source).second)
      return "rank " + str(source) + " is the source of two pairs";
    if (!targets.insert(target).second)
      return "rank " + str(target) + " is the target of two pairs";
  }
  return std::nullopt;
}

Error commsched::runtime::checkSiteDescription(const Site &site, int64_t size,
                                               bool hasPairs) {
  const std::string kind = getName(site.kind);
  bool reduces = site.kind == COMMSCHED_REDUCE_SCATTER ||
                 site.kind == COMMSCHED_ALL_REDUCE;
  if (reduces && !site.reduction)
    return kind + " needs a 'reduction'";
  if (!reduces && site.reduction)
    return kind + " has no 'reduction'";
  bool isPointToPoint =
      site.kind == COMMSCHED_SEND || site.kind == COMMSCHED_RECV;
  bool hasPeer = site.kind == COMMSCHED_BROADCAST || isPointToPoint;
  if (hasPeer && site.peer < 0)
    return kind + " needs a 'peer'";
  if (!hasPeer && site.peer >= 0)
    return kind + " has no 'peer'";
  if (!isPointToPoint && site.tag != 0)
    return kind + " has no 'tag'";
  if (Error error = checkPairs(site, hasPairs))
    return error;
  if (site.kind == COMMSCHED_BARRIER)
    return site.tensors.empty() ? Error() : Error("a barrier has no 'tensors'");
  if (site.tensors.empty())
    return kind + " needs 'tensors'";
  for (size_t i = 0; i < site.tensors.size(); ++i) {
    const Tensor &tensor = site.tensors[i];
    Error error = checkTensor(site, tensor, size);
    if (!error && site.reduction)
      error = checkReduction(tensor.element, *site.reduction);
    if (error)
      return "tensor " + str(i) + ": " + *error;
  }
  return std::nullopt;
}
