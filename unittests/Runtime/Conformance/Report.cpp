//===- Report.cpp - Report of a run of the suite --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include <cstdio>

using namespace commsched::conformance;

/// Enough to see what is wrong.
static constexpr int64_t maxPrinted = 40;

void Report::setRank() {
  rank = commsched_rank();
  numRanks = commsched_num_ranks();
}

void Report::addDefect(commsched_kind kind, const std::string &text) {
  ++counts[kind].defects;
  // One call a line, so that those of several ranks do not mix.
  if (numPrinted++ < maxPrinted)
    std::printf("%s",
                ("rank " + std::to_string(rank) + ": " + text + "\n").c_str());
}

void Report::addUp() {
  std::vector<std::array<Count, refused + 1>> all(commsched_num_ranks());
  if (commsched_exchange(counts.data(), all.data(), sizeof(counts)))
    return;
  counts = {};
  for (const auto &others : all)
    for (size_t i = 0; i < counts.size(); ++i) {
      counts[i].launches += others[i].launches;
      counts[i].defects += others[i].defects;
    }
}

void Report::print() const {
  for (size_t i = 0; i < counts.size(); ++i)
    std::printf("%-15s %8lld launches %6lld wrong\n",
                i == refused ? "refused"
                             : getName(static_cast<commsched_kind>(i)),
                static_cast<long long>(counts[i].launches),
                static_cast<long long>(counts[i].defects));
}

bool Report::hasDefects() const {
  for (const Count &count : counts)
    if (count.defects)
      return true;
  return false;
}
