//===- KernelLaunches.cpp - The backend's kernels on the processor --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Standin.h"

#include "Nccl/Kernels.h"
#include "Numerics/ElementTypes.h"

#include <cxxabi.h>

using namespace standin;
using commsched::runtime::StridedCopy;

namespace {
struct Configuration {
  dim3 grid, block;
  size_t sharedBytes;
  cudaStream_t stream;
};
} // namespace

static thread_local Configuration configuration;

/// Demangled, by the address of the function on the host.
static std::map<const void *, std::string> &getKernelNames() {
  static std::map<const void *, std::string> names;
  return names;
}

static std::optional<commsched_type> findType(const std::string &name) {
  static const std::map<std::string, commsched_type> types = {
      {"float", COMMSCHED_F32},
      {"double", COMMSCHED_F64},
      {"__half", COMMSCHED_F16},
      {"__nv_bfloat16", COMMSCHED_BF16}};
  auto found = types.find(name);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

static void enqueueConversion(const std::string &name, StridedCopy copy,
                              cudaStream_t stream) {
  // "... convertKernel<float, double>(...)"
  size_t less = name.find('<'), comma = name.find(", ", less),
         greater = name.find('>', comma);
  copy.targetType = findType(name.substr(less + 1, comma - less - 1));
  copy.sourceType = findType(name.substr(comma + 2, greater - comma - 2));
  enqueue(stream, [copy](double &) {
    commsched::runtime::copyRows(copy);
    return true;
  });
}

extern "C" {

STANDIN_API void **__cudaRegisterFatBinary(void *) {
  static void *handle = nullptr;
  return &handle;
}
STANDIN_API void __cudaRegisterFatBinaryEnd(void **) {}
STANDIN_API void __cudaUnregisterFatBinary(void **) {}

STANDIN_API void __cudaRegisterFunction(void **, const char *hostFunction,
                                        char *, const char *name, int, uint3 *,
                                        uint3 *, dim3 *, dim3 *, int *) {
  int status = 0;
  char *demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  getKernelNames()[hostFunction] = demangled ? demangled : name;
  std::free(demangled);
}

STANDIN_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel,
                                        const void *function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void *>(function));
  return cudaSuccess;
}

STANDIN_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block,
                                                 size_t sharedBytes,
                                                 CUstream_st *stream) {
  configuration = {grid, block, sharedBytes, stream};
  return 0;
}

STANDIN_API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block,
                                                   size_t *sharedBytes,
                                                   void *stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *sharedBytes = configuration.sharedBytes;
  *static_cast<cudaStream_t *>(stream) = configuration.stream;
  return cudaSuccess;
}

STANDIN_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid,
                                           dim3 block, void **arguments, size_t,
                                           cudaStream_t stream) {
  std::lock_guard<std::recursive_mutex> guard(getLock());
  const std::string &name = getKernelNames()[kernel];
  std::string short_ = name.substr(0, name.find('('));
  if (size_t space = short_.rfind(' ', short_.find('<'));
      space != std::string::npos)
    short_ = short_.substr(space + 1);
  record(short_ + "<<<" + std::to_string(grid.x) + ", " +
         std::to_string(block.x) + ", " + nameStream(stream) + ">>>");
  if (name.find("spinKernel") != std::string::npos) {
    auto ns = *static_cast<const uint64_t *>(arguments[0]);
    enqueue(stream, [ns](double &now) {
      now += ns;
      return true;
    });
  } else {
    enqueueConversion(name, *static_cast<const StridedCopy *>(arguments[0]),
                      stream);
  }
  return cudaSuccess;
}

} // extern "C"
