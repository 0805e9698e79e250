//===- Runner.h - One rank of the suite -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads the plans' programs and runs their cases, a few in flight at a time,
// waited for in different ways and orders; or loads programs that must be
// rejected.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_CONFORMANCE_RUNNER_H
#define COMMSCHED_UNITTESTS_CONFORMANCE_RUNNER_H

#include "Cases.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace commsched::conformance {

/// Of one kind. A combination that is refused counts as one launch.
struct Count {
  int64_t launches = 0;
  int64_t defects = 0;
};

/// Counts the launches and defects of one rank by kind, and prints a line for
/// each defect. Hosts add the counts up.
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

/// How to join; see commsched_options.
struct RunOptions {
  std::string backend = "local";
  /// -1: what the launcher says.
  int32_t rank = -1;
  int32_t numRanks = -1;
  int64_t deadlineMs = 60000;
  bool checkBuffers = false;
  /// Instead of running anything, tries what must not load. Afterwards a
  /// process has failed, which launchers notice.
  bool onlyRefusals = false;

  /// Joins a job of its own; non-zero on an error.
  int32_t join(const std::string &job) const;
};

/// Runs what the options say as one rank. Returns the host's exit code.
int runRank(const RunOptions &options);

/// Runs the cases of `plan`, which is loaded, as the calling thread's rank.
void runCases(const Plan &plan, Report &report);

/// Runs the barriers of `plan`, which is loaded, with one rank coming late.
void checkBarrier(const Plan &plan, Report &report);

/// Loads a program of transfers to the host and back, and runs it beside
/// collectives.
void checkTransfers(Report &report);

/// Makes the errors that transfers and memory of the host can have, each in a
/// job of its own.
void checkTransferErrors(const RunOptions &options, Report &report);

/// Loads a program for each combination that the backend must refuse, each in a
/// job of its own.
void checkRefusals(const RunOptions &options, Report &report);

/// Runs `body` in a job of its own; the rank must then have failed with an
/// error that contains all of `parts`.
void checkError(const std::string &what, const RunOptions &options,
                Report &report, const std::vector<std::string> &parts,
                const std::function<void()> &body);

} // namespace commsched::conformance

#endif // COMMSCHED_UNITTESTS_CONFORMANCE_RUNNER_H
