//===- HostBackend.h - Backends whose buffers are on the host ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the backends without a GPU have in common: buffers in memory of the
// host, the clock of a step, and offloads and reloads. For each direction of
// these a thread copies the tensors of its launches in the order of their
// starts, while the rank's own thread computes. A thread begins with the first
// transfer of its direction.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_HOSTBACKEND_H
#define COMMSCHED_RUNTIME_CORE_HOSTBACKEND_H

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

/// A thread that carries out jobs in their order.
class COMMSCHED_RUNTIME_API TransferThread {
public:
  TransferThread() = default;
  TransferThread(const TransferThread &) = delete;
  TransferThread &operator=(const TransferThread &) = delete;
  ~TransferThread() { stop(); }

  void start(std::shared_ptr<TransferJob> job);
  bool isDone(const TransferJob &job);
  /// Waits until the job is done, or the time has come. Whether it is done.
  bool waitUntil(const TransferJob &job, Clock::time_point time);
  /// Waits for the job that is under way, and drops those behind it.
  void stop();

private:
  void run();

  std::mutex mutex;
  std::condition_variable hasJobs, hasDone;
  std::deque<std::shared_ptr<TransferJob>> jobs;
  bool isStopping = false;
  std::thread thread;
};

/// An offload or a reload.
struct HostTransfer : Request {
  std::shared_ptr<TransferJob> job;
  bool isRecorded = false;
};

class COMMSCHED_RUNTIME_API HostBackend : public Backend {
public:
  Status checkHostCode(const std::string &) const override { return Status(); }

  Status copy(const StridedCopy &copy) override;
  Status zero(void *target, int64_t bytes) override;
  void *allocate(int64_t bytes, int64_t alignment, Status &status) override;
  void release(void *buffer) override;
  Status upload(void *buffer, const void *host, int64_t bytes) override;
  Status download(void *host, const void *buffer, int64_t bytes) override;

  Status endStep(int64_t &stepNs, Deadline deadline) override;

protected:
  explicit HostBackend(const BackendConfig &config);

  /// Time since the step began.
  int64_t getStepNs(Clock::time_point time) const;

  /// Starts the job of the transfer: if it has none, the copies of `launch`
  /// from its inputs to its outputs.
  void startTransfer(HostTransfer &transfer, Launch launch);
  bool isDone(const HostTransfer &transfer);
  /// Waits until the data has been copied.
  virtual Status awaitTransfer(HostTransfer &transfer, Deadline deadline);
  /// When it was copied; for records.
  virtual Interval getInterval(const HostTransfer &transfer) const;
  /// Waits for the transfer and records it.
  Status endTransfer(HostTransfer &transfer, Deadline deadline);
  /// The same for all, which may yet be waited for.
  Status finishTransfers(Deadline deadline);
  void stopTransfers();

  const commsched_options options;
  Recorder &recorder;
  Clock::time_point stepBegin = Clock::now();

private:
  TransferThread &getThread(const HostTransfer &transfer);
  Status finishTransfer(HostTransfer &transfer, Deadline deadline);

  /// d2h and h2d.
  std::array<TransferThread, 2> threads;
  std::vector<HostTransfer *> transfers;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_HOSTBACKEND_H
