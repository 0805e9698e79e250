//===- LocalJob.h - State shared by the ranks of a job ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state that the threads of a job share: which ranks have joined, failed or
// left, the exchanges of texts, and the meetings that are not complete yet.
//
// A meeting is one execution of a collective, or of a send or a recv. It is
// complete when all members have arrived and, with modelled times, when its
// begin is known: a stream is in order, so a meeting waits for the launches
// before it on the same stream. A send does not wait for its recv; the recv
// waits for its send. The job's mutex guards all of this except the data that
// the members have staged, which does not change once it is there.
//
// Staging.cpp makes copies of inputs when a collective starts, from which all
// ranks write their outputs when it ends, and checks that both are left alone
// in between.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_LOCAL_LOCALJOB_H
#define COMMSCHED_RUNTIME_LOCAL_LOCALJOB_H

#include "CommSched/Runtime/Backend.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

namespace commsched::runtime {

/// The data of one tensor that one rank sends.
struct StagedTensor {
  std::unique_ptr<char[]> bytes;
  int64_t size = 0;
  /// Of an uneven all_to_all.
  std::vector<int64_t> splits;
};

/// The data that one rank sends; empty if it sends nothing.
using Staged = std::vector<StagedTensor>;

/// Copies what the launch's rank sends.
Staged stageInputs(const Launch &launch);

/// An error that names both ranks where a rank of the group has sent this one
/// another number of rows than it expects: where splits are values, nobody has
/// compared them before.
Status checkParts(const Launch &launch,
                  const std::vector<const Staged *> &sent);

/// Writes the launch's outputs from what all ranks of the group sent; of a
/// recv, `sent` has one entry, the sender's.
void writeOutputs(const Launch &launch,
                  const std::vector<const Staged *> &sent);

/// The byte that outputs are filled with until the wait.
inline constexpr unsigned char spoiledByte = 0xff;

/// Fills the outputs, where they are not what is sent in place.
void spoilOutputs(const Launch &launch, const Staged &staged);

/// An error that names the tensor and the byte where the inputs are not what
/// was staged, or the outputs have been written since `spoilOutputs`.
Status checkBuffers(const Launch &launch, const Staged &staged);

/// One execution of a collective, or of a send or a recv.
struct Meeting {
  /// World ranks; a send or recv has one.
  std::vector<int32_t> members;
  /// By place in `members`: whether the member has come, and its data.
  std::vector<bool> hasCome;
  std::vector<Staged> staged;
  /// Of a recv: the sender, the send once it is there, and the bytes that are
  /// expected of each tensor.
  int32_t sender = -1;
  std::shared_ptr<Meeting> send;
  std::vector<int64_t> expectedBytes;
  /// The collective that the first member started: all must start the same.
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

/// A job, which the ranks of equal name and number share.
class LocalJob {
public:
  /// Joins the job of the name, or makes it. An error when the rank is there
  /// already, or the ranks disagree on how many they are.
  static std::shared_ptr<LocalJob> join(const std::string &name, int32_t rank,
                                        int32_t numRanks, Status &status);

  explicit LocalJob(int32_t numRanks) : seats(numRanks) {}

  /// As Backend::exchange.
  Status exchange(int32_t rank, const std::string &mine,
                  std::vector<std::string> &all, int64_t deadlineMs,
                  Deadline deadline);

  /// The first failure of the job stays.
  void fail(int32_t rank, const std::string &text);
  /// After this the rank is gone.
  void leave(int32_t rank);

  /// Brings a launch to its meeting, with what the rank sends; null and an
  /// error when another member has started another site in its place. With
  /// modelled times `clockNs` is the rank's clock, and `before` the meeting
  /// before this one on its stream, if any.
  std::shared_ptr<Meeting> post(const Launch &launch, int32_t rank,
                                Staged staged, int64_t clockNs,
                                const std::shared_ptr<Meeting> &before,
                                Status &status);
  bool isComplete(const Meeting &meeting);
  /// Waits until the meeting is complete.
  Status wait(const Meeting &meeting, const Launch &launch, int32_t rank,
              int64_t deadlineMs, Deadline deadline);
  /// Waits until the time has come, or a rank has failed: then an error.
  Status sleepUntil(int32_t rank, Clock::time_point time);
  /// "rank 2 failed: ...", if one did.
  Status getFailure();

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

  std::shared_ptr<Meeting> findMeeting(const Launch &launch, int32_t rank,
                                       Status &status);
  std::shared_ptr<Meeting> makePointToPoint(const Launch &launch, int32_t rank,
                                            Staged staged, Status &status);
  void notifyAll();
  /// Whether the rank stands in an exchange that others have yet to come to.
  bool standsInExchange(const Seat &seat) const;
  std::string describeFailure() const;
  /// Why the rank will never come, or "".
  std::string whyGone(int32_t rank) const;
  RankStates findMissing(const Meeting &meeting, bool onlyGone) const;

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

#endif // COMMSCHED_RUNTIME_LOCAL_LOCALJOB_H
