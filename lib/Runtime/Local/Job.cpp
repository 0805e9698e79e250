//===- Job.cpp - What the ranks of a job share ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Local/Job.h"

#include "Core/Describe.h"

#include <algorithm>

using namespace commsched::runtime;

std::shared_ptr<Job> Job::join(const std::string &name, int32_t rank,
                               int32_t numRanks, Error &error) {
  // Jobs live as long as ranks hold them.
  static std::mutex registryMutex;
  static std::map<std::string, std::weak_ptr<Job>> registry;
  std::lock_guard<std::mutex> registryLock(registryMutex);
  std::weak_ptr<Job> &entry = registry[name];
  if (std::shared_ptr<Job> job = entry.lock()) {
    std::lock_guard<std::mutex> lock(job->mutex);
    auto numJoined = static_cast<int32_t>(job->seats.size());
    bool isTaken = rank < numJoined && job->seats[rank].hasJoined;
    // Ranks that have left an earlier job of this name may meet again, while
    // others have yet to leave it.
    if (!isTaken || !job->seats[rank].hasLeft) {
      if (numJoined != numRanks)
        error = "the job '" + name + "' has " + std::to_string(numJoined) +
                " ranks, but rank " + std::to_string(rank) + " says " +
                std::to_string(numRanks);
      else if (isTaken)
        error = "the job '" + name + "' has a rank " + std::to_string(rank) +
                " already";
      else
        job->seats[rank].hasJoined = true;
      return error ? nullptr : job;
    }
  }
  auto job = std::make_shared<Job>(numRanks);
  job->seats[rank].hasJoined = true;
  entry = job;
  return job;
}

/// " (its last: ...)", if there was one.
static std::string quoteLast(const std::string &last) {
  return last.empty() ? "" : " (its last: " + last + ")";
}

void Job::notifyAll() {
  for (Seat &seat : seats)
    seat.wake.notify_all();
}

std::string Job::describeFailure() const {
  return "rank " + std::to_string(failedRank) + " failed: " + failure;
}

Error Job::getFailure() {
  std::lock_guard<std::mutex> lock(mutex);
  return failedRank < 0 ? Error() : Error(describeFailure());
}

void Job::fail(int32_t rank, const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failedRank >= 0)
    return;
  failedRank = rank;
  failure = text;
  notifyAll();
}

void Job::leave(int32_t rank) {
  std::lock_guard<std::mutex> lock(mutex);
  seats[rank].hasLeft = true;
  notifyAll();
}

Error Job::exchange(int32_t rank, const std::string &mine,
                    std::vector<std::string> &all, int64_t deadlineMs,
                    Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex);
  int64_t number = seats[rank].numExchanges++;
  auto numRanks = static_cast<int32_t>(seats.size());
  Round &round = rounds[number];
  round.texts.resize(numRanks);
  round.hasCome.resize(numRanks);
  round.texts[rank] = mine;
  round.hasCome[rank] = true;
  ++round.numCome;
  // Also those that wait for this rank elsewhere: it is not going to come.
  notifyAll();
  auto isOver = [&] {
    return round.numCome == numRanks || failedRank >= 0 ||
           std::any_of(seats.begin(), seats.end(),
                       [](const Seat &seat) { return seat.hasLeft; });
  };
  seats[rank].wake.wait_until(lock, deadline, isOver);
  if (round.numCome == numRanks) {
    all = round.texts;
    // The last one to go clears up.
    if (++round.numLeft == numRanks)
      rounds.erase(number);
    return std::nullopt;
  }
  if (failedRank >= 0)
    return describeFailure();
  std::string text = "timed out after " + std::to_string(deadlineMs) +
                     " ms while all ranks meet";
  const char *separator = ": ";
  for (int32_t other = 0; other < numRanks; ++other) {
    if (round.hasCome[other])
      continue;
    const Seat &seat = seats[other];
    if (seat.hasLeft)
      return "rank " + std::to_string(other) +
             " has left before all ranks have met";
    text += separator + ("rank " + std::to_string(other));
    text += !seat.hasJoined ? " has not joined" : " has not come";
    text += quoteLast(seat.last);
    separator = "; ";
  }
  return text;
}

bool Job::standsInExchange(const Seat &seat) const {
  auto round = rounds.find(seat.numExchanges - 1);
  return round != rounds.end() &&
         round->second.numCome < static_cast<int32_t>(seats.size());
}

std::string Job::whyGone(int32_t rank) const {
  const Seat &seat = seats[rank];
  if (seat.hasLeft)
    return "has finished without it" + quoteLast(seat.last);
  if (standsInExchange(seat))
    return "has not started it, but waits for all ranks to meet" +
           quoteLast(seat.last);
  return "";
}

std::vector<std::pair<int32_t, std::string>>
Job::describeMissing(const Meeting &meeting, bool onlyGone) const {
  std::vector<std::pair<int32_t, std::string>> missing;
  auto describe = [&](int32_t rank) {
    std::string text = whyGone(rank);
    if (text.empty() && !onlyGone) {
      const Seat &seat = seats[rank];
      text = "has not started it";
      text += seat.last.empty() ? " (nor anything else)" : quoteLast(seat.last);
    }
    if (!text.empty())
      missing.emplace_back(rank, text);
  };
  for (size_t i = 0; i < meeting.members.size(); ++i)
    if (!meeting.hasCome[i])
      describe(meeting.members[i]);
  if (meeting.sender >= 0 && !meeting.send)
    describe(meeting.sender);
  return missing;
}

bool Job::isComplete(const Meeting &meeting) {
  std::lock_guard<std::mutex> lock(mutex);
  return meeting.isComplete;
}

Error Job::wait(const std::shared_ptr<Meeting> &meeting, const Launch &launch,
                int32_t rank, int64_t deadlineMs, Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex);
  std::vector<std::pair<int32_t, std::string>> gone;
  auto isOver = [&] {
    if (meeting->isComplete || failedRank >= 0)
      return true;
    gone = describeMissing(*meeting, /*onlyGone=*/true);
    return !gone.empty();
  };
  bool inTime = seats[rank].wake.wait_until(lock, deadline, isOver);
  if (meeting->isComplete)
    return std::nullopt;
  if (failedRank >= 0)
    return "in the wait for " + describeLaunch(launch) + ": " +
           describeFailure();
  if (!inTime) {
    auto missing = describeMissing(*meeting, /*onlyGone=*/false);
    std::string text = describeTimeout(launch, deadlineMs, missing);
    if (missing.empty())
      text += ": an earlier launch on the group is not complete";
    return text;
  }
  std::string text = "in the wait for " + describeLaunch(launch);
  const char *separator = ": ";
  for (const auto &[other, what] : gone) {
    text += separator + ("rank " + std::to_string(other)) + " " + what;
    separator = "; ";
  }
  return text;
}

Error Job::sleepUntil(int32_t rank, Clock::time_point time) {
  std::unique_lock<std::mutex> lock(mutex);
  seats[rank].wake.wait_until(lock, time, [&] { return failedRank >= 0; });
  return failedRank < 0 ? Error() : Error(describeFailure());
}
