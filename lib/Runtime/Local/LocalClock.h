//===- LocalClock.h - The compute stream's clock of a rank ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With modelled times a number that computing and waiting add up, which says
// until when calls sleep, so that the jitter of one sleep does not delay what
// follows; otherwise the real time. In nanoseconds since the step began.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_LOCAL_LOCALCLOCK_H
#define COMMSCHED_RUNTIME_LOCAL_LOCALCLOCK_H

#include "CommSched/Runtime/Backend.h"

#include <algorithm>

namespace commsched::runtime {

class LocalClock {
public:
  explicit LocalClock(bool modelled) : modelled(modelled) { begin(); }

  bool isModelled() const { return modelled; }

  void begin() {
    stepBegin = Clock::now();
    modelledNs = 0;
  }

  int64_t now() const { return modelled ? modelledNs : getNs(Clock::now()); }

  /// Real time advances by itself.
  void advanceTo(int64_t ns) { modelledNs = std::max(modelledNs, ns); }

  /// The real time at which it is `ns`.
  Clock::time_point getRealTime(int64_t ns) const {
    return stepBegin + std::chrono::nanoseconds(ns);
  }
  int64_t getNs(Clock::time_point time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time -
                                                                stepBegin)
        .count();
  }

private:
  bool modelled;
  int64_t modelledNs = 0;
  Clock::time_point stepBegin;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_LOCAL_LOCALCLOCK_H
