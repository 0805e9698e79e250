//===- Sites.cpp - Checks and names of collectives ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Sites.h"

#include "Core/Program.h"
#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// Names in error messages
//===----------------------------------------------------------------------===//

const char *commsched::runtime::getName(Method method) {
  switch (method) {
  case Method::Nccl:
    return "nccl";
  case Method::CopyEngine:
    return "copy-engine";
  case Method::Symmetric:
    return "symmetric";
  }
  return "";
}

std::optional<Method> commsched::runtime::parseMethod(const std::string &name) {
  for (Method method : {Method::Nccl, Method::CopyEngine, Method::Symmetric})
    if (name == getName(method))
      return method;
  return std::nullopt;
}

/// " (nccl-4)", or nothing.
static std::string describeImplementation(const Group &group) {
  return group.implementation ? " (" + group.implementation->name + ")" : "";
}

std::string commsched::runtime::getFullName(const Group &group) {
  return group.name + describeImplementation(group);
}

std::string commsched::runtime::quoteGroup(const Group &group) {
  return "'" + group.name + "'" + describeImplementation(group);
}

static std::string quoteSite(const Site &site) {
  return std::string(getName(site.kind)) + " '" + site.name + "'";
}

std::string commsched::runtime::describeSite(const Site &site) {
  std::string text = quoteSite(site);
  if (!site.location.empty())
    text += " (" + site.location + ")";
  return text;
}

/// "on group 'dp' (nccl-4)", or "on stream 'd2h'" of a transfer.
static std::string describePlace(const Launch &launch) {
  return (isTransfer(launch.site->kind) ? "on stream " : "on group ") +
         quoteGroup(*launch.group);
}

std::string commsched::runtime::describeLaunch(const Launch &launch) {
  return describeSite(*launch.site) + " " + describePlace(launch) +
         ", launch " + std::to_string(launch.sequence);
}

std::string commsched::runtime::describeLast(const Launch &launch) {
  return "launch " + std::to_string(launch.sequence) + " " +
         describePlace(launch) + ", " + quoteSite(*launch.site);
}

std::string commsched::runtime::describeTimeout(const Launch &launch,
                                                int64_t deadlineMs,
                                                const RankStates &missing) {
  return "timed out after " + std::to_string(deadlineMs) +
         " ms in the wait for " + describeLaunch(launch) +
         (missing.empty() ? "" : ": " + describeRanks(missing));
}

std::string commsched::runtime::describeRanks(const RankStates &ranks) {
  std::string text;
  for (const auto &[rank, what] : ranks)
    text += (text.empty() ? "rank " : "; rank ") + std::to_string(rank) + " " +
            what;
  return text;
}

std::string commsched::runtime::quoteLast(const std::string &last,
                                          const char *nothing) {
  return last.empty() ? nothing : " (its last: " + last + ")";
}

//===----------------------------------------------------------------------===//
// Descriptions of sites
//===----------------------------------------------------------------------===//

static std::string str(int64_t value) { return std::to_string(value); }

/// Checks the listed splits of one side of `tensor`.
static Status checkSplits(const char *what, const Tensor &tensor,
                          const std::vector<int64_t> &splits, int64_t elements,
                          int64_t size) {
  if (static_cast<int64_t>(splits.size()) != size)
    return std::string(what) + "_splits has " + str(splits.size()) +
           " entries for " + str(size) + " ranks";
  int64_t sum = 0;
  for (int64_t split : splits) {
    sum += split;
    if (tensor.rowElements > 0 && split % tensor.rowElements != 0)
      return std::string(what) + "_splits has " + str(split) +
             " elements for a rank, but a row has " + str(tensor.rowElements);
  }
  if (sum != elements)
    return std::string(what) + "_splits adds up to " + str(sum) + ", but '" +
           what + "s' is " + str(elements);
  return Status();
}

static Status checkTensor(const Site &site, const Tensor &tensor,
                          int64_t size) {
  int64_t inputs = tensor.inputs;
  int64_t outputs = tensor.outputs;
  auto expectOutputs = [&](int64_t expected) -> Status {
    if (outputs == expected)
      return Status();
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
    if (!tensor.inputSplits.empty() || !tensor.outputSplits.empty() ||
        site.hasSplitValues()) {
      Status status;
      if (!site.inputSplitsAreValues)
        status = checkSplits("input", tensor, tensor.inputSplits, inputs, size);
      if (status && !site.outputSplitsAreValues)
        status =
            checkSplits("output", tensor, tensor.outputSplits, outputs, size);
      return status;
    }
    if (inputs % size != 0)
      return str(size) + " ranks do not divide 'inputs' = " + str(inputs);
    return expectOutputs(inputs);
  case COMMSCHED_SEND:
    if (outputs != 0)
      return "a send has no 'outputs', but " + str(outputs);
    return Status();
  case COMMSCHED_RECV:
    if (inputs != 0)
      return "a recv has no 'inputs', but " + str(inputs);
    return Status();
  case COMMSCHED_OFFLOAD:
  case COMMSCHED_RELOAD:
    if (outputs != inputs)
      return "'outputs' is " + str(outputs) + ", but " + getName(site.kind) +
             " of 'inputs' = " + str(inputs) + " moves as many";
    return Status();
  case COMMSCHED_BARRIER:
    break;
  }
  return Status();
}

static Status checkPairs(const Site &site, bool hasPairs) {
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
  return Status();
}

Status commsched::runtime::checkSiteDescription(const Site &site, int64_t size,
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
  COMMSCHED_TRY(checkPairs(site, hasPairs));
  if (site.kind == COMMSCHED_BARRIER)
    return site.tensors.empty() ? Status()
                                : Status("a barrier has no 'tensors'");
  if (site.tensors.empty())
    return kind + " needs 'tensors'";
  for (size_t i = 0; i < site.tensors.size(); ++i) {
    const Tensor &tensor = site.tensors[i];
    Status status = checkTensor(site, tensor, size);
    if (status && site.reduction)
      status = checkReduction(tensor.element, *site.reduction);
    if (!status)
      return "tensor " + str(i) + ": " + status.getMessage();
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Splits that are values
//===----------------------------------------------------------------------===//

Status commsched::runtime::addSplits(const char *side, const int64_t *splits,
                                     int64_t ranks, int64_t &rows) {
  rows = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t split = splits[rank];
    if (split < 0)
      return std::string("the ") + side + " split of rank " + str(rank) +
             " of the group is " + str(split) + ", which is negative";
    if (split > maxElements - rows)
      return std::string("the ") + side + " splits add up to more than " +
             str(maxElements) + " rows";
    rows += split;
  }
  return Status();
}

/// Sets the elements and splits of one side of all tensors.
static Status resolveSide(const std::string &side, int64_t ranks,
                          const RowSplits &given, std::vector<Tensor> &tensors,
                          int64_t Tensor::*elements,
                          std::vector<int64_t> Tensor::*splits) {
  if (!given.splits)
    return "the " + side + " splits are values, but null is given";
  int64_t sum = 0;
  COMMSCHED_TRY(addSplits(side.c_str(), given.splits, ranks, sum));
  if (sum != given.rows)
    return "the " + side + " splits add up to " + str(sum) + " rows, but the " +
           side + " has " + str(given.rows);
  for (Tensor &tensor : tensors) {
    int64_t row = tensor.rowElements;
    if (row > 0 && given.rows > maxElements / row)
      return "the " + side + " has " + str(given.rows) + " rows of " +
             str(row) + " elements, more than fit a buffer";
    tensor.*elements = given.rows * row;
    (tensor.*splits).clear();
    for (int64_t rank = 0; rank < ranks; ++rank)
      (tensor.*splits).push_back(given.splits[rank] * row);
  }
  return Status();
}

Status commsched::runtime::resolveTensors(const Site &site, int64_t ranks,
                                          const RowSplits &input,
                                          const RowSplits &output,
                                          std::vector<Tensor> &tensors) {
  tensors = site.tensors;
  if (site.inputSplitsAreValues)
    COMMSCHED_TRY(resolveSide("input", ranks, input, tensors, &Tensor::inputs,
                              &Tensor::inputSplits));
  if (site.outputSplitsAreValues)
    COMMSCHED_TRY(resolveSide("output", ranks, output, tensors,
                              &Tensor::outputs, &Tensor::outputSplits));
  return Status();
}

//===----------------------------------------------------------------------===//
// Buffers of launches
//===----------------------------------------------------------------------===//

namespace {
/// The bytes of an input or an output.
struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  size_t tensor = 0;
};
} // namespace

bool commsched::runtime::sendsInputs(const Site &site, const Group &group) {
  if (site.kind == COMMSCHED_BROADCAST)
    return site.peer == group.rank;
  if (site.kind != COMMSCHED_PERMUTE)
    return true;
  return std::any_of(
      site.pairs.begin(), site.pairs.end(),
      [&](const auto &pair) { return pair.first == group.rank; });
}

static bool isInPlace(const Launch &launch, const Range &input,
                      const Range &output) {
  if (input.tensor != output.tensor)
    return false;
  auto place = static_cast<uintptr_t>(launch.group->rank);
  switch (launch.site->kind) {
  case COMMSCHED_ALL_GATHER:
    return input.begin == output.begin + place * (input.end - input.begin);
  case COMMSCHED_REDUCE_SCATTER:
    return output.begin == input.begin + place * (output.end - output.begin);
  case COMMSCHED_ALL_REDUCE:
  case COMMSCHED_BROADCAST:
    return input.begin == output.begin;
  default:
    return false;
  }
}

static std::string nameBuffer(const char *what, size_t tensor) {
  return std::string(what) + " " + std::to_string(tensor);
}

static Status checkOverlaps(const Launch &launch, std::vector<Range> inputs,
                            std::vector<Range> outputs) {
  auto error = [&](const std::string &a, const std::string &b,
                   const char *unless) {
    return describeSite(*launch.site) + ": " + a + " overlaps " + b + unless;
  };
  std::sort(outputs.begin(), outputs.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < outputs.size(); ++i)
    if (outputs[i].begin < outputs[i - 1].end)
      return error(nameBuffer("output", outputs[i - 1].tensor),
                   nameBuffer("output", outputs[i].tensor), "");
  for (const Range &input : inputs) {
    auto first = std::partition_point(
        outputs.begin(), outputs.end(),
        [&](const Range &output) { return output.end <= input.begin; });
    for (auto output = first;
         output != outputs.end() && output->begin < input.end; ++output)
      if (!isInPlace(launch, input, *output))
        return error(nameBuffer("input", input.tensor),
                     nameBuffer("output", output->tensor),
                     ", but not as in place");
  }
  return Status();
}

Status commsched::runtime::checkLaunch(const Launch &launch) {
  const Site &site = *launch.site;
  bool sends = sendsInputs(site, *launch.group);
  std::vector<Range> inputs, outputs;
  for (size_t i = 0; i < launch.getTensors().size(); ++i) {
    const Tensor &tensor = launch.getTensors()[i];
    auto add = [&](std::vector<Range> &ranges, const void *pointer,
                   int64_t elements) {
      auto begin = reinterpret_cast<uintptr_t>(pointer);
      auto bytes = static_cast<uintptr_t>(elements * tensor.element.bytes);
      if (pointer && bytes > 0)
        ranges.push_back({begin, begin + bytes, i});
    };
    if (sends && tensor.inputs > 0 && !launch.inputs[i])
      return describeSite(site) + ": " + nameBuffer("input", i) + " is null";
    if (tensor.outputs > 0 && !launch.outputs[i])
      return describeSite(site) + ": " + nameBuffer("output", i) + " is null";
    add(inputs, launch.inputs[i], tensor.inputs);
    add(outputs, launch.outputs[i], tensor.outputs);
  }
  return checkOverlaps(launch, std::move(inputs), std::move(outputs));
}
