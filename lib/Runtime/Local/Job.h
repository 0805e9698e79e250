//===- Job.h - What the ranks of a job share --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The place where the threads of a job find each other: who has joined, failed
// or left, the exchanges of texts, and the meetings that are not complete yet.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_LOCAL_JOB_H
#define COMMSCHED_RUNTIME_LOCAL_JOB_H

#include "Local/Meeting.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

namespace commsched::runtime {

class Job {
public:
  /// Joins the job of the name, or makes it. An error when the rank is there
  /// already, or the ranks disagree on how many they are.
  static std::shared_ptr<Job> join(const std::string &name, int32_t rank,
                                   int32_t numRanks, Error &error);

  explicit Job(int32_t numRanks) : seats(numRanks) {}

  /// As Backend::exchange.
  Error exchange(int32_t rank, const std::string &mine,
                 std::vector<std::string> &all, int64_t deadlineMs,
                 Deadline deadline);

  /// The first failure of the job stays.
  void fail(int32_t rank, const std::string &text);
  /// After this the rank is gone.
  void leave(int32_t rank);

  /// One rank's part of a launch.
  struct Arrival {
    const Launch *launch = nullptr;
    int32_t rank = -1;
    Staged staged;
    /// With modelled times: the rank's clock, and the meeting before this one
    /// on its stream, if any.
    bool isModelled = false;
    int64_t clockNs = 0;
    std::shared_ptr<Meeting> before;
  };

  /// Brings the launch to its meeting; null and an error when another member
  /// has started another site in its place.
  std::shared_ptr<Meeting> post(Arrival arrival, Error &error);

  bool isComplete(const Meeting &meeting);
  /// Waits until the meeting is complete.
  Error wait(const std::shared_ptr<Meeting> &meeting, const Launch &launch,
             int32_t rank, int64_t deadlineMs, Deadline deadline);
  /// Waits until the time has come, or a rank has failed: then an error.
  Error sleepUntil(int32_t rank, Clock::time_point time);
  /// "rank 2 failed: ...", if one did.
  Error getFailure();

private:
  /// A rank, as the others see it.
  struct Seat {
    bool hasJoined = false;
    bool hasLeft = false;
    /// Its last launch; empty before the first.
    std::string last;
    /// How many exchanges it has begun.
    int64_t numExchanges = 0;
    std::condition_variable wake;
  };
  struct Round {
    std::vector<std::string> texts;
    std::vector<bool> hasCome;
    int32_t numCome = 0;
    int32_t numLeft = 0;
  };
  /// Group, and the first rank of the row.
  using RowKey = std::pair<int32_t, int32_t>;
  /// Source, target and tag.
  using Channel = std::tuple<RowKey, int32_t, int32_t, int32_t>;
  using Queue = std::deque<std::shared_ptr<Meeting>>;

  std::shared_ptr<Meeting> findMeeting(const Arrival &arrival, Error &error);
  std::shared_ptr<Meeting> makePointToPoint(Arrival &arrival, Error &error);
  void notifyAll();
  /// Whether the rank stands in an exchange that others have yet to come to.
  bool standsInExchange(const Seat &seat) const;
  std::string describeFailure() const;
  /// Why the rank will never come, or "".
  std::string whyGone(int32_t rank) const;
  std::vector<std::pair<int32_t, std::string>>
  describeMissing(const Meeting &meeting, bool onlyGone) const;

  std::mutex mutex;
  std::vector<Seat> seats;
  int32_t failedRank = -1;
  std::string failure;
  std::map<int64_t, Round> rounds;
  std::map<std::pair<RowKey, int64_t>, std::shared_ptr<Meeting>> meetings;
  std::map<Channel, Queue> sends;
  std::map<Channel, Queue> recvs;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_LOCAL_JOB_H
