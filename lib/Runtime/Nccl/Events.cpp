//===- Events.cpp - CUDA events that are used again -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/Events.h"

#include <cmath>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

EventPool::~EventPool() {
  for (cudaEvent_t event : idle)
    cudaEventDestroy(event);
}

Error EventPool::record(cudaStream_t stream, Event &event) {
  cudaEvent_t raw = nullptr;
  if (!idle.empty()) {
    raw = idle.back();
    idle.pop_back();
  } else if (Error error =
                 checkCuda(cudaEventCreate(&raw), "cudaEventCreate")) {
    return error;
  }
  event = Event(raw, [this](cudaEvent_t given) { idle.push_back(given); });
  return checkCuda(cudaEventRecord(raw, stream), "cudaEventRecord");
}

Error commsched::runtime::nccl::queryEvent(const Event &event, bool &passed) {
  cudaError_t code = cudaEventQuery(event.get());
  passed = code == cudaSuccess;
  if (code == cudaErrorNotReady)
    return std::nullopt;
  return checkCuda(code, "cudaEventQuery");
}

Error commsched::runtime::nccl::getElapsed(const Event &from, const Event &to,
                                           int64_t &ns) {
  float ms = 0;
  Error error = checkCuda(cudaEventElapsedTime(&ms, from.get(), to.get()),
                          "cudaEventElapsedTime");
  ns = std::llround(double(ms) * 1e6);
  return error;
}
