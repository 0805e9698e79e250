//===- OneMachineTest.cpp - Tests of one-machine bounds -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds/OneMachine.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

std::vector<Job> makeRandomJobs(Random &random, int64_t maxJobs) {
  std::vector<Job> jobs(random.below(maxJobs + 1));
  for (Job &job : jobs)
    job = {random.below(30), random.below(8), random.below(30)};
  return jobs;
}

/// Jackson's rule, one nanosecond after the other.
int64_t runByTheNanosecond(std::vector<Job> jobs) {
  int64_t last = 0;
  for (const Job &job : jobs)
    if (job.timeNs == 0)
      last = std::max(last, job.headNs + job.tailNs);
  for (int64_t clock = 0; clock < 1000; ++clock) {
    Job *chosen = nullptr;
    for (Job &job : jobs)
      if (job.headNs <= clock && job.timeNs > 0 &&
          (!chosen || job.tailNs > chosen->tailNs))
        chosen = &job;
    if (chosen && --chosen->timeNs == 0)
      last = std::max(last, clock + 1 + chosen->tailNs);
  }
  return last;
}

/// Carlier's formula, one set after the other.
int64_t tryAllSets(const std::vector<Job> &jobs) {
  int64_t largest = 0;
  for (uint64_t set = 1; set < uint64_t(1) << jobs.size(); ++set) {
    Job all = {1000, 0, 1000};
    for (size_t i = 0; i < jobs.size(); ++i)
      if (set >> i & 1)
        all = {std::min(all.headNs, jobs[i].headNs),
               all.timeNs + jobs[i].timeNs,
               std::min(all.tailNs, jobs[i].tailNs)};
    largest = std::max(largest, all.headNs + all.timeNs + all.tailNs);
  }
  return largest;
}

/// When one machine is done that runs its jobs in the order of their heads.
int64_t runInOrder(std::vector<std::pair<int64_t, int64_t>> jobs) {
  std::sort(jobs.begin(), jobs.end());
  int64_t clock = 0;
  for (auto [head, time] : jobs)
    if (time > 0)
      clock = std::max(clock, head) + time;
  return clock;
}

TEST(OneMachine, LongTailsInterrupt) {
  EXPECT_EQ(computePreemptiveEnd({}), 0);
  EXPECT_EQ(computePreemptiveEnd({{3, 4, 5}}), 12);
  // The second interrupts the first at 2: it ends at 5, the first at 13.
  EXPECT_EQ(computePreemptiveEnd({{0, 10, 0}, {2, 3, 9}}), 14);
  // Without that it would be 10 + 3 + 9.
  EXPECT_EQ(computePreemptiveEnd({{0, 10, 10}, {2, 3, 9}}), 22);
  // Idle until 100.
  EXPECT_EQ(computePreemptiveEnd({{100, 5, 0}, {0, 7, 1}}), 105);
}

TEST(OneMachine, IsJacksonsScheduleAndCarliersBound) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<Job> jobs = makeRandomJobs(random, 8);
    EXPECT_EQ(computePreemptiveEnd(jobs), runByTheNanosecond(jobs)) << i;
    EXPECT_EQ(computePreemptiveEnd(jobs), tryAllSets(jobs)) << i;
  }
}

TEST(BusyPeriods, TouchingJobsAreOnePeriod) {
  BusyPeriods periods;
  EXPECT_EQ(periods.endNs(), 0);
  periods.add(0, 10, 5);
  periods.add(0, 20, 5);
  EXPECT_EQ(periods.endNs(), 25);
  // From 15 to 20: no longer than before. Then whatever comes early puts the
  // end off.
  periods.add(0, 15, 5);
  EXPECT_EQ(periods.endNs(), 25);
  periods.add(0, 0, 9);
  EXPECT_EQ(periods.endNs(), 25);
  periods.add(0, 3, 2);
  EXPECT_EQ(periods.endNs(), 26);
  // Another machine is not in the way.
  periods.add(1, 0, 26);
  EXPECT_EQ(periods.endNs(), 26);
  // Jobs of no time make no machine busy.
  periods.add(0, 100, 0);
  EXPECT_EQ(periods.endNs(), 26);
}

TEST(BusyPeriods, JoinedInAnyOrderTheyAreAllJobs) {
  Random random(2);
  constexpr int32_t machines = 3;
  for (int i = 0; i < 500; ++i) {
    std::vector<BusyPeriods> sets(1 + random.below(8));
    std::vector<std::vector<std::pair<int64_t, int64_t>>> jobs(machines);
    for (BusyPeriods &set : sets)
      for (int64_t count = random.below(12); count > 0; --count) {
        auto machine = static_cast<int32_t>(random.below(machines));
        int64_t head = random.below(120);
        int64_t time = random.below(6);
        set.add(machine, head, time);
        jobs[machine].push_back({head, time});
      }
    while (sets.size() > 1) {
      BusyPeriods last = std::move(sets.back());
      sets.pop_back();
      sets[random.below(static_cast<int64_t>(sets.size()))].join(last);
      EXPECT_EQ(last.endNs(), 0);
    }
    int64_t end = 0;
    for (const auto &machine : jobs)
      end = std::max(end, runInOrder(machine));
    EXPECT_EQ(sets.front().endNs(), end) << i;
  }
}

} // namespace
