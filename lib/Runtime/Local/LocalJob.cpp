//===- LocalJob.cpp - State shared by the ranks of a job ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Local/LocalJob.h"

#include "Core/Program.h"

#include <algorithm>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// Joining, leaving and waiting
//===----------------------------------------------------------------------===//

std::shared_ptr<LocalJob> LocalJob::join(const std::string &name, int32_t rank,
                                         int32_t numRanks, Status &status) {
  // Jobs live as long as ranks hold them.
  static std::mutex registryMutex;
  static std::map<std::string, std::weak_ptr<LocalJob>> registry;
  std::lock_guard<std::mutex> registryLock(registryMutex);
  std::weak_ptr<LocalJob> &entry = registry[name];
  if (std::shared_ptr<LocalJob> job = entry.lock()) {
    std::lock_guard<std::mutex> lock(job->mutex);
    auto numJoined = static_cast<int32_t>(job->seats.size());
    bool isTaken = rank < numJoined && job->seats[rank].hasJoined;
    // Ranks that have left an earlier job of this name may meet again, while
    // others have yet to leave it.
    if (!isTaken || !job->seats[rank].hasLeft) {
      if (numJoined != numRanks)
        status = concat("the job '", name, "' has ", numJoined,
                        " ranks, but rank ", rank, " says ", numRanks);
      else if (isTaken)
        status = concat("the job '", name, "' has a rank ", rank, " already");
      else
        job->seats[rank].hasJoined = true;
      return status ? job : nullptr;
    }
  }
  auto job = std::make_shared<LocalJob>(numRanks);
  job->seats[rank].hasJoined = true;
  entry = job;
  return job;
}

void LocalJob::notifyAll() {
  for (Seat &seat : seats)
    seat.wake.notify_all();
}

std::string LocalJob::describeFailure() const {
  return concat("rank ", failedRank, " failed: ", failure);
}

Status LocalJob::getFailure() {
  std::lock_guard<std::mutex> lock(mutex);
  return failedRank < 0 ? Status() : Status(describeFailure());
}

void LocalJob::fail(int32_t rank, const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failedRank >= 0)
    return;
  failedRank = rank;
  failure = text;
  notifyAll();
}

void LocalJob::leave(int32_t rank) {
  std::lock_guard<std::mutex> lock(mutex);
  seats[rank].hasLeft = true;
  notifyAll();
}

Status LocalJob::exchange(int32_t rank, const std::string &mine,
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
    return Status();
  }
  if (failedRank >= 0)
    return describeFailure();
  RankStates missing;
  for (int32_t other = 0; other < numRanks; ++other) {
    if (round.hasCome[other])
      continue;
    const Seat &seat = seats[other];
    if (seat.hasLeft)
      return concat("rank ", other, " has left before all ranks have met");
    const char *what = seat.hasJoined ? "has not come" : "has not joined";
    missing.emplace_back(other, what + quoteLast(seat.last));
  }
  return describeTimeout("while all ranks meet", deadlineMs, missing);
}

bool LocalJob::standsInExchange(const Seat &seat) const {
  auto round = rounds.find(seat.numExchanges - 1);
  return round != rounds.end() &&
         round->second.numCome < static_cast<int32_t>(seats.size());
}

std::string LocalJob::whyGone(int32_t rank) const {
  const Seat &seat = seats[rank];
  if (seat.hasLeft)
    return "has finished without it" + quoteLast(seat.last);
  if (standsInExchange(seat))
    return "has not started it, but waits for all ranks to meet" +
           quoteLast(seat.last);
  return "";
}

RankStates LocalJob::findMissing(const Meeting &meeting, bool onlyGone) const {
  std::vector<int32_t> ranks;
  for (size_t i = 0; i < meeting.members.size(); ++i)
    if (!meeting.hasCome[i])
      ranks.push_back(meeting.members[i]);
  if (meeting.sender >= 0 && !meeting.send)
    ranks.push_back(meeting.sender);
  return describeEach(ranks, [&](int32_t rank) {
    std::string text = whyGone(rank);
    return text.empty() && !onlyGone
               ? "has not started it" + quoteLast(seats[rank].last, nothingElse)
               : text;
  });
}

bool LocalJob::isComplete(const Meeting &meeting) {
  std::lock_guard<std::mutex> lock(mutex);
  return meeting.isComplete;
}

Status LocalJob::wait(const Meeting &meeting, const Launch &launch,
                      int32_t rank, int64_t deadlineMs, Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex);
  RankStates gone;
  auto isOver = [&] {
    if (meeting.isComplete || failedRank >= 0)
      return true;
    gone = findMissing(meeting, /*onlyGone=*/true);
    return !gone.empty();
  };
  bool inTime = seats[rank].wake.wait_until(lock, deadline, isOver);
  if (meeting.isComplete)
    return Status();
  if (failedRank < 0 && !inTime) {
    RankStates missing = findMissing(meeting, /*onlyGone=*/false);
    return describeTimeout(launch, deadlineMs, missing) +
           (missing.empty()
                ? ": an earlier launch on its stream is not complete"
                : "");
  }
  return "in the wait for " + describeLaunch(launch) + ": " +
         (failedRank < 0 ? describeRanks(gone) : describeFailure());
}

Status LocalJob::sleepUntil(int32_t rank, Clock::time_point time) {
  std::unique_lock<std::mutex> lock(mutex);
  seats[rank].wake.wait_until(lock, time, [&] { return failedRank >= 0; });
  return failedRank < 0 ? Status() : Status(describeFailure());
}

//===----------------------------------------------------------------------===//
// Completion of meetings
//===----------------------------------------------------------------------===//

/// When something that follows `earlier` may begin.
static int64_t getTime(const Meeting &earlier, bool onlyBegin) {
  return onlyBegin ? earlier.interval.beginNs : earlier.interval.endNs;
}

/// Makes `meeting` begin no earlier than `earlier` ends, or begins if
/// `onlyBegin`, and wait until that is known.
static void follow(const std::shared_ptr<Meeting> &meeting,
                   const std::shared_ptr<Meeting> &earlier, bool onlyBegin) {
  if (earlier->isComplete) {
    meeting->interval.beginNs =
        std::max(meeting->interval.beginNs, getTime(*earlier, onlyBegin));
    return;
  }
  ++meeting->missing;
  earlier->followers.push_back({meeting, onlyBegin});
}

/// One of what the meeting waits for is there. If that was the last, completes
/// it, and what follows; appends all that are complete now to `completed`.
static void arrive(const std::shared_ptr<Meeting> &meeting,
                   Clock::time_point now,
                   std::vector<std::shared_ptr<Meeting>> &completed) {
  if (--meeting->missing > 0)
    return;
  size_t next = completed.size();
  completed.push_back(meeting);
  // A completed meeting may complete its followers. A list and no recursion,
  // since chains are long.
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

//===----------------------------------------------------------------------===//
// Matching launches with meetings
//===----------------------------------------------------------------------===//

static std::shared_ptr<Meeting> makeMeeting(std::vector<int32_t> members,
                                            int32_t rank, const Site &site) {
  auto meeting = std::make_shared<Meeting>();
  meeting->missing = static_cast<int32_t>(members.size());
  meeting->hasCome.resize(members.size());
  meeting->staged.resize(members.size());
  meeting->members = std::move(members);
  meeting->lengthNs = site.runtimeNs;
  meeting->site = site.collective;
  meeting->firstRank = rank;
  meeting->firstText = describeSite(site);
  return meeting;
}

std::shared_ptr<Meeting> LocalJob::findMeeting(const Launch &launch,
                                               int32_t rank, Status &status) {
  const Group &group = *launch.group;
  std::pair<RowKey, int64_t> key(RowKey(group.index, group.members.front()),
                                 launch.sequence);
  auto found = meetings.find(key);
  if (found == meetings.end())
    found =
        meetings.emplace(key, makeMeeting(group.members, rank, *launch.site))
            .first;
  std::shared_ptr<Meeting> meeting = found->second;
  if (meeting->site != launch.site->collective) {
    status = concat("rank ", rank, " starts ", describeLaunch(launch),
                    ", but rank ", meeting->firstRank, " has started ",
                    meeting->firstText, " in its place");
    return nullptr;
  }
  // No other rank needs to find it once all have come.
  if (std::count(meeting->hasCome.begin(), meeting->hasCome.end(), false) == 1)
    meetings.erase(found);
  return meeting;
}

/// Why the recv cannot take what the send sends.
static Status checkPair(const Meeting &send, const Meeting &recv) {
  std::vector<int64_t> sentBytes;
  for (const StagedTensor &tensor : send.staged[0])
    sentBytes.push_back(tensor.size);
  if (sentBytes == recv.expectedBytes)
    return Status();
  auto describe = [](const Meeting &meeting, const char *does,
                     const std::vector<int64_t> &sizes) {
    std::string text =
        concat(meeting.firstText, " of rank ", meeting.firstRank, does);
    const char *separator = " ";
    for (int64_t size : sizes) {
      text += separator + std::to_string(size);
      separator = " + ";
    }
    return text + " bytes";
  };
  return describe(send, " sends", sentBytes) + ", but " +
         describe(recv, " expects", recv.expectedBytes);
}

std::shared_ptr<Meeting> LocalJob::makePointToPoint(const Launch &launch,
                                                    int32_t rank, Staged staged,
                                                    Status &status) {
  const Site &site = *launch.site;
  const Group &group = *launch.group;
  bool isSend = site.kind == COMMSCHED_SEND;
  std::shared_ptr<Meeting> meeting = makeMeeting({rank}, rank, site);
  if (isSend) {
    meeting->staged[0] = std::move(staged);
  } else {
    meeting->sender = group.members[site.peer];
    for (const Tensor &tensor : site.tensors)
      meeting->expectedBytes.push_back(tensor.getOutputBytes());
  }
  Channel channel(RowKey(group.index, group.members.front()),
                  isSend ? group.rank : site.peer,
                  isSend ? site.peer : group.rank, site.tag);
  Queue &partners = isSend ? recvs[channel] : sends[channel];
  if (partners.empty()) {
    (isSend ? sends : recvs)[channel].push_back(meeting);
    // A recv also waits for its send, whichever that will be.
    if (!isSend)
      ++meeting->missing;
    return meeting;
  }
  std::shared_ptr<Meeting> partner = partners.front();
  partners.pop_front();
  if (isSend) {
    partner->send = meeting;
    meeting->followers.push_back({partner, /*onlyBegin=*/true});
    status = checkPair(*meeting, *partner);
  } else {
    meeting->send = partner;
    follow(meeting, partner, /*onlyBegin=*/true);
    status = checkPair(*partner, *meeting);
  }
  return status ? meeting : nullptr;
}

std::shared_ptr<Meeting> LocalJob::post(const Launch &launch, int32_t rank,
                                        Staged staged, int64_t clockNs,
                                        const std::shared_ptr<Meeting> &before,
                                        Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failedRank >= 0) {
    status =
        "at the start of " + describeLaunch(launch) + ": " + describeFailure();
    return nullptr;
  }
  seats[rank].last = describeLast(launch);
  std::shared_ptr<Meeting> meeting;
  if (isPointToPoint(launch.site->kind)) {
    meeting = makePointToPoint(launch, rank, std::move(staged), status);
    if (!meeting)
      return nullptr;
    meeting->hasCome[0] = true;
  } else {
    meeting = findMeeting(launch, rank, status);
    if (!meeting)
      return nullptr;
    meeting->staged[launch.group->rank] = std::move(staged);
    meeting->hasCome[launch.group->rank] = true;
  }
  meeting->interval.beginNs = std::max(meeting->interval.beginNs, clockNs);
  if (before)
    follow(meeting, before, /*onlyBegin=*/false);
  std::vector<std::shared_ptr<Meeting>> completed;
  arrive(meeting, Clock::now(), completed);
  for (const std::shared_ptr<Meeting> &done : completed)
    for (int32_t member : done->members)
      seats[member].wake.notify_all();
  return meeting;
}
