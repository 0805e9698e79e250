//===- StepCache.cpp - Schedules of equal problems ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Step/StepCache.h"

#include "CommSched/Schedule/Step/StepScheduler.h"

using namespace mlir::commsched::schedule;

StepCache::Key StepCache::makeKey(const Problem &problem,
                                  const StepSchedulerOptions &options,
                                  bool isRepeated) {
  Key key;
  problem.appendTo(key);
  const Contention &contention = options.contention;
  auto append = [&](auto... numbers) {
    (key.push_back(static_cast<int64_t>(numbers)), ...);
  };
  append(options.limitBytes, options.slackPercent, options.maxDistance,
         options.effort, isRepeated, contention.exclusive.size(),
         contention.links.size(), contention.slowdownPpm.size());
  for (auto [a, b] : contention.exclusive)
    append(a, b);
  key.insert(key.end(), contention.links.begin(), contention.links.end());
  key.insert(key.end(), contention.slowdownPpm.begin(),
             contention.slowdownPpm.end());
  return key;
}

std::optional<StepSchedule> StepCache::find(const Key &key) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = schedules.find(key);
  return it == schedules.end() ? std::nullopt : std::optional(it->second);
}

void StepCache::keep(Key key, const StepSchedule &schedule) {
  std::lock_guard<std::mutex> lock(mutex);
  if (key.size() > maxNumbers - numNumbers)
    return;
  numNumbers += key.size();
  schedules.emplace(std::move(key), schedule);
}
