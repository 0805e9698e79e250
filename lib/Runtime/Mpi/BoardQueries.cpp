//===- BoardQueries.cpp - What the board says of other ranks --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Board.h"
#include "BoardLayout.h"

#include "Core/Describe.h"

#include <cerrno>
#include <csignal>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

std::string mpi::describeRanks(const Ranks &ranks) {
  std::string text;
  for (const auto &[rank, what] : ranks)
    text += (text.empty() ? "rank " : "; rank ") + std::to_string(rank) + " " +
            what;
  return text;
}

static bool isGone(const RankBoard &board) {
  // A process without a number has not come so far.
  pid_t process = board.process;
  return process != 0 && kill(process, 0) != 0 && errno == ESRCH;
}

/// What has ended the rank; empty if nothing has.
std::string Board::describeEnd(int32_t rank, bool lookForProcesses) const {
  const RankBoard *other = ranks[rank];
  if (!other)
    return "";
  if (other->hasFailed)
    return "failed: " + other->text.get();
  return lookForProcesses && isGone(*other) ? "is gone" : "";
}

Ranks Board::findFailed(bool lookForProcesses) const {
  Ranks failed;
  for (int32_t rank = 0, e = ranks.size(); rank != e; ++rank)
    if (rank != self)
      if (std::string end = describeEnd(rank, lookForProcesses); !end.empty())
        failed.push_back({rank, std::move(end)});
  return failed;
}

/// Empty if the rank has done what `launch` waits for.
std::string Board::describeMissing(const Launch &launch, int32_t rank,
                                   bool onlyElsewhere) const {
  if (!ranks[rank])
    return onlyElsewhere ? ""
                         : "is on another node, and nothing is known of it";
  if (!isOnBoard(launch.group->index))
    return "";
  bool isPair = isPointToPoint(launch.site->kind);
  const GroupBoard &other = ranks[rank]->groups[launch.group->index];
  if (!isPair && other.numCollectives > launch.sequence)
    return "";
  std::string last = other.last.get();
  // What a partner has sent may be on its way.
  if (!isPair && ranks[rank]->numMeetings > ranks[self]->numMeetings)
    return "has not started it, but waits for all ranks to meet" +
           (last.empty() ? "" : " (its last: " + last + ")");
  if (onlyElsewhere)
    return "";
  return std::string(isPair ? "has not met it" : "has not started it") +
         (last.empty() ? " (nor anything else)" : " (its last: " + last + ")");
}

Ranks Board::findMissing(const Launch &launch, bool onlyElsewhere) const {
  Ranks missing;
  const std::vector<int32_t> &members = launch.group->members;
  for (size_t i = 0; i != members.size(); ++i) {
    bool concerns = !isPointToPoint(launch.site->kind) ||
                    static_cast<int32_t>(i) == launch.site->peer;
    if (members[i] == self || !concerns)
      continue;
    if (std::string text = describeMissing(launch, members[i], onlyElsewhere);
        !text.empty())
      missing.push_back({members[i], std::move(text)});
  }
  return missing;
}

Ranks Board::findMissingFromMeeting() const {
  Ranks missing;
  for (int32_t rank = 0, e = ranks.size(); rank != e; ++rank) {
    const RankBoard *other = ranks[rank];
    if (rank == self)
      continue;
    std::string text = describeEnd(rank, /*lookForProcesses=*/true);
    if (!other)
      text = "is on another node, and nothing is known of it";
    else if (text.empty() && other->numMeetings < ranks[self]->numMeetings)
      text = "has not come";
    if (!text.empty())
      missing.push_back({rank, std::move(text)});
  }
  return missing;
}

bool Board::haveAllReported() const {
  for (const RankBoard *other : ranks)
    if (other && !other->hasReported && !isGone(*other))
      return false;
  return true;
}
