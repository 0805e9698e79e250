//===- Scenarios.h - Faults of ranks ----------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each scenario is one program on a few ranks, of which one (the culprit) does
// something wrong. A scenario only acts; the lit tests check the messages of
// every rank and their delay.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_FAULTS_SCENARIOS_H
#define COMMSCHED_UNITTESTS_FAULTS_SCENARIOS_H

#include "CommSched/Runtime/Runtime.h"

#include <functional>
#include <vector>

namespace commsched::faults {

/// The rank that does something wrong.
inline constexpr int32_t culprit = 1;

/// The rank that a scenario acts as.
struct Actor {
  int32_t rank = 0;
  int32_t numRanks = 0;
  int64_t deadlineMs = 0;
  /// Ends the rank at once, without a word: the process, or where ranks are
  /// threads the thread, by unwinding to its start.
  std::function<void()> vanish;
  /// The options for commsched_init.
  commsched_options options = {};

  bool isCulprit() const { return rank == culprit; }
};

struct Scenario {
  const char *name;
  /// Between commsched_init and commsched_finalize.
  std::function<void(Actor &)> act;
  /// Before commsched_init.
  void (*prepare)(Actor &) = nullptr;
};

const std::vector<Scenario> &getScenarios();

} // namespace commsched::faults

#endif // COMMSCHED_UNITTESTS_FAULTS_SCENARIOS_H
