//===- OneMachine.cpp - Jobs that share one machine -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OneMachine.h"

#include <algorithm>
#include <iterator>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

int64_t schedule::computePreemptiveEnd(std::vector<Job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job &left, const Job &right) {
    return left.headNs < right.headNs;
  });
  // The available jobs: tail, remaining time.
  std::priority_queue<std::pair<int64_t, int64_t>> available;
  int64_t clock = 0;
  int64_t last = 0;
  for (auto next = jobs.begin(); next != jobs.end() || !available.empty();) {
    if (available.empty())
      clock = std::max(clock, next->headNs);
    for (; next != jobs.end() && next->headNs <= clock; ++next)
      available.push({next->tailNs, next->timeNs});
    // Until it is done, or another one becomes available.
    auto [tail, left] = available.top();
    available.pop();
    int64_t run = left;
    if (next != jobs.end())
      run = std::min(run, next->headNs - clock);
    clock += run;
    if (run == left)
      last = std::max(last, clock + tail);
    else
      available.push({tail, left - run});
  }
  return last;
}

void BusyPeriods::add(int32_t machine, int64_t headNs, int64_t timeNs) {
  // An empty job does not extend the busy periods; callers derive its earliest
  // end from its head.
  if (timeNs == 0)
    return;
  int64_t begin = headNs;
  int64_t until = headNs + timeNs;
  auto next = periods.upper_bound({machine, headNs});
  // The period that is going on, or just over, takes it in.
  if (next != periods.begin()) {
    auto current = std::prev(next);
    if (current->first.first == machine && current->second >= headNs) {
      begin = current->first.second;
      until = current->second + timeNs;
      periods.erase(current);
    }
  }
  // Overlapping later periods are delayed.
  while (next != periods.end() && next->first.first == machine &&
         next->first.second <= until) {
    until += next->second - next->first.second;
    next = periods.erase(next);
  }
  periods.emplace_hint(next, std::make_pair(machine, begin), until);
  end = std::max(end, until);
}

void BusyPeriods::join(BusyPeriods &other) {
  if (periods.size() < other.periods.size()) {
    std::swap(periods, other.periods);
    std::swap(end, other.end);
  }
  for (const auto &[start, until] : other.periods)
    add(start.first, start.second, until - start.second);
  other.periods.clear();
  other.end = 0;
}
