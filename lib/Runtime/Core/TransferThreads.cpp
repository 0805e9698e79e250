//===- TransferThreads.cpp - Threads that copy transfers ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/TransferThreads.h"

#include <cstring>

using namespace commsched::runtime;

void TransferThread::start(TransferJobPtr job) {
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
    TransferJobPtr job = std::move(jobs.front());
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

TransferJobPtr commsched::runtime::makeTransferJob(const Launch &launch) {
  auto job = std::make_shared<TransferJob>();
  const std::vector<Tensor> &tensors = launch.getTensors();
  for (size_t i = 0; i < tensors.size(); ++i)
    job->copies.push_back({launch.outputs[i], launch.inputs[i],
                           tensors[i].inputs * tensors[i].element.bytes});
  return job;
}
