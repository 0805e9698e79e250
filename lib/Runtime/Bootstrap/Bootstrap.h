//===- Bootstrap.h - Rendezvous of ranks in a folder ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets the ranks of a job, one process (or thread) each, find each other by
// files of a folder that all of them see. The ranks exchange texts, are
// notified of ranks that have failed or died, and can query the status of the
// others to name the missing ranks after a timeout. This code is independent of
// CUDA and NCCL.
//
// A rank is there while it holds the lock of its file "rankN", which ends with
// its process, and which has a key that no other rank of any job has. When all
// ranks are there, rank 0 writes the keys into "roster", and all answer; the
// names of all other files begin with a key, so that what another job has left
// is never read.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_BOOTSTRAP_BOOTSTRAP_H
#define COMMSCHED_RUNTIME_BOOTSTRAP_BOOTSTRAP_H

#include "CommSched/Runtime/Backend.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace commsched::runtime {

/// Where the ranks of a job meet.
struct JobPlace {
  int32_t rank = 0;
  int32_t numRanks = 1;
  std::string folder;
  /// Whether the folder is for the ranks of this machine and this user alone.
  bool isTemporary = false;
  /// Distinguishes jobs of one folder; empty when the launcher has no name.
  std::string job;
};

/// Looks up an environment variable; null when it is not set.
using GetEnvironment = std::function<const char *(const char *)>;

/// Reads the folder from COMMSCHED_RENDEZVOUS; without it the ranks of one
/// machine meet in a folder for temporary files, whose name has the user, the
/// launcher's name of the job and MASTER_PORT or mpirun's random number. Leaves
/// `rank` and `numRanks` as they are.
Status readJobPlace(const GetEnvironment &getEnvironment, JobPlace &place);

/// The status of a rank.
struct Standing {
  /// Whether it has come to the exchange that is under way.
  bool hasMet = false;
  /// Why there is no status: "is gone", "has left", "does not answer".
  std::string absence;
  /// The text that the rank wrote about itself.
  std::optional<std::string> status;
};

class Bootstrap {
public:
  /// Returns when all ranks have joined. `getStatus` answers other ranks'
  /// questions from another thread; it must not throw.
  static Status join(const JobPlace &place,
                     std::function<std::string()> getStatus, Deadline deadline,
                     std::unique_ptr<Bootstrap> &result);
  ~Bootstrap();

  /// Gathers the texts of all ranks, in their order.
  Status exchange(const std::string &mine, std::vector<std::string> &all,
                  Deadline deadline);
  /// Notifies the other ranks that this one has failed. Does not wait.
  void fail(const std::string &text);
  /// The first failure that was heard of: "rank 2 failed: ...", "rank 2 is
  /// gone". Cheap while there is none.
  Status getFailure() const;
  /// How all ranks stand; one entry a rank. Takes at most a second.
  std::vector<Standing> ask();
  /// Leaves. Rank 0 stays until all others have left, or the deadline, unless
  /// this one has `failed`.
  void leave(bool failed, Deadline deadline);

private:
  enum class State { Absent, Here, Gone };

  Bootstrap(const JobPlace &place, std::function<std::string()> getStatus);

  Status claim(Deadline deadline);
  Status meet(Deadline deadline);
  bool agree(const std::string &list);
  std::string describeAbsence(int32_t rank, bool &isHere,
                              std::string &key) const;
  State look(int32_t rank, std::string &text) const;
  State lookForMember(int32_t rank) const;
  void lookForFailure();
  void watch();
  Status describeMissing(Clock::duration time);
  /// Notifies all ranks that `rank` "is gone"; only the first notice counts.
  void announce(int32_t rank, const std::string &what);
  std::string getPath(const std::string &name) const;
  std::string getPath(int32_t rank, const std::string &suffix) const;
  bool write(const std::string &path, const std::string &text) const;

  const JobPlace place;
  const std::function<std::string()> getStatus;
  const std::string key;
  /// By rank, once all are there.
  std::vector<std::string> keys;
  /// Holds the lock of this rank's file; -1: none.
  int lock = -1;
  int64_t numExchanges = 0;

  std::atomic<bool> stopped{false};
  std::atomic<bool> hasFailure{false};
  mutable std::mutex mutex;
  /// Guarded by `mutex`.
  std::string failure;
  std::thread watcher;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_BOOTSTRAP_BOOTSTRAP_H
