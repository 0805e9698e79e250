//===- TransferThreads.h - Threads that copy transfers ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offloads and reloads of backends without a GPU: a thread for each direction
// copies the tensors of its launches in the order of their starts, while the
// rank's own thread computes. A thread begins with the first transfer of its
// direction.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_TRANSFERTHREADS_H
#define COMMSCHED_RUNTIME_CORE_TRANSFERTHREADS_H

#include "CommSched/Runtime/Backend.h"

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace commsched::runtime {

/// The copies of one launch.
struct TransferJob {
  struct Copy {
    void *target = nullptr;
    const void *source = nullptr;
    int64_t bytes = 0;
  };
  std::vector<Copy> copies;
  /// When the thread began and ended; valid when it is done.
  Clock::time_point begin, end;
  /// Guarded by the thread's mutex.
  bool isDone = false;
};
using TransferJobPtr = std::shared_ptr<TransferJob>;

/// A thread that carries out jobs in their order.
class COMMSCHED_RUNTIME_API TransferThread {
public:
  TransferThread() = default;
  TransferThread(const TransferThread &) = delete;
  TransferThread &operator=(const TransferThread &) = delete;
  ~TransferThread() { stop(); }

  void start(TransferJobPtr job);
  bool isDone(const TransferJob &job);
  /// Waits until the job is done, or the time has come. Whether it is done.
  bool waitUntil(const TransferJob &job, Clock::time_point time);
  /// Waits for the job that is under way, and drops those behind it.
  void stop();

private:
  void run();

  std::mutex mutex;
  std::condition_variable hasJobs, hasDone;
  std::deque<TransferJobPtr> jobs;
  bool isStopping = false;
  std::thread thread;
};

/// Those of a rank.
class TransferThreads {
public:
  TransferThread &get(commsched_kind kind) {
    return threads[kind == COMMSCHED_RELOAD];
  }
  void stop() {
    for (TransferThread &thread : threads)
      thread.stop();
  }

private:
  /// d2h and h2d.
  std::array<TransferThread, 2> threads;
};

/// The copies of `launch`, from its inputs to its outputs.
COMMSCHED_RUNTIME_API TransferJobPtr makeTransferJob(const Launch &launch);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_TRANSFERTHREADS_H
