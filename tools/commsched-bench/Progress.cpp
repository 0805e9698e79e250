//===- Progress.cpp - How far a run has come ------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

namespace commsched::bench {

/// Between two lines that do not go to a terminal.
static constexpr std::chrono::seconds interval(30);

Progress::Progress(const Plan &plan)
    : plan(plan), isTerminal(llvm::sys::Process::StandardErrIsDisplayed()),
      started(Clock::now()), printed(started) {}

void Progress::begin(size_t index) {
  Clock::time_point now = Clock::now();
  if (!isTerminal && now - printed < interval)
    return;
  printed = now;
  const Point &point = plan.points[index];
  int64_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now - started).count();
  llvm::errs() << llvm::formatv(
      "[{0}/{1}] {2} on {3}, {4} bytes of {5}, after {6} s", index + 1,
      plan.points.size(), stringifyOperation(point.operation),
      plan.groups[point.group].name, point.bytes, point.element->name, seconds);
  if (!isTerminal)
    llvm::errs() << "\n";
}

void Progress::clear() {
  // To the line's beginning, and erase it.
  if (isTerminal)
    llvm::errs() << "\r\x1b[K";
}

} // namespace commsched::bench
