//===- Check.h - Errors of CUDA and NCCL in words ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the result of a call into an Error that names the call.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_CHECK_H
#define COMMSCHED_RUNTIME_NCCL_CHECK_H

#include "CommSched/Runtime/Backend.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

namespace commsched::runtime::nccl {

inline Error checkCuda(cudaError_t code, const char *call) {
  if (code == cudaSuccess)
    return std::nullopt;
  return std::string(call) + ": " + cudaGetErrorString(code);
}

/// Work that goes on in the background is no error: communicators do not block.
inline Error checkNccl(ncclResult_t code, const char *call,
                       ncclComm_t comm = nullptr) {
  if (code == ncclSuccess || code == ncclInProgress)
    return std::nullopt;
  std::string text = std::string(call) + ": " + ncclGetErrorString(code);
  const char *last = ncclGetLastError(comm);
  return last && *last ? text + " (" + last + ")" : text;
}

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_CHECK_H
