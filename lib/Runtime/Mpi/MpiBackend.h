//===- MpiBackend.h - Parts of the backend for MPI --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MPI starts once in a process and cannot start again, but a host may join and
// leave several times: MPI and the board stay until the process ends. After an
// error MPI_Finalize is not called, since it would wait for all ranks.
//
// MPI reports neither which rank a collective waits for nor that a rank has
// failed. The ranks of a node therefore keep a board in shared memory. Each
// rank writes there the last launch that it has started on every group and
// whether it has failed; the other ranks read it while they wait. Ranks on
// other nodes are not on the board.
//
// A rank writes only its own part. It writes a launch before it calls MPI and
// then compares it with the launches that the other members have started at the
// same place. If two ranks start different collectives, at least one of them
// therefore sees it before MPI would match the two.
//
// A launch is one MPI request for each tensor, or several where MPI has no
// single non-blocking call for it. The calls depend only on properties that are
// equal on all ranks of the group, so that they match. All requests in flight
// are tested together, since MPI makes progress only within its calls.
//
// Data that is only moved is a number of bytes for MPI. Reductions use MPI's
// own types and operations where it has them; for the others the datatype is
// the bytes of one element and the operation calls `accumulate`. MPI's counts
// have 32 bits, and its algorithms multiply them by the number of ranks, so a
// larger number of bytes is one element of a datatype that holds all of them.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_MPIBACKEND_H
#define COMMSCHED_RUNTIME_MPI_MPIBACKEND_H

#include "Core/HostBackend.h"

#include <future>
#include <map>
#include <mpi.h>
#include <mutex>
#include <thread>

namespace commsched::runtime::mpi {

/// One rank's part, see Board.cpp.
struct RankBoard;

class Board {
public:
  /// Makes the board, or clears this rank's part of it. The first call waits
  /// for all ranks, and others may only read when all have come here.
  Status open();
  /// Waits for the ranks of the node.
  void close();

  bool isOpen() const { return !ranks.empty(); }
  /// Whether there are no other ranks.
  bool isSingle() const { return ranks.size() == 1; }
  int32_t getNumRanksOnNode() const { return numRanksOnNode; }

  /// Writes that this rank starts `launch`. An error if another member
  /// has started another collective in its place.
  Status start(const Launch &launch);
  /// Writes that this rank waits for all others, for the n-th time.
  void meet();

  /// The first text stays.
  void fail(const std::string &text);
  /// Writes that this rank has nothing more to say.
  void report();

  /// Ranks of this node that have failed; with `lookForProcesses` also those
  /// whose process has ended, which costs a system call for each.
  RankStates findFailed(bool lookForProcesses) const;
  /// The ranks that the end of `launch` waits for, as far as this is known.
  /// `onlyElsewhere`: only those that wait for this rank at another place, so
  /// that neither would ever come.
  RankStates findMissing(const Launch &launch, bool onlyElsewhere) const;
  /// The ranks that have not come to this rank's last meeting.
  RankStates findMissingFromMeeting() const;
  /// Whether all other ranks of the node have reported or are gone.
  bool haveAllReported() const;

private:
  std::vector<int32_t> getOthers() const;
  std::string describeEnd(int32_t rank, bool lookForProcesses) const;
  std::string describeMissing(const Launch &launch, int32_t rank,
                              bool onlyElsewhere) const;

  MPI_Comm node = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  int32_t numRanksOnNode = 0;
  int32_t self = 0;
  /// By rank of the world; null on other nodes.
  std::vector<RankBoard *> ranks;
};

/// Some calls of MPI wait for other ranks and have no non-blocking form:
/// MPI_Init, MPI_Finalize, the creation of communicators and windows. They run
/// under a watchdog, which ends the process with a message when the deadline
/// has passed, since no call could return.
class Watchdog {
public:
  /// `what` is the call, such as "MPI_Init".
  Watchdog(std::string what, Deadline deadline);
  ~Watchdog();
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

private:
  std::promise<void> ended;
  std::thread thread;
};

/// Makes MPI and the board usable for one rank. Waits for all ranks;
/// `deadlineMs` says for how long.
Status beginSession(int64_t deadlineMs, Deadline deadline);
/// `deadlineMs` is for the end of MPI, when the process ends.
void endSession(bool failed, int64_t deadlineMs);

/// The board of the process, which the first session opens.
Board &getBoard();

/// Success if `code` is MPI_SUCCESS, otherwise MPI's text for it.
Status checkMpi(int code, const char *call);
/// The outcome of a call of MPI.
#define CALL_MPI(function, ...) checkMpi(function(__VA_ARGS__), #function)

/// A buffer as MPI sees it.
struct Extent {
  int count = 0;
  MPI_Datatype type = MPI_BYTE;
};

/// No count that MPI gets, times the ranks, is larger. MPI's counts are ints,
/// and Open MPI adds small numbers to them. Tests set less, so that few
/// elements take the paths of many.
#ifndef COMMSCHED_MPI_MAX_COUNT
#define COMMSCHED_MPI_MAX_COUNT int64_t(1) << 30
#endif
inline constexpr int64_t maxCount = COMMSCHED_MPI_MAX_COUNT;

class MpiTypes {
public:
  MpiTypes() = default;
  MpiTypes(const MpiTypes &) = delete;
  MpiTypes &operator=(const MpiTypes &) = delete;

  /// `bytes` bytes, of which a call moves `parts` times as many.
  Status getBytes(int64_t bytes, int64_t parts, Extent &extent);
  /// One element, for reductions.
  Status getElement(commsched_type type, MPI_Datatype &datatype);
  /// An average is a sum for MPI.
  Status getOperation(commsched_type type, commsched_reduction reduction,
                      MPI_Op &operation);

  /// MPI must still run, and nothing be in pending.
  void release();

private:
  Status getBytesType(int64_t bytes, MPI_Datatype &datatype);

  std::map<int64_t, MPI_Datatype> bytesTypes;
  std::map<std::pair<commsched_type, commsched_reduction>, MPI_Op> operations;
};

/// Data that MPI delivers to a temporary buffer, since the target may not be
/// used.
struct Staged {
  std::unique_ptr<char[]> data;
  void *target = nullptr;
  int64_t bytes = 0;
};

struct MpiRequest final : HostRequest {
  Clock::time_point begin;
  /// MPI requests in pending.
  int32_t numPending = 0;
  std::vector<Staged> staged;
};

/// The MPI requests in flight. Their owners live until they have ended, or
/// until an error, after which nothing polls.
class PendingRequests {
public:
  /// Takes over `handle`. `bytes` is what must arrive, or -1 if MPI knows.
  void add(MPI_Request handle, MpiRequest &owner, int64_t bytes = -1);
  /// Lets MPI work, and appends the launches that have ended.
  Status poll(std::vector<MpiRequest *> &ended);

private:
  /// `code` is the error of the request.
  Status checkReceived(int code, const MPI_Status &status, size_t place) const;

  struct Entry {
    MpiRequest *owner = nullptr;
    int64_t bytes = -1;
  };
  std::vector<MPI_Request> handles;
  /// In the order of `handles`.
  std::vector<Entry> entries;
  // Kept between calls.
  std::vector<int> places;
  std::vector<MPI_Status> statuses;
};

/// An error if a tag of `site` exceeds the limits of MPI.
Status checkLimits(const Site &site);

/// Makes the calls for `request.launch` on the group's communicator. Stages
/// results where MPI knows no such in-place form.
Status startCollective(MpiRequest &request, MPI_Comm communicator,
                       MpiTypes &types, PendingRequests &pending);

/// Completes the results when all MPI requests have ended.
void finishCollective(MpiRequest &request);

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_MPIBACKEND_H
