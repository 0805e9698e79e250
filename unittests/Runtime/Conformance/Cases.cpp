//===- Cases.cpp - Cases of the suite -------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include <algorithm>
#include <array>

using namespace commsched::conformance;

const std::vector<int32_t> *ProcessGroup::findRow(int32_t rank) const {
  for (const std::vector<int32_t> &row : rows)
    if (std::find(row.begin(), row.end(), rank) != row.end())
      return &row;
  return nullptr;
}

/// Rows from `source` to `target`: not symmetric, and often none.
static int64_t getRows(int32_t source, int32_t target) {
  return (source * 3 + target * 5 + 1) % 4;
}

std::vector<int64_t> commsched::conformance::getInputRows(int32_t rank,
                                                          int32_t size) {
  std::vector<int64_t> rows;
  for (int32_t other = 0; other < size; ++other)
    rows.push_back(getRows(rank, other));
  return rows;
}

std::vector<int64_t> commsched::conformance::getOutputRows(int32_t rank,
                                                           int32_t size) {
  std::vector<int64_t> rows;
  for (int32_t other = 0; other < size; ++other)
    rows.push_back(getRows(other, rank));
  return rows;
}

TensorSizes commsched::conformance::getSizes(const Case &theCase,
                                             const CaseTensor &tensor,
                                             int32_t rank, int32_t size) {
  int64_t one = tensor.count;
  int64_t all = one * size;
  switch (theCase.kind) {
  case COMMSCHED_ALL_GATHER:
    return {one, all, {}, {}};
  case COMMSCHED_REDUCE_SCATTER:
    return {all, one, {}, {}};
  case COMMSCHED_ALL_TO_ALL:
    break;
  case COMMSCHED_BARRIER:
    return {};
  default:
    return {one, one, {}, {}};
  }
  if (!theCase.uneven)
    return {all, all, {}, {}};
  // Whole rows, if the numbers of rows are values.
  int64_t divisor = theCase.hasSplitValues() ? 1 : 2;
  TensorSizes sizes;
  for (int32_t other = 0; other < size; ++other) {
    sizes.inputSplits.push_back(one * getRows(rank, other) / divisor);
    sizes.outputSplits.push_back(one * getRows(other, rank) / divisor);
    sizes.inputs += sizes.inputSplits.back();
    sizes.outputs += sizes.outputSplits.back();
  }
  return sizes;
}

const char *commsched::conformance::getName(commsched_kind kind) {
  constexpr std::array<const char *, COMMSCHED_RELOAD + 1> names = {
      "all_gather", "reduce_scatter", "all_reduce", "all_to_all",
      "broadcast",  "permute",        "send",       "recv",
      "barrier",    "offload",        "reload"};
  return names[kind];
}

const char *commsched::conformance::getName(commsched_reduction reduction) {
  constexpr std::array<const char *, numReductions> names = {
      "sum", "avg", "prod", "min", "max", "band", "bor", "bxor"};
  return names[reduction];
}

std::string commsched::conformance::describe(const Case &theCase,
                                             const Plan &plan) {
  std::string text = getName(theCase.kind);
  if (theCase.reduction)
    text += std::string("(") + getName(*theCase.reduction) + ")";
  text += " of";
  for (const CaseTensor &tensor : theCase.tensors)
    text += std::string(" ") + tensor.format->name + "*" +
            std::to_string(tensor.count);
  const ProcessGroup &group = plan.groups[theCase.group];
  text += " on '" + group.name + "'" +
          (group.implementation
               ? " (" + std::string(group.implementation->name) + ")"
               : "") +
          " of " + std::to_string(group.getSize());
  if (theCase.source >= 0)
    text += " from " + std::to_string(theCase.source);
  if (theCase.peer >= 0)
    text += " peer " + std::to_string(theCase.peer) + " tag " +
            std::to_string(theCase.tag);
  for (auto [source, target] : theCase.pairs)
    text += " " + std::to_string(source) + "->" + std::to_string(target);
  if (theCase.uneven)
    text += " uneven";
  if (theCase.inputValues)
    text += ", inputs by value";
  if (theCase.outputValues)
    text += ", outputs by value";
  if (theCase.inPlace)
    text += " in place";
  return text + " (site " + std::to_string(theCase.site) + " of '" + plan.name +
         "')";
}
