//===- LaunchCheck.cpp - The buffers of a launch ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/LaunchCheck.h"

#include "Core/Describe.h"

#include <algorithm>

using namespace commsched::runtime;

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

static Error checkOverlaps(const Launch &launch, std::vector<Range> inputs,
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
  return std::nullopt;
}

Error commsched::runtime::checkLaunch(const Launch &launch) {
  const Site &site = *launch.site;
  bool sends = sendsInputs(site, *launch.group);
  std::vector<Range> inputs, outputs;
  for (size_t i = 0; i < site.tensors.size(); ++i) {
    const Tensor &tensor = site.tensors[i];
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
