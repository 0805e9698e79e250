//===- HostBackend.h - Backends whose buffers are on the host ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the backends without a GPU have in common: buffers in memory of the
// host, the clock of a step, the requests in flight, and offloads and reloads.
// For each direction of these a thread copies the tensors of its launches in
// the order of their starts, while the rank's own thread computes. A thread
// begins with the first transfer of its direction.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_HOSTBACKEND_H
#define COMMSCHED_RUNTIME_CORE_HOSTBACKEND_H

#include "CommSched/Runtime/Backend.h"

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace commsched::runtime {

/// A thread that carries out tasks in their order.
class COMMSCHED_RUNTIME_API TransferThread {
public:
  TransferThread() = default;
  TransferThread(const TransferThread &) = delete;
  TransferThread &operator=(const TransferThread &) = delete;
  ~TransferThread() { stop(); }

  void start(std::packaged_task<void()> task);
  /// Waits for the task that is under way, and drops those behind it.
  void stop();

private:
  void run();

  std::mutex mutex;
  std::condition_variable hasTasks;
  std::deque<std::packaged_task<void()>> tasks;
  bool isStopping = false;
  std::thread thread;
};

struct HostRequest : Request {
  bool isRecorded = false;
};

/// An offload or a reload.
struct HostTransfer : HostRequest {
  struct Copy {
    void *target = nullptr;
    const void *source = nullptr;
    int64_t bytes = 0;
  };
  std::vector<Copy> copies;
  std::future<void> done;
  /// When the thread began and ended; valid when it is done.
  Clock::time_point begin, end;
};

class COMMSCHED_RUNTIME_API HostBackend : public Backend {
public:
  int32_t getRank() const override { return rank; }
  int32_t getNumRanks() const override { return numRanks; }
  Status checkHostCode(const std::string &) const override { return Status(); }
  Status copy(const StridedCopy &copy) override;
  Status zero(void *target, int64_t bytes) override {
    std::memset(target, 0, bytes);
    return Status();
  }
  void *allocate(int64_t bytes, int64_t alignment, Status &status) override;
  void release(void *buffer) override { std::free(buffer); }
  Status upload(void *buffer, const void *host, int64_t bytes) override {
    std::memcpy(buffer, host, bytes);
    return Status();
  }
  Status download(void *host, const void *buffer, int64_t bytes) override {
    return upload(host, buffer, bytes);
  }
  Status endStep(int64_t &stepNs, Deadline deadline) override;
  /// Waits for all requests, which may yet be waited for, and records them.
  Status synchronize(Deadline deadline) override;

protected:
  explicit HostBackend(const BackendConfig &config, int32_t rank = 0,
                       int32_t numRanks = 1);

  /// Time since the step began.
  int64_t getStepNs(Clock::time_point time) const {
    return std::chrono::nanoseconds(time - stepBegin).count();
  }

  /// Starts the copies of the transfer: if it has none, those of `launch` from
  /// its inputs to its outputs.
  void startTransfer(HostTransfer &transfer, Launch launch);
  void stopTransfers();

  // These three know transfers; backends add their collectives.
  /// Whether the data has been moved.
  virtual bool isDone(HostRequest &request);
  /// Waits until it has been.
  virtual Status await(HostRequest &request, Deadline deadline);
  /// When it was; for records.
  virtual Interval getInterval(HostRequest &request);

  /// Waits for the request, records it, and forgets it.
  Status finish(HostRequest &request, Deadline deadline);
  void recordEnd(HostRequest &request, Interval interval);

  const commsched_options options;
  Recorder &recorder;
  int32_t rank;
  int32_t numRanks;
  Clock::time_point stepBegin = Clock::now();
  /// Started, and not yet waited for.
  std::vector<HostRequest *> inFlight;

private:
  Status awaitEnd(HostRequest &request, Deadline deadline);

  /// d2h and h2d.
  std::array<TransferThread, 2> threads;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_HOSTBACKEND_H
