//===- Kernels.cu - GPU kernels of the backend ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Nccl/Kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <type_traits>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

static __device__ uint64_t readGlobalTimer() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void spinKernel(uint64_t ns) {
  uint64_t begin = readGlobalTimer();
  while (readGlobalTimer() - begin < ns)
    __nanosleep(100);
}

// Every value goes by the shortest way that rounds once: 16-bit floats are
// exact as f32, all of them are as f64. CUDA's types round to nearest even.
template <class S>
using Wide = std::conditional_t<std::is_same_v<S, double>, double, float>;

/// Elements of buckets may lie at any byte.
template <class T> static __device__ T load(const char *from, bool aligned) {
  if (aligned)
    return *reinterpret_cast<const T *>(from);
  T value;
  for (size_t i = 0; i < sizeof(T); ++i)
    reinterpret_cast<char *>(&value)[i] = from[i];
  return value;
}
template <class T>
static __device__ void store(char *to, T value, bool aligned) {
  if (aligned) {
    *reinterpret_cast<T *>(to) = value;
    return;
  }
  // Not by a cast: where a 16-bit float is converted just before, ptxas 13.0 takes
  // the store of its first byte for that of the number as an 8-bit integer.
  uint32_t words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &value, sizeof(T));
  for (size_t i = 0; i < sizeof(T); ++i)
    to[i] = static_cast<char>(__byte_perm(words[i / 4], 0, 0x4440 + i % 4));
}

static_assert(std::is_trivially_copyable_v<StridedCopy>, "a kernel takes it");

template <class T, class S>
__global__ void convertKernel(StridedCopy copy, bool aligned) {
  auto *target = static_cast<char *>(copy.target);
  auto *source = static_cast<const char *>(copy.source);
  int64_t step = int64_t(gridDim.x) * blockDim.x;
  int64_t elements = copy.rows * copy.rowElements;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step) {
    int64_t row = i / copy.rowElements;
    int64_t column = i % copy.rowElements;
    S value = load<S>(source + row * copy.sourceStride +
                          column * int64_t(sizeof(S)),
                      aligned);
    store<T>(target + row * copy.targetStride +
                 column * int64_t(sizeof(T)),
             static_cast<T>(static_cast<Wide<S>>(value)), aligned);
  }
}

template <class T> static bool isAligned(const void *pointer, int64_t stride) {
  return reinterpret_cast<uintptr_t>(pointer) % sizeof(T) == 0 &&
         stride % int64_t(sizeof(T)) == 0;
}

template <class T, class S>
static cudaError_t launch(const StridedCopy &copy, cudaStream_t stream) {
  constexpr int64_t threads = 256, mostBlocks = 1024;
  int64_t elements = copy.rows * copy.rowElements;
  int64_t blocks = std::min((elements + threads - 1) / threads, mostBlocks);
  bool aligned = isAligned<T>(copy.target, copy.targetStride) &&
                 isAligned<S>(copy.source, copy.sourceStride);
  convertKernel<T, S><<<blocks, threads, 0, stream>>>(copy, aligned);
  return cudaGetLastError();
}

/// Calls `function` with a zero of the type.
template <class Function>
static cudaError_t dispatchFloat(commsched_type type, Function &&function) {
  switch (type) {
  case COMMSCHED_F16:
    return function(__half());
  case COMMSCHED_BF16:
    return function(__nv_bfloat16());
  case COMMSCHED_F32:
    return function(float());
  case COMMSCHED_F64:
    return function(double());
  default:
    return cudaErrorNotSupported;
  }
}

cudaError_t commsched::runtime::nccl::launchConvert(const StridedCopy &copy,
                                                    cudaStream_t stream) {
  if (!copy.targetType || !copy.sourceType)
    return cudaErrorNotSupported;
  return dispatchFloat(*copy.targetType, [&](auto to) {
    return dispatchFloat(*copy.sourceType, [&](auto from) {
      return launch<decltype(to), decltype(from)>(copy, stream);
    });
  });
}

cudaError_t commsched::runtime::nccl::launchSpin(int64_t ns,
                                                 cudaStream_t stream) {
  spinKernel<<<1, 1, 0, stream>>>(ns);
  return cudaGetLastError();
}
