//===- HostBackend.cpp - Backends whose buffers are on the host -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/HostBackend.h"

#include "Numerics/ElementTypes.h"
#include "Numerics/Elements.h"

#include <algorithm>

using namespace commsched::runtime;

void TransferThread::start(std::packaged_task<void()> task) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!thread.joinable()) {
    isStopping = false;
    thread = std::thread([this] { run(); });
  }
  tasks.push_back(std::move(task));
  hasTasks.notify_one();
}

void TransferThread::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    tasks.clear();
    isStopping = true;
    hasTasks.notify_one();
  }
  if (thread.joinable())
    thread.join();
}

void TransferThread::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    hasTasks.wait(lock, [&] { return isStopping || !tasks.empty(); });
    if (isStopping)
      return;
    std::packaged_task<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

HostBackend::HostBackend(const BackendConfig &config, int32_t rank,
                         int32_t numRanks)
    : options(*config.options), recorder(*config.recorder), rank(rank),
      numRanks(numRanks) {}

Status HostBackend::copy(const StridedCopy &copy) { return copyRows(copy); }

void *HostBackend::allocate(int64_t bytes, int64_t alignment, Status &status) {
  void *buffer = nullptr;
  if (posix_memalign(&buffer, alignment, bytes) == 0)
    return buffer;
  status = "out of memory";
  return nullptr;
}

Status HostBackend::endStep(int64_t &stepNs, Deadline deadline) {
  COMMSCHED_TRY(synchronize(deadline));
  stepNs = getStepNs(Clock::now());
  return Status();
}

void HostBackend::startTransfer(HostTransfer &transfer, Launch launch) {
  if (transfer.copies.empty())
    for (size_t i = 0; i < launch.getTensors().size(); ++i)
      transfer.copies.push_back({launch.outputs[i], launch.inputs[i],
                                 launch.getTensors()[i].getInputBytes()});
  transfer.launch = std::move(launch);
  recorder.setStarted(transfer.launch);
  // The core keeps the transfer until it is done, or the thread has stopped.
  std::packaged_task<void()> task([&transfer] {
    transfer.begin = Clock::now();
    for (const HostTransfer::Copy &copy : transfer.copies)
      if (copy.bytes > 0)
        std::memcpy(copy.target, copy.source, copy.bytes);
    transfer.end = Clock::now();
  });
  transfer.done = task.get_future();
  bool isReload = transfer.launch.site->kind == COMMSCHED_RELOAD;
  threads[isReload].start(std::move(task));
  inFlight.push_back(&transfer);
}

void HostBackend::stopTransfers() {
  for (TransferThread &thread : threads)
    thread.stop();
}

bool HostBackend::isDone(HostRequest &request) {
  return static_cast<HostTransfer &>(request).done.wait_for(
             Clock::duration::zero()) == std::future_status::ready;
}

Status HostBackend::await(HostRequest &request, Deadline deadline) {
  auto &transfer = static_cast<HostTransfer &>(request);
  if (transfer.done.wait_until(deadline) == std::future_status::ready)
    return Status();
  return describeTimeout(transfer.launch, options.deadline_ms, {});
}

Interval HostBackend::getInterval(HostRequest &request) {
  auto &transfer = static_cast<HostTransfer &>(request);
  return {getStepNs(transfer.begin), getStepNs(transfer.end)};
}

void HostBackend::recordEnd(HostRequest &request, Interval interval) {
  request.isRecorded = true;
  recorder.record(COMMSCHED_RECORD_COLLECTIVE, request.launch.site->index,
                  interval);
  recorder.setCompleted(request.launch);
}

Status HostBackend::awaitEnd(HostRequest &request, Deadline deadline) {
  COMMSCHED_TRY(await(request, deadline));
  if (!request.isRecorded)
    recordEnd(request, getInterval(request));
  return Status();
}

Status HostBackend::finish(HostRequest &request, Deadline deadline) {
  COMMSCHED_TRY(awaitEnd(request, deadline));
  inFlight.erase(std::find(inFlight.begin(), inFlight.end(), &request));
  return Status();
}

Status HostBackend::synchronize(Deadline deadline) {
  for (HostRequest *request : inFlight)
    COMMSCHED_TRY(awaitEnd(*request, deadline));
  return Status();
}

//===----------------------------------------------------------------------===//
// Results of operators that do not run
//===----------------------------------------------------------------------===//

/// The finalizer of MurmurHash3: every bit of the result depends on all.
static uint64_t mix(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccd;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53;
  return value ^ value >> 33;
}

static uint64_t hashBytes(uint64_t hash, const char *data, int64_t bytes) {
  int64_t i = 0;
  for (; i + 8 <= bytes; i += 8)
    hash = mix(hash ^ readElement<uint64_t>(data + i, 0)) + 1;
  for (; i < bytes; ++i)
    hash = mix(hash ^ static_cast<unsigned char>(data[i])) + 1;
  return mix(hash ^ static_cast<uint64_t>(bytes));
}

/// Everything of a small buffer, 64 blocks spread over a large one.
static uint64_t hashBuffer(uint64_t hash, const void *data, int64_t bytes) {
  constexpr int64_t blocks = 64;
  constexpr int64_t blockBytes = 1024;
  const char *begin = static_cast<const char *>(data);
  if (bytes <= blocks * blockBytes)
    return hashBytes(hash, begin, bytes);
  for (int64_t block = 0; block < blocks; ++block) {
    // The last block ends where the buffer does.
    int64_t offset = (bytes - blockBytes) / (blocks - 1) * block;
    if (block == blocks - 1)
      offset = bytes - blockBytes;
    hash = hashBytes(hash, begin + offset, blockBytes);
  }
  return mix(hash ^ static_cast<uint64_t>(bytes));
}

template <class T> static T makeElement(uint64_t bits) {
  if constexpr (isComplexType<T>)
    return T{static_cast<typename T::Part>(bits & 7),
             static_cast<typename T::Part>(bits >> 3 & 7)};
  else if constexpr (std::is_same_v<T, Bool>)
    return Bool{static_cast<uint8_t>(bits & 1)};
  else
    return narrow<T>(static_cast<int64_t>(bits & 7));
}

template <class T>
static void fill(void *target, int64_t count, uint64_t seed) {
  // Only 64 different elements: converting each would take most of the time.
  T table[64];
  for (uint64_t bits = 0; bits < 64; ++bits)
    table[bits] = makeElement<T>(bits);
  constexpr int64_t perHash = 8;
  for (int64_t i = 0; i < count; i += perHash) {
    uint64_t bits = mix(seed + static_cast<uint64_t>(i));
    for (int64_t j = i; j < std::min(i + perHash, count); ++j, bits >>= 8)
      writeElement(target, j, table[bits & 63]);
  }
}

void commsched::runtime::emulateData(const Operator &op,
                                     const void *const *inputs,
                                     void *const *outputs) {
  uint64_t hash =
      hashBytes(0, op.name.data(), static_cast<int64_t>(op.name.size()));
  for (size_t i = 0; i < op.inputs.size(); ++i)
    hash = hashBuffer(hash, inputs[i],
                      op.inputs[i].elements * op.inputs[i].element.bytes);
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const OperatorBuffer &output = op.outputs[i];
    uint64_t seed = mix(hash + i);
    if (output.element.type)
      dispatchType(*output.element.type, [&](auto tag) {
        fill<typename decltype(tag)::Type>(outputs[i], output.elements, seed);
      });
    else
      fill<uint8_t>(outputs[i], output.elements * output.element.bytes, seed);
  }
}
