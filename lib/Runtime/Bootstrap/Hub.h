//===- Hub.h - Rank 0's side of the bootstrap -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread in the process of rank 0 that all ranks are connected to, rank 0
// among them. It gathers texts, forwards failures, and tracks which ranks are
// still there. It never waits for a single rank.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_BOOTSTRAP_HUB_H
#define COMMSCHED_RUNTIME_BOOTSTRAP_HUB_H

#include "Bootstrap/Connection.h"

#include <atomic>
#include <list>
#include <thread>

namespace commsched::runtime {

/// How long a rank may take to say how it stands.
inline constexpr std::chrono::milliseconds answerTime(500);

class Hub {
public:
  /// Listens; ranks may come from here on.
  static Status start(const JobAddress &address, std::unique_ptr<Hub> &hub);
  ~Hub();

  /// Ends when all ranks have left, at the latest at `deadline`.
  void finish(Deadline deadline);

private:
  enum class State { Absent, Here, Left, Gone };
  struct Member {
    State state = State::Absent;
    Connection connection;
    std::optional<std::string> part;
  };
  struct Ask {
    int64_t id;
    int32_t asker;
    Deadline deadline;
    std::vector<std::optional<std::string>> answers;
  };

  Hub(const JobAddress &address, Descriptor listener);

  void run();
  bool isFinished() const;
  int getPollTime() const;
  void pollOnce();
  void greet(Connection &visitor, const Message &message);
  void handle(int32_t rank, const Message &message);
  void handleSafely(int32_t rank, const Message &message);
  void takePart(int32_t rank, const std::string &text);
  void startAsk(int32_t rank);
  void finishAsks();
  /// Notifies all ranks that `rank` has ended; only the first notice counts.
  void announce(int32_t rank, const std::string &text);
  void sendToAll(MessageKind kind, const std::string &payload);
  int32_t count(State state) const;

  const JobAddress address;
  Descriptor listener;
  WakePipe pipe;
  /// Connections that have not sent their hello.
  std::list<Connection> visitors;
  std::vector<Member> members;
  std::vector<Ask> asks;
  int64_t nextAsk = 0;
  bool complete = false;
  /// The first notice: {"rank", "text"}.
  std::optional<std::string> notice;
  std::atomic<bool> finishing{false};
  std::atomic<Deadline> finishDeadline{Deadline::max()};
  std::thread thread;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_BOOTSTRAP_HUB_H
