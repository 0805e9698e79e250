//===- NcclCollectives.h - Collectives as calls of NCCL ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The NCCL calls of a launch, and the types and reductions that NCCL supports.
// A launch of several tensors, or one that sends and receives, is a group of
// calls, which NCCL launches as one.
//
// Elements that are only sent need no NCCL type: they travel as bytes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_NCCLCOLLECTIVES_H
#define COMMSCHED_RUNTIME_NCCL_NCCLCOLLECTIVES_H

#include "CommSched/Runtime/Backend.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace commsched::runtime::nccl {

/// An error if NCCL cannot run the site on a GPU of compute capability
/// `capability` / 10 . `capability` % 10, as "'nccl' cannot reduce i16 by sum".
Status checkSite(const Site &site, int capability);

/// The communicator and the stream of calls.
struct NcclStream {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  /// A byte of device memory for barriers, zero.
  void *scratch = nullptr;
};

/// Enqueues the launches, which run as one; there are several only for sends
/// and receives. Does not wait, and leaves a communicator in progress as it is.
Status enqueue(const std::vector<const Launch *> &launches,
               const NcclStream &target);

/// Meets all ranks of the communicator on the stream.
Status enqueueBarrier(const NcclStream &target);

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_NCCLCOLLECTIVES_H
