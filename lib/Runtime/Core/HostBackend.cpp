//===- HostBackend.cpp - Backends whose buffers are on the host -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/HostBackend.h"

#include "Numerics/ElementArithmetic.h"

#include <algorithm>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// Threads of transfers
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Buffers and steps
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

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
