//===- Collectives.h - Collectives as calls of NCCL -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which calls of NCCL a launch is. A launch of several tensors, or one that
// sends and receives, is a group of calls, which NCCL launches as one.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_COLLECTIVES_H
#define COMMSCHED_RUNTIME_NCCL_COLLECTIVES_H

#include "CommSched/Runtime/Backend.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace commsched::runtime::nccl {

/// Where calls go.
struct Target {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  /// A byte of device memory for barriers, zero.
  void *scratch = nullptr;
};

/// Enqueues the launches, which run as one; there are several only for sends
/// and receives. Does not wait, and leaves a communicator in progress as it is.
Error enqueue(const std::vector<const Launch *> &launches,
              const Target &target);

/// Meets all ranks of the communicator on the stream.
Error enqueueBarrier(const Target &target);

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_COLLECTIVES_H
