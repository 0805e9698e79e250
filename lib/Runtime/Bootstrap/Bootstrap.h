//===- Bootstrap.h - Rendezvous of ranks by TCP -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Connects the ranks of a job, one process (or thread) each, in a star around
// rank 0, and keeps the connections open. The ranks exchange texts, are
// notified at once of ranks that have failed or died, and can query the status
// of the others to name the missing ranks after a timeout. This code is
// independent of CUDA and NCCL.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_BOOTSTRAP_BOOTSTRAP_H
#define COMMSCHED_RUNTIME_BOOTSTRAP_BOOTSTRAP_H

#include "Bootstrap/Connection.h"
#include "Bootstrap/Hub.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace commsched::runtime {

/// The status of a rank as rank 0 sees it.
struct Standing {
  bool isThere = false;
  /// Whether it has come to the exchange that is under way.
  bool hasMet = false;
  /// Why there is no status: "is gone", "has left", "does not answer".
  std::string absence;
  /// The text that the rank sent about itself.
  std::optional<std::string> status;
};

class Bootstrap {
public:
  /// Returns when all ranks have joined. `getStatus` answers other ranks'
  /// questions from another thread; it must not throw.
  static Status join(const JobAddress &address,
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
  /// Leaves. Rank 0 stays until all others have left, or the deadline; if
  /// `failed`, only until they have been notified.
  void leave(bool failed, Deadline deadline);

private:
  struct Stop {
    bool requested = false;
    Deadline deadline;
  };

  Bootstrap(const JobAddress &address, std::function<std::string()> getStatus)
      : address(address), getStatus(std::move(getStatus)) {}

  Status connect(Deadline deadline);
  Status introduce(Connection &candidate, Deadline deadline, bool &accepted,
                   std::string &reason);
  Status waitForAll(Deadline deadline);
  void run();
  void handle(const Message &message);
  void send(MessageKind kind, const std::string &payload);
  void setFailure(const std::string &text);

  const JobAddress address;
  const std::function<std::string()> getStatus;
  std::unique_ptr<Hub> hub;
  Connection connection;
  WakePipe pipe;
  std::thread thread;

  std::atomic<bool> hasFailure{false};
  mutable std::mutex mutex;
  std::condition_variable changed;
  // Guarded by `mutex`.
  std::vector<Message> outbox;
  bool complete = false;
  std::optional<std::vector<std::string>> gathered;
  std::optional<std::vector<Standing>> standings;
  std::optional<std::string> failure;
  Stop stop;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_BOOTSTRAP_BOOTSTRAP_H
