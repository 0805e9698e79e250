//===- CudaResources.cpp - Errors, events and memory of CUDA --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Status EventPool::record(cudaStream_t stream, Event &event) {
  cudaEvent_t raw = nullptr;
  if (!idle.empty()) {
    raw = idle.back();
    idle.pop_back();
  } else if (Status status =
                 CALL_CUDA(cudaEventCreateWithFlags, &raw, cudaEventDefault);
             !status) {
    return status;
  }
  event = Event(raw, [this](cudaEvent_t given) { idle.push_back(given); });
  return CALL_CUDA(cudaEventRecord, raw, stream);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr int64_t pageBytes = int64_t(2) << 20;
/// The alignment of cudaMalloc and cudaHostAlloc.
static constexpr int64_t leastAlignment = 256;

static int64_t addSlack(int64_t bytes, int64_t alignment) {
  return bytes + (alignment > leastAlignment ? alignment : 0);
}

void *Memory::add(Block block, int64_t alignment, const Status &status) {
  if (!status) {
    // The next call shall not see this error.
    cudaGetLastError();
    return nullptr;
  }
  auto address = reinterpret_cast<uintptr_t>(block.begin);
  address = (address + alignment - 1) / alignment * alignment;
  void *buffer = reinterpret_cast<void *>(address);
  blocks[buffer] = block;
  return buffer;
}

void *Memory::allocateHost(int64_t bytes, int64_t alignment, Status &status) {
  Block block{nullptr, [](void *begin) { cudaFreeHost(begin); }};
  status = CALL_CUDA(cudaHostAlloc, &block.begin, addSlack(bytes, alignment),
                     cudaHostAllocDefault);
  return add(block, alignment, status);
}

void *Memory::allocate(int64_t bytes, int64_t alignment, Status &status) {
  if (triesNccl && bytes >= pageBytes && alignment <= pageBytes) {
    if (void *buffer = allocateWindow(bytes, status))
      return buffer;
    triesNccl = false;
  }
  Block block{nullptr, [](void *begin) { cudaFree(begin); }};
  status = CALL_CUDA(cudaMalloc, &block.begin, addSlack(bytes, alignment));
  return add(block, alignment, status);
}

void *Memory::allocateWindow(int64_t bytes, Status &status) {
  Block block{nullptr, [](void *begin) { ncclMemFree(begin); }};
  status = CALL_NCCL(nullptr, ncclMemAlloc, &block.begin, bytes);
  return add(block, /*alignment=*/1, status);
}

void Memory::release(void *buffer) {
  auto found = blocks.find(buffer);
  if (found == blocks.end())
    return;
  Block block = found->second;
  blocks.erase(found);
  block.free(block.begin);
}
