//===- JobPost.cpp - How launches find their meeting ------------*- C++ -*-===//
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

static std::shared_ptr<Meeting> makeMeeting(std::vector<int32_t> members,
                                            int32_t rank, const Site &site) {
  auto meeting = std::make_shared<Meeting>();
  meeting->missing = static_cast<int32_t>(members.size());
  meeting->hasCome.resize(members.size());
  meeting->staged.resize(members.size());
  meeting->members = std::move(members);
  meeting->lengthNs = site.runtimeNs;
  meeting->site = site.index;
  meeting->firstRank = rank;
  meeting->firstText = describeSite(site);
  return meeting;
}

std::shared_ptr<Meeting> Job::findMeeting(const Arrival &arrival,
                                          Error &error) {
  const Launch &launch = *arrival.launch;
  const Group &group = *launch.group;
  std::pair<RowKey, int64_t> key(RowKey(group.index, group.members.front()),
                                 launch.sequence);
  auto found = meetings.find(key);
  if (found == meetings.end())
    found = meetings
                .emplace(key,
                         makeMeeting(group.members, arrival.rank, *launch.site))
                .first;
  std::shared_ptr<Meeting> meeting = found->second;
  if (meeting->site != launch.site->index) {
    error = "rank " + std::to_string(arrival.rank) + " starts " +
            describeLaunch(launch) + ", but rank " +
            std::to_string(meeting->firstRank) + " has started " +
            meeting->firstText + " in its place";
    return nullptr;
  }
  // Nobody else needs to find it once all have come.
  if (std::count(meeting->hasCome.begin(), meeting->hasCome.end(), false) == 1)
    meetings.erase(found);
  return meeting;
}

/// Why the recv cannot take what the send sends.
static Error checkPair(const Meeting &send, const Meeting &recv) {
  std::vector<int64_t> sentBytes;
  for (const StagedTensor &tensor : send.staged[0])
    sentBytes.push_back(tensor.size);
  if (sentBytes == recv.expectedBytes)
    return std::nullopt;
  auto describe = [](const Meeting &meeting, const char *does,
                     const std::vector<int64_t> &sizes) {
    std::string text = meeting.firstText + " of rank " +
                       std::to_string(meeting.firstRank) + does;
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

std::shared_ptr<Meeting> Job::makePointToPoint(Arrival &arrival, Error &error) {
  const Site &site = *arrival.launch->site;
  const Group &group = *arrival.launch->group;
  bool isSend = site.kind == COMMSCHED_SEND;
  std::shared_ptr<Meeting> meeting =
      makeMeeting({arrival.rank}, arrival.rank, site);
  if (isSend) {
    meeting->staged[0] = std::move(arrival.staged);
  } else {
    meeting->sender = group.members[site.peer];
    for (const Tensor &tensor : site.tensors)
      meeting->expectedBytes.push_back(tensor.outputs * tensor.element.bytes);
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
    error = checkPair(*meeting, *partner);
  } else {
    meeting->send = partner;
    follow(meeting, partner, /*onlyBegin=*/true);
    error = checkPair(*partner, *meeting);
  }
  return error ? nullptr : meeting;
}

std::shared_ptr<Meeting> Job::post(Arrival arrival, Error &error) {
  std::lock_guard<std::mutex> lock(mutex);
  const Launch &launch = *arrival.launch;
  if (failedRank >= 0) {
    error =
        "at the start of " + describeLaunch(launch) + ": " + describeFailure();
    return nullptr;
  }
  seats[arrival.rank].last = describeLast(launch);
  std::shared_ptr<Meeting> meeting;
  if (isPointToPoint(launch.site->kind)) {
    meeting = makePointToPoint(arrival, error);
    if (!meeting)
      return nullptr;
    meeting->hasCome[0] = true;
  } else {
    meeting = findMeeting(arrival, error);
    if (!meeting)
      return nullptr;
    meeting->staged[launch.group->rank] = std::move(arrival.staged);
    meeting->hasCome[launch.group->rank] = true;
  }
  if (arrival.isModelled) {
    meeting->interval.beginNs =
        std::max(meeting->interval.beginNs, arrival.clockNs);
    if (arrival.before)
      follow(meeting, arrival.before, /*onlyBegin=*/false);
  }
  std::vector<std::shared_ptr<Meeting>> completed;
  arrive(meeting, Clock::now(), completed);
  for (const std::shared_ptr<Meeting> &done : completed)
    for (int32_t member : done->members)
      seats[member].wake.notify_all();
  return meeting;
}
