//===- Progress.h - How far a run has come ----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A line on standard error that says what is being measured: in place on a
// terminal, and elsewhere now and then, so that logs of long runs show life and
// those of short ones stay empty.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_PROGRESS_H
#define COMMSCHED_TOOLS_BENCH_PROGRESS_H

#include "Plan.h"

#include <chrono>

namespace commsched::bench {

class Progress {
public:
  explicit Progress(const Plan &plan);

  /// Before the point of that index is measured.
  void begin(size_t index);
  /// Before anything else is printed.
  void clear();

private:
  using Clock = std::chrono::steady_clock;

  const Plan &plan;
  bool isTerminal;
  Clock::time_point started;
  Clock::time_point printed;
};

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_PROGRESS_H
