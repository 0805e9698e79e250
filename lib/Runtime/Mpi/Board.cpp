//===- Board.cpp - What the ranks of a node write for each other ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Board.h"

#include "BoardLayout.h"
#include "Session.h"

#include "Core/Describe.h"

#include <new>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

static uint64_t getIdentity(const Launch &launch) {
  return static_cast<uint64_t>(static_cast<uint32_t>(launch.sequence + 1))
             << 32 |
         static_cast<uint32_t>(launch.site->index);
}

Error Board::open() {
  if (isOpen()) {
    pid_t process = ranks[self]->process;
    (new (ranks[self]) RankBoard)->process = process;
    return {};
  }
  int numRanks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  ranks.assign(numRanks, nullptr);
  if (Error error =
          checkMpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED,
                                       self, MPI_INFO_NULL, &node),
                   "MPI_Comm_split_type"))
    return error;
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  MPI_Comm_size(node, &numRanksOnNode);

  void *memory = nullptr;
  if (Error error =
          checkMpi(MPI_Win_allocate_shared(sizeof(RankBoard), 1, MPI_INFO_NULL,
                                           node, &memory, &window),
                   "MPI_Win_allocate_shared"))
    return error;
  RankBoard *mine = new (memory) RankBoard;
  mine->process = getpid();

  std::vector<int> worldRanks(numRanksOnNode);
  if (Error error =
          checkMpi(MPI_Allgather(&self, 1, MPI_INT32_T, worldRanks.data(), 1,
                                 MPI_INT32_T, node),
                   "MPI_Allgather"))
    return error;
  for (int i = 0; i != numRanksOnNode; ++i) {
    MPI_Aint size = 0;
    int unit = 0;
    if (Error error =
            checkMpi(MPI_Win_shared_query(window, i, &size, &unit, &memory),
                     "MPI_Win_shared_query"))
      return error;
    ranks[worldRanks[i]] = static_cast<RankBoard *>(memory);
  }
  return {};
}

void Board::close() {
  if (window != MPI_WIN_NULL)
    MPI_Win_free(&window);
  if (node != MPI_COMM_NULL)
    MPI_Comm_free(&node);
  ranks.clear();
}

Error Board::start(const Launch &launch) {
  int32_t group = launch.group->index;
  if (!isOnBoard(group))
    return {};
  GroupBoard &mine = ranks[self]->groups[group];
  mine.last.set(describeLast(launch));
  if (isPointToPoint(launch.site->kind))
    return {};

  uint64_t identity = getIdentity(launch);
  CollectiveBoard &place = mine.recent[launch.sequence % numRecent];
  place.site.set(describeSite(*launch.site));
  // Must be seen before the others' are read: sequential consistency.
  place.identity = identity;
  mine.numCollectives = launch.sequence + 1;
  for (int32_t rank : launch.group->members) {
    if (!ranks[rank])
      continue;
    const CollectiveBoard &other =
        ranks[rank]->groups[group].recent[launch.sequence % numRecent];
    uint64_t theirs = other.identity;
    if (theirs >> 32 == identity >> 32 && theirs != identity)
      return "rank " + std::to_string(self) + " starts " +
             describeLaunch(launch) + ", but rank " + std::to_string(rank) +
             " has started " + other.site.get() + " in its place";
  }
  return {};
}

void Board::meet() { ++ranks[self]->numMeetings; }

void Board::fail(const std::string &text) {
  if (!isOpen() || ranks[self]->hasFailed)
    return;
  ranks[self]->text.set(text);
  ranks[self]->hasFailed = 1;
}

void Board::report() { ranks[self]->hasReported = 1; }
