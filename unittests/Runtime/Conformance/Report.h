//===- Report.h - Report of a run of the suite ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the launches and defects of one rank by kind, and prints a line for
// each defect. Hosts add the counts up.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_CONFORMANCE_REPORT_H
#define COMMSCHED_UNITTESTS_CONFORMANCE_REPORT_H

#include "Cases.h"

#include <array>

namespace commsched::conformance {

/// Of one kind. A combination that is refused counts as one launch.
struct Count {
  int64_t launches = 0;
  int64_t defects = 0;
};

class Report {
public:
  /// The calling thread has joined: remembers as which rank, for afterwards.
  void setRank();
  int32_t getRank() const { return rank; }
  int32_t getNumRanks() const { return numRanks; }

  /// In the place of a kind: what must be refused.
  static constexpr auto refused =
      static_cast<commsched_kind>(COMMSCHED_RELOAD + 1);

  void addLaunch(commsched_kind kind) { ++counts[kind].launches; }
  void addDefect(commsched_kind kind, const std::string &text);

  /// Adds up the counts of all ranks; all of them call it, while they are
  /// joined.
  void addUp();
  /// One line for each kind.
  void print() const;
  bool hasDefects() const;

private:
  int32_t rank = -1;
  int32_t numRanks = 0;
  int64_t numPrinted = 0;
  std::array<Count, refused + 1> counts = {};
};

} // namespace commsched::conformance

#endif // COMMSCHED_UNITTESTS_CONFORMANCE_REPORT_H
