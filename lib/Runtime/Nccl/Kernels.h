//===- Kernels.h - GPU kernels of the backend -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels in Kernels.cu: one that only takes time, and one that converts
// elements.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_NCCL_KERNELS_H
#define COMMSCHED_RUNTIME_NCCL_KERNELS_H

#include <cstdint>
#include <cuda_runtime_api.h>

namespace commsched::runtime::nccl {

/// The types that can be converted.
enum class FloatType { F16, BF16, F32, F64 };

/// Enqueues a kernel that lasts `ns` nanoseconds by the GPU's clock. It is one
/// thread: it holds a single SM and no memory bandwidth.
cudaError_t launchSpin(int64_t ns, cudaStream_t stream);

/// Rows of elements to convert; strides are bytes.
struct ConvertArguments {
  char *target;
  const char *source;
  int64_t targetStride;
  int64_t sourceStride;
  int64_t rows;
  int64_t rowElements;
};

/// Enqueues a conversion, rounding to nearest even.
cudaError_t launchConvert(FloatType target, FloatType source,
                          const ConvertArguments &arguments,
                          cudaStream_t stream);

} // namespace commsched::runtime::nccl

#endif // COMMSCHED_RUNTIME_NCCL_KERNELS_H
