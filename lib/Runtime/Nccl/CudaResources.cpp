//===- CudaResources.cpp - Errors, events and memory of CUDA --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/CudaResources.h"

#include <cmath>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

EventPool::~EventPool() {
  for (cudaEvent_t event : idle)
    cudaEventDestroy(event);
}

Status EventPool::record(cudaStream_t stream, Event &event) {
  cudaEvent_t raw = nullptr;
  if (!idle.empty()) {
    raw = idle.back();
    idle.pop_back();
  } else if (Status status =
                 checkCuda(cudaEventCreate(&raw), "cudaEventCreate");
             !status) {
    return status;
  }
  event = Event(raw, [this](cudaEvent_t given) { idle.push_back(given); });
  return checkCuda(cudaEventRecord(raw, stream), "cudaEventRecord");
}

Status commsched::runtime::nccl::queryEvent(const Event &event, bool &passed) {
  cudaError_t code = cudaEventQuery(event.get());
  passed = code == cudaSuccess;
  if (code == cudaErrorNotReady)
    return Status();
  return checkCuda(code, "cudaEventQuery");
}

Status commsched::runtime::nccl::getElapsed(const Event &from, const Event &to,
                                            int64_t &ns) {
  float ms = 0;
  Status status = checkCuda(cudaEventElapsedTime(&ms, from.get(), to.get()),
                            "cudaEventElapsedTime");
  ns = std::llround(double(ms) * 1e6);
  return status;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr int64_t pageBytes = int64_t(2) << 20;
/// The alignment of cudaMalloc and cudaHostAlloc.
static constexpr int64_t leastAlignment = 256;

void *Memory::add(Block block, int64_t alignment, int64_t slack) {
  auto address = reinterpret_cast<uintptr_t>(block.begin);
  if (slack)
    address = (address + alignment - 1) / alignment * alignment;
  void *buffer = reinterpret_cast<void *>(address);
  blocks[buffer] = block;
  return buffer;
}

void *Memory::allocateHost(int64_t bytes, int64_t alignment, Status &status) {
  Block block{nullptr, Allocator::CudaHost};
  int64_t slack = alignment > leastAlignment ? alignment : 0;
  status = checkCuda(
      cudaHostAlloc(&block.begin, bytes + slack, cudaHostAllocDefault),
      "cudaHostAlloc");
  if (status)
    return add(block, alignment, slack);
  // The next call shall not see this error.
  cudaGetLastError();
  return nullptr;
}

void *Memory::allocate(int64_t bytes, int64_t alignment, Status &status) {
  Block block{nullptr, Allocator::Cuda};
  if (triesNccl && bytes >= pageBytes && alignment <= pageBytes) {
    if (ncclMemAlloc(&block.begin, bytes) == ncclSuccess) {
      block.allocator = Allocator::Nccl;
      blocks[block.begin] = block;
      return block.begin;
    }
    triesNccl = false;
    cudaGetLastError();
  }
  int64_t slack = alignment > leastAlignment ? alignment : 0;
  status = checkCuda(cudaMalloc(&block.begin, bytes + slack), "cudaMalloc");
  if (!status) {
    // The next call shall not see this error.
    cudaGetLastError();
    return nullptr;
  }
  return add(block, alignment, slack);
}

void *Memory::allocateWindow(int64_t bytes, Status &status) {
  Block block{nullptr, Allocator::Nccl};
  status = checkNccl(ncclMemAlloc(&block.begin, bytes), "ncclMemAlloc");
  if (status)
    return add(block, leastAlignment, /*slack=*/0);
  // The next call shall not see this error.
  cudaGetLastError();
  return nullptr;
}

void Memory::release(void *buffer) {
  auto found = blocks.find(buffer);
  if (found == blocks.end())
    return;
  Block block = found->second;
  blocks.erase(found);
  switch (block.allocator) {
  case Allocator::Nccl:
    ncclMemFree(block.begin);
    break;
  case Allocator::Cuda:
    cudaFree(block.begin);
    break;
  case Allocator::CudaHost:
    cudaFreeHost(block.begin);
    break;
  }
}
