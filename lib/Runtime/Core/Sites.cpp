//===- Sites.cpp - Checks and names of collectives ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Program.h"

#include "Numerics/ElementTypes.h"

#include <algorithm>
#include <set>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// Names in error messages
//===----------------------------------------------------------------------===//

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
         concat(", launch ", launch.sequence);
}

std::string commsched::runtime::describeLast(const Launch &launch) {
  return concat("launch ", launch.sequence, " ", describePlace(launch), ", ",
                quoteSite(*launch.site));
}

std::string commsched::runtime::describeTimeout(const std::string &what,
                                                int64_t deadlineMs,
                                                const RankStates &missing) {
  return concat("timed out after ", deadlineMs, " ms ", what,
                missing.empty() ? "" : ": ", describeRanks(missing));
}

std::string commsched::runtime::describeTimeout(const Launch &launch,
                                                int64_t deadlineMs,
                                                const RankStates &missing) {
  return describeTimeout("in the wait for " + describeLaunch(launch),
                         deadlineMs, missing);
}

std::string commsched::runtime::describeRanks(const RankStates &ranks) {
  std::string text;
  for (const auto &[rank, what] : ranks)
    text += concat(text.empty() ? "rank " : "; rank ", rank, " ", what);
  return text;
}

std::vector<int32_t> commsched::runtime::getPartners(const Launch &launch) {
  std::vector<int32_t> ranks;
  const Group &group = *launch.group;
  for (int32_t place = 0, e = group.members.size(); place != e; ++place)
    if (place != group.rank &&
        (!isPointToPoint(launch.site->kind) || place == launch.site->peer))
      ranks.push_back(group.members[place]);
  return ranks;
}

std::string commsched::runtime::quoteLast(const std::string &last,
                                          const char *nothing) {
  return last.empty() ? nothing : " (its last: " + last + ")";
}

//===----------------------------------------------------------------------===//
// Descriptions of sites
//===----------------------------------------------------------------------===//

/// Checks the listed splits of one side of `tensor`.
static Status checkSplits(const char *what, const Tensor &tensor,
                          const std::vector<int64_t> &splits, int64_t elements,
                          int64_t size) {
  if (static_cast<int64_t>(splits.size()) != size)
    return concat(what, "_splits has ", splits.size(), " entries for ", size,
                  " ranks");
  int64_t sum = 0;
  for (int64_t split : splits) {
    sum += split;
    if (tensor.rowElements > 0 && split % tensor.rowElements != 0)
      return concat(what, "_splits has ", split,
                    " elements for a rank, but a row has ", tensor.rowElements);
  }
  if (sum != elements)
    return concat(what, "_splits adds up to ", sum, ", but '", what, "s' is ",
                  elements);
  return Status();
}

static Status checkTensor(const Site &site, const Tensor &tensor,
                          int64_t size) {
  int64_t inputs = tensor.inputs;
  int64_t outputs = tensor.outputs;
  auto expectOutputs = [&](int64_t expected) -> Status {
    if (outputs == expected)
      return Status();
    return concat("'outputs' is ", outputs, ", but ", getName(site.kind),
                  " of 'inputs' = ", inputs, " on ", size, " ranks gives ",
                  expected);
  };
  bool isScattered =
      site.kind == COMMSCHED_REDUCE_SCATTER ||
      (site.kind == COMMSCHED_ALL_TO_ALL && tensor.inputSplits.empty() &&
       tensor.outputSplits.empty() && !site.hasSplitValues());
  if (isScattered && inputs % size != 0)
    return concat(size, " ranks do not divide 'inputs' = ", inputs);
  switch (site.kind) {
  case COMMSCHED_ALL_GATHER:
    return expectOutputs(inputs * size);
  case COMMSCHED_REDUCE_SCATTER:
    return expectOutputs(inputs / size);
  case COMMSCHED_ALL_REDUCE:
  case COMMSCHED_BROADCAST:
  case COMMSCHED_PERMUTE:
    return expectOutputs(inputs);
  case COMMSCHED_ALL_TO_ALL:
    if (isScattered)
      return expectOutputs(inputs);
    if (!site.inputSplitsAreValues)
      COMMSCHED_TRY(
          checkSplits("input", tensor, tensor.inputSplits, inputs, size));
    return site.outputSplitsAreValues
               ? Status()
               : checkSplits("output", tensor, tensor.outputSplits, outputs,
                             size);
  case COMMSCHED_SEND:
    return outputs == 0 ? Status()
                        : concat("a send has no 'outputs', but ", outputs);
  case COMMSCHED_RECV:
    return inputs == 0 ? Status()
                       : concat("a recv has no 'inputs', but ", inputs);
  case COMMSCHED_OFFLOAD:
  case COMMSCHED_RELOAD:
    return outputs == inputs
               ? Status()
               : concat("'outputs' is ", outputs, ", but ", getName(site.kind),
                        " of 'inputs' = ", inputs, " moves as many");
  case COMMSCHED_BARRIER:
    break;
  }
  return Status();
}

static Status checkPairs(const Site &site, bool hasPairs) {
  if (hasPairs != (site.kind == COMMSCHED_PERMUTE))
    return hasPairs ? "only permute has 'pairs'" : "'pairs' is missing";
  std::set<int32_t> sources, targets;
  for (const auto &[source, target] : site.pairs) {
    if (!sources.insert(source).second)
      return concat("rank ", source, " is the source of two pairs");
    if (!targets.insert(target).second)
      return concat("rank ", target, " is the target of two pairs");
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
  bool isPair = isPointToPoint(site.kind);
  bool hasPeer = site.kind == COMMSCHED_BROADCAST || isPair;
  if (hasPeer && site.peer < 0)
    return kind + " needs a 'peer'";
  if (!hasPeer && site.peer >= 0)
    return kind + " has no 'peer'";
  if (!isPair && site.tag != 0)
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
    COMMSCHED_TRY(within(concat("tensor ", i), status));
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
      return concat("the ", side, " split of rank ", rank, " of the group is ",
                    split, ", which is negative");
    if (split > maxElements - rows)
      return concat("the ", side, " splits add up to more than ", maxElements,
                    " rows");
    rows += split;
  }
  return Status();
}

/// Sets the elements and splits of one side of all tensors.
static Status resolveSide(const char *side, int64_t ranks,
                          const RowSplits &given, std::vector<Tensor> &tensors,
                          int64_t Tensor::*elements,
                          std::vector<int64_t> Tensor::*splits) {
  if (!given.splits)
    return concat("the ", side, " splits are values, but null is given");
  int64_t sum = 0;
  COMMSCHED_TRY(addSplits(side, given.splits, ranks, sum));
  if (sum != given.rows)
    return concat("the ", side, " splits add up to ", sum, " rows, but the ",
                  side, " has ", given.rows);
  for (Tensor &tensor : tensors) {
    int64_t row = tensor.rowElements;
    if (row > 0 && given.rows > maxElements / row)
      return concat("the ", side, " has ", given.rows, " rows of ", row,
                    " elements, more than fit a buffer");
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

static Status checkOverlaps(const Launch &launch, std::vector<Range> inputs,
                            std::vector<Range> outputs) {
  const std::string site = describeSite(*launch.site);
  std::sort(outputs.begin(), outputs.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < outputs.size(); ++i)
    if (outputs[i].begin < outputs[i - 1].end)
      return concat(site, ": output ", outputs[i - 1].tensor,
                    " overlaps output ", outputs[i].tensor);
  for (const Range &input : inputs) {
    auto first = std::partition_point(
        outputs.begin(), outputs.end(),
        [&](const Range &output) { return output.end <= input.begin; });
    for (auto output = first;
         output != outputs.end() && output->begin < input.end; ++output)
      if (!isInPlace(launch, input, *output))
        return concat(site, ": input ", input.tensor, " overlaps output ",
                      output->tensor, ", but not as in place");
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
      return concat(describeSite(site), ": input ", i, " is null");
    if (tensor.outputs > 0 && !launch.outputs[i])
      return concat(describeSite(site), ": output ", i, " is null");
    add(inputs, launch.inputs[i], tensor.inputs);
    add(outputs, launch.outputs[i], tensor.outputs);
  }
  return checkOverlaps(launch, std::move(inputs), std::move(outputs));
}
