//===- Meeting.h - Ranks that come together ---------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A meeting is one execution of a collective, or of a send or a recv. It is
// complete when all members have come and, with modelled times, when it is
// known when it begins: an in-order stream holds it up until the launches
// before it on the same group are complete. A send does not wait for its recv,
// only the recv for its send. All members are guarded by the job's mutex,
// except what members have staged, which nobody changes once it is there.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_LOCAL_MEETING_H
#define COMMSCHED_RUNTIME_LOCAL_MEETING_H

#include "Local/Staging.h"

namespace commsched::runtime {

struct Meeting {
  /// World ranks; a send or recv has one.
  std::vector<int32_t> members;
  /// By place in `members`: who has come, and what they sent.
  std::vector<bool> hasCome;
  std::vector<Staged> staged;
  /// Of a recv: who sends, the send once it is there, and the bytes that are
  /// expected of each tensor.
  int32_t sender = -1;
  std::shared_ptr<Meeting> send;
  std::vector<int64_t> expectedBytes;
  /// What the first member started: all must start the same site.
  int32_t site = -1;
  int32_t firstRank = -1;
  std::string firstText;

  /// How many members, sends, and earlier launches it waits for.
  int32_t missing = 0;
  bool isComplete = false;
  /// When that was.
  Clock::time_point completeAt;
  /// In modelled time; before it is complete, `beginNs` is the earliest
  /// possible. Negative lengths are unknown and count as nothing.
  int64_t lengthNs = 0;
  Interval interval;

  /// Those that wait until this one is complete, and whether only for its
  /// beginning. Weak, since a recv owns its send: without this, those that
  /// never complete would own each other for ever.
  struct Follower {
    std::weak_ptr<Meeting> meeting;
    bool onlyBegin = false;
  };
  std::vector<Follower> followers;
};

/// Makes `meeting` begin no earlier than `earlier` ends, or begins if
/// `onlyBegin`, and wait until that is known.
void follow(const std::shared_ptr<Meeting> &meeting,
            const std::shared_ptr<Meeting> &earlier, bool onlyBegin);

/// One of what the meeting waits for is there. If that was the last, completes
/// it, and what follows; appends all that are complete now to `completed`.
void arrive(const std::shared_ptr<Meeting> &meeting, Clock::time_point now,
            std::vector<std::shared_ptr<Meeting>> &completed);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_LOCAL_MEETING_H
