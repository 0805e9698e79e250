//===- NcclBackend.h - Collectives on NVIDIA GPUs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank is a process with a GPU. There is one stream for compute, one for
// every group, and one for transfers in each direction. A start makes the
// group's stream wait for the compute stream, enqueues NCCL's calls and records
// an event; a wait makes the compute stream wait for that event. The host waits
// only where the interface requires it, and while NCCL connects ranks that have
// not communicated before. It then checks the deadline, the communicators and
// the other ranks, and aborts everything on an error.
//
// Groups with an implementation have communicators of their own configuration,
// and those for copy engines and symmetric memory a window (see
// Communicators.cpp).
//
// Sends and receives that are started one after the other run together, so that
// two ranks may send to each other before they receive.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_NCCLBACKEND_H
#define COMMSCHED_RUNTIME_NCCL_NCCLBACKEND_H

#include "Bootstrap/Bootstrap.h"

#include <cmath>
#include <cuda_runtime_api.h>
#include <deque>
#include <map>
#include <nccl.h>

namespace commsched::runtime::nccl {

inline Status checkCuda(cudaError_t code, const char *call) {
  if (code == cudaSuccess)
    return Status();
  return std::string(call) + ": " + cudaGetErrorString(code);
}

/// Work that goes on in the background is no error: communicators do not block.
inline Status checkNccl(ncclResult_t code, const char *call, ncclComm_t comm) {
  if (code == ncclSuccess || code == ncclInProgress)
    return Status();
  std::string text = std::string(call) + ": " + ncclGetErrorString(code);
  const char *last = ncclGetLastError(comm);
  return last && *last ? text + " (" + last + ")" : text;
}

/// The outcome of a call of CUDA or NCCL.
#define CALL_CUDA(function, ...) checkCuda(function(__VA_ARGS__), #function)
#define CALL_NCCL(comm, function, ...)                                         \
  checkNccl(function(__VA_ARGS__), #function, comm)

inline Status createStream(cudaStream_t &stream) {
  return CALL_CUDA(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
}

/// An event that has been recorded; the last owner gives it back. The pool must
/// outlive it.
using Event = std::shared_ptr<CUevent_st>;

/// Reuses events, since creating an event takes longer than recording one.
class EventPool {
public:
  EventPool() = default;
  EventPool(const EventPool &) = delete;
  EventPool &operator=(const EventPool &) = delete;
  ~EventPool() {
    for (cudaEvent_t event : idle)
      cudaEventDestroy(event);
  }

  /// Records an event that knows its time.
  Status record(cudaStream_t stream, Event &event);

private:
  std::vector<cudaEvent_t> idle;
};

/// Whether the GPU has come past the event.
inline Status queryEvent(const Event &event, bool &passed) {
  cudaError_t code = cudaEventQuery(event.get());
  passed = code == cudaSuccess;
  return code == cudaErrorNotReady ? Status()
                                   : checkCuda(code, "cudaEventQuery");
}

/// Nanoseconds from one event to another, both passed.
inline Status getElapsed(const Event &from, const Event &to, int64_t &ns) {
  float ms = 0;
  Status status = CALL_CUDA(cudaEventElapsedTime, &ms, from.get(), to.get());
  ns = std::llround(double(ms) * 1e6);
  return status;
}

/// Device memory, and pinned memory of the host. Large buffers come from NCCL's
/// allocator, whose memory it can register; small ones from CUDA's, since NCCL
/// allocates pages of 2 MiB.
class Memory {
public:
  /// Aligned to 256 bytes or `alignment`. Null and an error if there is none.
  void *allocate(int64_t bytes, int64_t alignment, Status &status);
  /// From NCCL's allocator, whatever the size; aligned to pages.
  void *allocateWindow(int64_t bytes, Status &status);
  /// Pinned memory, aligned likewise.
  void *allocateHost(int64_t bytes, int64_t alignment, Status &status);
  /// The GPU must not use the buffer any more.
  void release(void *buffer);

private:
  struct Block {
    void *begin;
    void (*free)(void *begin);
  };
  /// Keeps what has been allocated, `alignment` bytes more than asked for if
  /// that is more than the allocator's. Null if it has not been.
  void *add(Block block, int64_t alignment, const Status &status);
  std::map<void *, Block> blocks;
  /// Not on all systems NCCL's allocator works.
  bool triesNccl = true;
};

/// Called again and again while something is in progress; an error ends that.
using KeepWaiting = std::function<Status()>;

/// The launch with its buffers in the window at `base`. Tensors begin at
/// multiples of 256 bytes.
Launch moveIntoWindow(const Launch &launch, void *base);

/// The answer of a rank to ranks that wait for it: how many collectives it has
/// started on each group, the last ones on each, and the last of all. The rank
/// updates it at every start; the thread that answers questions reads it.
class RankProgress {
public:
  void setGroups(int32_t numGroups);
  void setStarted(const Launch &launch);

  /// As JSON.
  std::string write() const;

private:
  struct Started {
    int64_t count = 0;
    /// The last ones, in their order.
    std::deque<const Site *> recent;
  };

  mutable std::mutex mutex;
  int32_t numGroups = 0;
  /// By group.
  std::vector<Started> groups;
  Launch last;
};

/// The members that have not started `launch`, or another in its place. Of a
/// send or recv, the peer: how far it is with this rank is not known.
RankStates findMissing(const Launch &launch,
                       const std::vector<Standing> &standings);

/// The ranks that have not come to the making of the group `index`.
RankStates findMissing(int32_t index, const std::vector<Standing> &standings);

/// A launch from its start until the GPU has carried it out.
struct LaunchState {
  Launch launch;
  /// Null until the calls are enqueued.
  Event begin;
  /// Null while NCCL still prepares them.
  Event end;
  bool isReported = false;
};
using LaunchStatePtr = std::shared_ptr<LaunchState>;

struct NcclRequest final : Request {
  LaunchStatePtr state;
};

class NcclBackend final : public Backend {
public:
  explicit NcclBackend(const BackendConfig &config);
  ~NcclBackend() override;
  Status join(const BackendConfig &config);
  /// After `join` has failed.
  void stop(const std::string &text, Deadline deadline);

  int32_t getRank() const override { return place.rank; }
  int32_t getNumRanks() const override { return place.numRanks; }
  Status exchange(const std::string &mine, std::vector<std::string> &all,
                  Deadline deadline) override;
  void fail(const std::string &text) override { bootstrap->fail(text); }
  Status checkSite(const Site &site) const override;
  Status checkImplementation(const Implementation &implementation,
                             const Site &site) const override;
  Status checkHostCode(const std::string &where) const override;
  Status createGroup(const Group &group, Deadline deadline) override;
  Status prepareGroup(const Group &group,
                      const std::vector<const Site *> &sites,
                      Deadline deadline) override;

  std::unique_ptr<Request> start(Launch launch, Status &status) override;
  bool test(Request &request, Status &status) override;
  Status wait(Request &request, Deadline deadline) override;
  Status poll() override;

  Status compute(const Operator &op, int64_t ns, const void *const *inputs,
                 void *const *outputs) override;
  Status copy(const StridedCopy &copy) override;
  Status zero(void *target, int64_t bytes) override;
  void *allocate(int64_t bytes, int64_t alignment, Status &status) override {
    return memory.allocate(bytes, alignment, status);
  }
  void release(void *buffer) override;
  void *allocateHost(int64_t bytes, int64_t alignment,
                     Status &status) override {
    return memory.allocateHost(bytes, alignment, status);
  }
  Status upload(void *buffer, const void *host, int64_t bytes) override;
  Status download(void *host, const void *buffer, int64_t bytes) override;
  Status read(void *host, const void *buffer, int64_t bytes) override;

  Status beginStep() override;
  Status endStep(int64_t &stepNs, Deadline deadline) override;
  Status synchronize(Deadline deadline) override {
    return waitForIdle(deadline);
  }
  Status shutdown(bool failed, Deadline deadline) override;

private:
  /// Memory that all ranks of a group have registered; null if the group needs
  /// none, or has no member here.
  struct Window {
    void *buffer = nullptr;
    int64_t bytes = 0;
    ncclWindow_t handle = nullptr;
  };
  /// A group's communicator and stream, or the stream of transfers in one
  /// direction, which has no communicator.
  struct Channel {
    ncclComm_t comm = nullptr;
    cudaStream_t stream = nullptr;
    /// False for that of an earlier group.
    bool ownsStream = true;
    Window window;
    /// In the order of their starts; those at the front leave when complete.
    std::deque<LaunchStatePtr> states;
  };
  /// An interval of the step that becomes known at its end.
  struct TimedInterval {
    commsched_record_kind kind;
    int32_t index;
    Event begin;
    Event end;
  };
  /// Makes the message of a timeout.
  using DescribeTimeout = std::function<std::string()>;

  Status openDevice(int32_t localRank);

  // Communicators and windows (Communicators.cpp).
  Status openWorld(Deadline deadline);
  Status split(const Group &group, const KeepWaiting &keepWaiting,
               ncclComm_t &comm);
  Status checkNodes(const Group &group, Deadline deadline);
  /// Waits until NCCL is done with what it does in the background.
  Status settle(ncclComm_t comm, const KeepWaiting &keepWaiting) const;
  /// Whether it is done.
  Status isSettled(ncclComm_t comm, bool &settled) const;
  /// The first error of any communicator.
  Status checkCommunicators() const;
  /// Together with the other ranks.
  Status leaveCommunicators(Deadline deadline);
  /// Stops what is under way, without the other ranks.
  void giveUp();
  /// Gives up on an error, and returns it.
  Status orGiveUp(Status status);
  Status openWindow(Channel &channel, int64_t bytes, Deadline deadline);
  /// Nothing on the stream of the channel uses the window any more.
  Status closeWindow(Channel &channel);

  // Launches (NcclStreams.cpp).
  Status enqueueEarlier(const Launch &launch);
  Status enqueue(Channel &channel, const std::vector<LaunchStatePtr> &states);
  /// Enqueues the calls of the launches, which run as one; there are several
  /// only for sends and receives. Does not wait, and leaves a communicator in
  /// progress as it is.
  Status enqueueCalls(const std::vector<const Launch *> &launches,
                      const Channel &channel);
  /// Meets all ranks of the communicator on the stream.
  Status enqueueBarrier(ncclComm_t comm, cudaStream_t stream);
  /// Copies what the launch sends (`isInput`) into the window of the channel,
  /// or what it receives out of it.
  Status copyWindow(const Channel &channel, const Launch &launch, bool isInput);
  Status enqueueTransfer(Channel &channel, const LaunchStatePtr &state);
  /// Makes the stream of the channel wait for compute, and records its `begin`.
  Status beginOn(Channel &channel, Event &begin);
  Channel &getChannel(const Group &group) {
    return channels[group.index - Group::d2hIndex];
  }
  /// Enqueues sends and receives that have been put off.
  Status flush();
  /// Waits until NCCL has enqueued what it was given.
  Status settle(Deadline deadline);
  Status trySettle();
  Status finishEnqueuing();
  void reportProgress(Channel &channel);

  // Waits of the host (NcclBackend.cpp).
  Status waitForIdle(Deadline deadline);
  /// Waits until `isDone` gives true, as the streams proceed.
  Status waitUntil(const std::function<Status(bool &)> &isDone,
                   Deadline deadline);
  Status isIdle(bool &idle) const;
  /// Returns a function that pauses, or fails when there is nothing to wait for
  /// any more.
  KeepWaiting watch(Deadline deadline, DescribeTimeout describe);
  /// "timed out after 5000 ms ", and `what`.
  KeepWaiting watch(Deadline deadline, const char *what);
  /// For what the GPU does.
  KeepWaiting watch(Deadline deadline) {
    return watch(deadline, [this] { return describeStuck(); });
  }
  std::string describeStuck();
  const Launch *findOldest();
  Deadline getDeadline() const;

  // Times of steps (NcclStreams.cpp).
  Status recordStep(cudaStream_t stream, Event &event);
  void addInterval(commsched_record_kind kind, int32_t index, Event begin,
                   Event end);

  Status emulate(const Operator &op, const void *const *inputs,
                 void *const *outputs);

  Recorder &recorder;
  const int64_t deadlineMs;
  const bool emulatesData;
  JobPlace place;
  /// Compute capability, times ten.
  int capability = 0;
  /// Of the library that is loaded, as ncclGetVersion codes it.
  int ncclVersion = 0;
  bool hasGivenUp = false;

  RankProgress progress;
  std::unique_ptr<Bootstrap> bootstrap;
  EventPool events;
  /// Of all ranks.
  ncclComm_t world = nullptr;
  Memory memory;
  cudaStream_t computeStream = nullptr;
  cudaEvent_t ready = nullptr;
  /// A byte of device memory for barriers, zero.
  void *scratch = nullptr;

  /// See getChannel: the streams of transfers come first.
  std::deque<Channel> channels{2};
  /// Sends and receives of one group that are not yet enqueued.
  std::vector<LaunchStatePtr> putOff;
  /// The last launches given to NCCL, while it still prepares them.
  std::vector<LaunchStatePtr> unsettled;

  /// Null outside of steps.
  Event stepBegin;
  std::vector<TimedInterval> intervals;
};

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_NCCLBACKEND_H
