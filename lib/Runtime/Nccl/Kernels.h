//===- Kernels.h - GPU kernels of the backend -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels in Kernels.cu: one that only takes time, and one that converts
// elements.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_KERNELS_H
#define COMMSCHED_RUNTIME_NCCL_KERNELS_H

#include "CommSched/Runtime/Backend.h"

#include <cuda_runtime_api.h>

namespace commsched::runtime::nccl {

/// Enqueues a kernel that lasts `ns` nanoseconds by the GPU's clock. It is one
/// thread: it holds a single SM and no memory bandwidth.
cudaError_t launchSpin(int64_t ns, cudaStream_t stream);

/// Enqueues a conversion, rounding to nearest even. cudaErrorNotSupported for
/// other types than floating-point numbers of 16, 32 and 64 bits.
cudaError_t launchConvert(const StridedCopy &copy, cudaStream_t stream);

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_KERNELS_H
