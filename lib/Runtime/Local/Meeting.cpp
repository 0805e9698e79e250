//===- Meeting.cpp - Ranks that come together -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Local/Meeting.h"

#include <algorithm>

using namespace commsched::runtime;

/// When something that follows `earlier` may begin.
static int64_t getTime(const Meeting &earlier, bool onlyBegin) {
  return onlyBegin ? earlier.interval.beginNs : earlier.interval.endNs;
}

void commsched::runtime::follow(const std::shared_ptr<Meeting> &meeting,
                                const std::shared_ptr<Meeting> &earlier,
                                bool onlyBegin) {
  if (earlier->isComplete) {
    meeting->interval.beginNs =
        std::max(meeting->interval.beginNs, getTime(*earlier, onlyBegin));
    return;
  }
  ++meeting->missing;
  earlier->followers.push_back({meeting, onlyBegin});
}

void commsched::runtime::arrive(
    const std::shared_ptr<Meeting> &meeting, Clock::time_point now,
    std::vector<std::shared_ptr<Meeting>> &completed) {
  if (--meeting->missing > 0)
    return;
  size_t next = completed.size();
  completed.push_back(meeting);
  // What completes makes others complete: a list of work, since chains are
  // long.
  for (; next < completed.size(); ++next) {
    Meeting &done = *completed[next];
    done.isComplete = true;
    done.completeAt = now;
    done.interval.endNs =
        done.interval.beginNs + std::max<int64_t>(0, done.lengthNs);
    for (const Meeting::Follower &follower : done.followers) {
      std::shared_ptr<Meeting> later = follower.meeting.lock();
      if (!later)
        continue;
      later->interval.beginNs =
          std::max(later->interval.beginNs, getTime(done, follower.onlyBegin));
      if (--later->missing == 0)
        completed.push_back(std::move(later));
    }
    done.followers.clear();
  }
}
