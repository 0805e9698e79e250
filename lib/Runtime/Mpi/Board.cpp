//===- Board.cpp - Shared memory for the ranks' states --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Mpi/MpiBackend.h"

#include "Core/Program.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <sys/types.h>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

//===----------------------------------------------------------------------===//
// Layout of the shared memory
//===----------------------------------------------------------------------===//

namespace commsched::runtime::mpi {

/// Further groups are not on the board; their timeouts name no ranks.
inline constexpr int32_t maxGroups = 256;
/// How far two ranks may be apart for their collectives to be compared.
inline constexpr int64_t numRecent = 8;

/// A text in shared memory, cut to its place. A reader may see parts of two
/// texts while it is written, but nothing worse.
template <size_t Bytes> class SharedText {
public:
  void set(const std::string &text) {
    size_t length = std::min(text.size(), Bytes - 1);
    // Not within a character of several bytes.
    while (length > 0 && length < text.size() &&
           (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
      --length;
    for (size_t i = 0; i != Bytes; ++i)
      bytes[i].store(i < length ? text[i] : '\0', std::memory_order_relaxed);
  }

  std::string get() const {
    char text[Bytes];
    std::copy(std::begin(bytes), std::end(bytes), text);
    return std::string(text, strnlen(text, Bytes));
  }

private:
  std::atomic<char> bytes[Bytes] = {};
};

/// One collective that a rank has started.
struct CollectiveBoard {
  /// The low halves of its number + 1 and of its site.
  std::atomic<uint64_t> identity{0};
  SharedText<56> site;
};

/// The launches that a rank has started on one group.
struct GroupBoard {
  SharedText<104> last;
  std::atomic<int64_t> numCollectives{0};
  CollectiveBoard recent[numRecent];
};

struct RankBoard {
  std::atomic<int32_t> hasFailed{0};
  std::atomic<int32_t> hasReported{0};
  std::atomic<pid_t> process{0};
  std::atomic<int64_t> numMeetings{0};
  SharedText<256> text;
  GroupBoard groups[maxGroups];
};

// Only atomics without locks work between processes.
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<int32_t>::is_always_lock_free &&
              std::atomic<char>::is_always_lock_free);

} // namespace commsched::runtime::mpi

//===----------------------------------------------------------------------===//
// Writing the own part
//===----------------------------------------------------------------------===//

static uint64_t getIdentity(const Launch &launch) {
  return static_cast<uint64_t>(static_cast<uint32_t>(launch.sequence + 1))
             << 32 |
         static_cast<uint32_t>(launch.site->collective);
}

Status Board::open() {
  if (isOpen()) {
    pid_t process = ranks[self]->process;
    (new (ranks[self]) RankBoard)->process = process;
    return {};
  }
  int numRanks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  ranks.assign(numRanks, nullptr);
  COMMSCHED_TRY(CALL_MPI(MPI_Comm_split_type, MPI_COMM_WORLD,
                         MPI_COMM_TYPE_SHARED, self, MPI_INFO_NULL, &node));
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  MPI_Comm_size(node, &numRanksOnNode);

  void *memory = nullptr;
  COMMSCHED_TRY(CALL_MPI(MPI_Win_allocate_shared, sizeof(RankBoard), 1,
                         MPI_INFO_NULL, node, &memory, &window));
  RankBoard *mine = new (memory) RankBoard;
  mine->process = getpid();

  std::vector<int> worldRanks(numRanksOnNode);
  COMMSCHED_TRY(CALL_MPI(MPI_Allgather, &self, 1, MPI_INT32_T,
                         worldRanks.data(), 1, MPI_INT32_T, node));
  for (int i = 0; i != numRanksOnNode; ++i) {
    MPI_Aint size = 0;
    int unit = 0;
    COMMSCHED_TRY(
        CALL_MPI(MPI_Win_shared_query, window, i, &size, &unit, &memory));
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

Status Board::start(const Launch &launch) {
  int32_t group = launch.group->index;
  if (group >= maxGroups)
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
      return concat("rank ", self, " starts ", describeLaunch(launch),
                    ", but rank ", rank, " has started ", other.site.get(),
                    " in its place");
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

//===----------------------------------------------------------------------===//
// Reading the other parts
//===----------------------------------------------------------------------===//

static bool isGone(const RankBoard &board) {
  // A process without a number has not come so far.
  pid_t process = board.process;
  return process != 0 && kill(process, 0) != 0 && errno == ESRCH;
}

/// The reason that the rank has ended; empty if it has not.
std::string Board::describeEnd(int32_t rank, bool lookForProcesses) const {
  const RankBoard *other = ranks[rank];
  if (!other)
    return "";
  if (other->hasFailed)
    return "failed: " + other->text.get();
  return lookForProcesses && isGone(*other) ? "is gone" : "";
}

std::vector<int32_t> Board::getOthers() const {
  std::vector<int32_t> others;
  for (int32_t rank = 0, e = ranks.size(); rank != e; ++rank)
    if (rank != self)
      others.push_back(rank);
  return others;
}

RankStates Board::findFailed(bool lookForProcesses) const {
  return describeEach(getOthers(), [&](int32_t rank) {
    return describeEnd(rank, lookForProcesses);
  });
}

/// Empty if the rank has done what `launch` waits for.
std::string Board::describeMissing(const Launch &launch, int32_t rank,
                                   bool onlyElsewhere) const {
  if (!ranks[rank])
    return onlyElsewhere ? ""
                         : "is on another node, and nothing is known of it";
  if (launch.group->index >= maxGroups)
    return "";
  bool isPair = isPointToPoint(launch.site->kind);
  const GroupBoard &other = ranks[rank]->groups[launch.group->index];
  if (!isPair && other.numCollectives > launch.sequence)
    return "";
  std::string last = other.last.get();
  // The data of a partner may be on its way.
  if (!isPair && ranks[rank]->numMeetings > ranks[self]->numMeetings)
    return "has not started it, but waits for all ranks to meet" +
           quoteLast(last);
  if (onlyElsewhere)
    return "";
  return (isPair ? "has not met it" : "has not started it") +
         quoteLast(last, nothingElse);
}

RankStates Board::findMissing(const Launch &launch, bool onlyElsewhere) const {
  return describeEach(getPartners(launch), [&](int32_t rank) {
    return describeMissing(launch, rank, onlyElsewhere);
  });
}

RankStates Board::findMissingFromMeeting() const {
  return describeEach(getOthers(), [&](int32_t rank) -> std::string {
    if (!ranks[rank])
      return "is on another node, and nothing is known of it";
    std::string end = describeEnd(rank, /*lookForProcesses=*/true);
    bool hasCome = ranks[rank]->numMeetings >= ranks[self]->numMeetings;
    return end.empty() && !hasCome ? "has not come" : end;
  });
}

bool Board::haveAllReported() const {
  for (const RankBoard *other : ranks)
    if (other && !other->hasReported && !isGone(*other))
      return false;
  return true;
}
