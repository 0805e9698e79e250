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
#include <cstdlib>
#include <cstring>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// Threads of transfers
//===----------------------------------------------------------------------===//

void TransferThread::start(std::shared_ptr<TransferJob> job) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!thread.joinable()) {
    isStopping = false;
    thread = std::thread([this] { run(); });
  }
  jobs.push_back(std::move(job));
  hasJobs.notify_one();
}

bool TransferThread::isDone(const TransferJob &job) {
  std::lock_guard<std::mutex> lock(mutex);
  return job.isDone;
}

bool TransferThread::waitUntil(const TransferJob &job, Clock::time_point time) {
  std::unique_lock<std::mutex> lock(mutex);
  return hasDone.wait_until(lock, time, [&] { return job.isDone; });
}

void TransferThread::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    jobs.clear();
    isStopping = true;
    hasJobs.notify_one();
  }
  if (thread.joinable())
    thread.join();
  thread = std::thread();
}

void TransferThread::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    hasJobs.wait(lock, [&] { return isStopping || !jobs.empty(); });
    if (isStopping)
      return;
    std::shared_ptr<TransferJob> job = std::move(jobs.front());
    jobs.pop_front();
    lock.unlock();
    job->begin = Clock::now();
    for (const TransferJob::Copy &copy : job->copies)
      if (copy.bytes > 0)
        std::memcpy(copy.target, copy.source, copy.bytes);
    job->end = Clock::now();
    lock.lock();
    job->isDone = true;
    hasDone.notify_all();
  }
}

//===----------------------------------------------------------------------===//
// Buffers and steps
//===----------------------------------------------------------------------===//

HostBackend::HostBackend(const BackendConfig &config)
    : options(*config.options), recorder(*config.recorder) {}

Status HostBackend::copy(const StridedCopy &copy) { return copyRows(copy); }

Status HostBackend::zero(void *target, int64_t bytes) {
  std::memset(target, 0, bytes);
  return Status();
}

void *HostBackend::allocate(int64_t bytes, int64_t alignment, Status &status) {
  void *buffer = nullptr;
  if (posix_memalign(&buffer, alignment, bytes) == 0)
    return buffer;
  status = "out of memory";
  return nullptr;
}

void HostBackend::release(void *buffer) { std::free(buffer); }

Status HostBackend::upload(void *buffer, const void *host, int64_t bytes) {
  std::memcpy(buffer, host, bytes);
  return Status();
}

Status HostBackend::download(void *host, const void *buffer, int64_t bytes) {
  std::memcpy(host, buffer, bytes);
  return Status();
}

int64_t HostBackend::getStepNs(Clock::time_point time) const {
  return std::chrono::nanoseconds(time - stepBegin).count();
}

Status HostBackend::endStep(int64_t &stepNs, Deadline deadline) {
  COMMSCHED_TRY(synchronize(deadline));
  stepNs = getStepNs(Clock::now());
  return Status();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

TransferThread &HostBackend::getThread(const HostTransfer &transfer) {
  return threads[transfer.launch.site->kind == COMMSCHED_RELOAD];
}

void HostBackend::startTransfer(HostTransfer &transfer, Launch launch) {
  transfer.launch = std::move(launch);
  if (!transfer.job) {
    transfer.job = std::make_shared<TransferJob>();
    const std::vector<Tensor> &tensors = transfer.launch.getTensors();
    for (size_t i = 0; i < tensors.size(); ++i)
      transfer.job->copies.push_back({transfer.launch.outputs[i],
                                      transfer.launch.inputs[i],
                                      tensors[i].getInputBytes()});
  }
  recorder.setStarted(transfer.launch);
  getThread(transfer).start(transfer.job);
  transfers.push_back(&transfer);
}

bool HostBackend::isDone(const HostTransfer &transfer) {
  return getThread(transfer).isDone(*transfer.job);
}

Status HostBackend::awaitTransfer(HostTransfer &transfer, Deadline deadline) {
  if (getThread(transfer).waitUntil(*transfer.job, deadline))
    return Status();
  return describeTimeout(transfer.launch, options.deadline_ms, {});
}

Interval HostBackend::getInterval(const HostTransfer &transfer) const {
  return {getStepNs(transfer.job->begin), getStepNs(transfer.job->end)};
}

Status HostBackend::finishTransfer(HostTransfer &transfer, Deadline deadline) {
  COMMSCHED_TRY(awaitTransfer(transfer, deadline));
  if (transfer.isRecorded)
    return Status();
  transfer.isRecorded = true;
  recorder.record(COMMSCHED_RECORD_COLLECTIVE, transfer.launch.site->index,
                  getInterval(transfer));
  recorder.setCompleted(transfer.launch);
  return Status();
}

Status HostBackend::endTransfer(HostTransfer &transfer, Deadline deadline) {
  COMMSCHED_TRY(finishTransfer(transfer, deadline));
  transfers.erase(std::find(transfers.begin(), transfers.end(), &transfer));
  return Status();
}

Status HostBackend::finishTransfers(Deadline deadline) {
  for (HostTransfer *transfer : transfers)
    COMMSCHED_TRY(finishTransfer(*transfer, deadline));
  return Status();
}

void HostBackend::stopTransfers() {
  for (TransferThread &thread : threads)
    thread.stop();
}
