//===- CudaResources.h - Errors, events and memory of CUDA ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts the results of CUDA and NCCL calls into errors, and manages events
// and device memory.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_CUDARESOURCES_H
#define COMMSCHED_RUNTIME_NCCL_CUDARESOURCES_H

#include "CommSched/Runtime/Backend.h"

#include <cuda_runtime_api.h>
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

/// An event that has been recorded; the last owner gives it back. The pool must
/// outlive it.
using Event = std::shared_ptr<CUevent_st>;

/// Reuses events, since creating an event takes longer than recording one.
class EventPool {
public:
  EventPool() = default;
  EventPool(const EventPool &) = delete;
  EventPool &operator=(const EventPool &) = delete;
  ~EventPool();

  /// Records an event that knows its time.
  Status record(cudaStream_t stream, Event &event);

private:
  std::vector<cudaEvent_t> idle;
};

/// Whether the GPU has come past the event.
Status queryEvent(const Event &event, bool &passed);

/// Nanoseconds from one event to another, both passed.
Status getElapsed(const Event &from, const Event &to, int64_t &ns);

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

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_CUDARESOURCES_H
