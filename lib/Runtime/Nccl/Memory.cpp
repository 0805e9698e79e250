//===- Memory.cpp - Device memory -----------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/Memory.h"

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

static constexpr int64_t pageBytes = int64_t(2) << 20;
/// What cudaMalloc gives.
static constexpr int64_t leastAlignment = 256;

void *Memory::allocate(int64_t bytes, int64_t alignment, Error &error) {
  Block block{nullptr, false};
  if (triesNccl && bytes >= pageBytes && alignment <= pageBytes) {
    if (ncclMemAlloc(&block.begin, bytes) == ncclSuccess) {
      block.isNccls = true;
      blocks[block.begin] = block;
      return block.begin;
    }
    triesNccl = false;
    cudaGetLastError();
  }
  int64_t slack = alignment > leastAlignment ? alignment : 0;
  if ((error =
           checkCuda(cudaMalloc(&block.begin, bytes + slack), "cudaMalloc"))) {
    // The next call shall not see this error.
    cudaGetLastError();
    return nullptr;
  }
  auto address = reinterpret_cast<uintptr_t>(block.begin);
  if (slack)
    address = (address + alignment - 1) / alignment * alignment;
  void *buffer = reinterpret_cast<void *>(address);
  blocks[buffer] = block;
  return buffer;
}

void Memory::release(void *buffer) {
  auto found = blocks.find(buffer);
  if (found == blocks.end())
    return;
  Block block = found->second;
  blocks.erase(found);
  if (block.isNccls)
    ncclMemFree(block.begin);
  else
    cudaFree(block.begin);
}
