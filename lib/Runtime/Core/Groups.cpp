//===- Groups.cpp - The ranks of groups -------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Groups.h"

using namespace commsched::runtime;

Error commsched::runtime::expandGroup(const GroupDescription &group,
                                      int64_t numRanks, Rows &rows) {
  const std::string name = "group '" + group.name + "' ";
  const std::string butRun = ", but " + std::to_string(numRanks) + " run";
  rows.clear();
  if (!group.ranks.empty()) {
    for (const std::vector<int32_t> &row : group.ranks)
      for (int32_t rank : row)
        if (rank >= numRanks)
          return name + "names rank " + std::to_string(rank) + butRun;
    rows = group.ranks;
    return std::nullopt;
  }
  if (group.size > numRanks)
    return name + "has " + std::to_string(group.size) + " ranks" + butRun;
  // Every block of size * stride ranks holds `stride` rows.
  int64_t block = group.size * group.stride;
  if (numRanks % block != 0)
    return name + "takes " + std::to_string(group.size) +
           " ranks in steps of " + std::to_string(group.stride) +
           ", thus multiples of " + std::to_string(block) + " ranks" + butRun;
  for (int64_t begin = 0; begin < numRanks; begin += block)
    for (int64_t first = begin; first < begin + group.stride; ++first) {
      std::vector<int32_t> row;
      for (int64_t i = 0; i < group.size; ++i)
        row.push_back(static_cast<int32_t>(first + i * group.stride));
      rows.push_back(std::move(row));
    }
  return std::nullopt;
}
