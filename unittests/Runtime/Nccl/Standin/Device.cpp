//===- Device.cpp - Stand-in for a GPU's streams and memory ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Standin.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

using namespace standin;
using Guard = std::lock_guard<std::recursive_mutex>;

namespace standin {
void countQuery();
} // namespace standin

/// One recording of an event.
struct Mark {
  bool passed = false;
  double time = 0;
};

// The types that CUDA leaves open. Names count by thread, so that they do not
// depend on what other ranks do.
struct CUstream_st {
  int number;
  std::deque<Work> works;
  double now = 0;
};
struct CUevent_st {
  int number;
  std::shared_ptr<Mark> mark;
};

namespace {
struct Allocation {
  std::string name;
  size_t bytes;
};
struct Device {
  std::vector<CUstream_st *> streams;
  /// Copies from the host on the default stream.
  std::deque<Work> uploads;
  std::map<const char *, Allocation> allocations;
};
} // namespace

static Device device;
static thread_local cudaError_t lastError = cudaSuccess;

static cudaError_t begin(const char *call, const std::string &arguments) {
  record(std::string(call) + "(" + arguments + ")");
  lastError = static_cast<cudaError_t>(getFailure(call));
  return lastError;
}

#define STANDIN_BEGIN(call, arguments)                                         \
  Guard guard(getLock());                                                      \
  if (cudaError_t failure = begin(#call, arguments))                           \
    return failure;

static std::string nameEvent(cudaEvent_t event) {
  return "e" + std::to_string(event->number);
}

std::string standin::nameStream(cudaStream_t stream) {
  return stream ? "s" + std::to_string(stream->number) : "null";
}

std::string standin::nameAddress(const void *address) {
  Guard guard(getLock());
  if (!address)
    return "null";
  auto *place = static_cast<const char *>(address);
  auto after = device.allocations.upper_bound(place);
  if (after == device.allocations.begin())
    return "host";
  auto &[first, allocation] = *std::prev(after);
  size_t offset = place - first;
  if (offset > allocation.bytes)
    return "host";
  return allocation.name + (offset ? "+" + std::to_string(offset) : "");
}

void standin::enqueue(cudaStream_t stream, Work work) {
  Guard guard(getLock());
  stream->works.push_back(std::move(work));
}

void standin::progress() {
  Guard guard(getLock());
  if (getSettings().hold)
    return;
  for (bool moved = true; moved;) {
    moved = false;
    for (CUstream_st *stream : device.streams)
      while (!stream->works.empty() && stream->works.front()(stream->now)) {
        stream->works.pop_front();
        moved = true;
      }
  }
}

/// Whether CUDA has allocated the memory, be it pinned memory of the host.
static bool isCudas(const void *address) {
  return nameAddress(address) != "host";
}

/// Memory that `free` releases, remembered under a new name of the kind.
static void *allocate(size_t bytes, const char *kind, const char *prefix) {
  // On pages, as large buffers of NCCL are; what is not written is no number.
  size_t alignment = bytes >= (size_t(1) << 21) ? size_t(1) << 21 : 256;
  size_t rounded = (bytes + alignment) / alignment * alignment;
  void *pointer = std::aligned_alloc(alignment, rounded);
  if (!pointer)
    return nullptr;
  std::memset(pointer, 0xa5, rounded);
  device.allocations[static_cast<char *>(pointer)] = {
      prefix + std::to_string(takeNumber(kind)), bytes};
  return pointer;
}

extern "C" {

STANDIN_API const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorNoDevice ? "no CUDA-capable device is detected"
                                    : "a stand-in's error";
}

STANDIN_API cudaError_t cudaGetLastError() {
  return std::exchange(lastError, cudaSuccess);
}

STANDIN_API cudaError_t cudaGetDeviceCount(int *count) {
  STANDIN_BEGIN(cudaGetDeviceCount, "")
  *count = getSettings().numGpus;
  return *count ? cudaSuccess : cudaErrorNoDevice;
}

STANDIN_API cudaError_t cudaSetDevice(int number) {
  STANDIN_BEGIN(cudaSetDevice, std::to_string(number))
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what,
                                               int) {
  STANDIN_BEGIN(cudaDeviceGetAttribute, "")
  int capability = getSettings().capability;
  *value = what == cudaDevAttrComputeCapabilityMajor ? capability / 10
                                                     : capability % 10;
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream,
                                                  unsigned) {
  STANDIN_BEGIN(cudaStreamCreateWithFlags, "")
  *stream = new CUstream_st{takeNumber("stream"), {}, 0};
  device.streams.push_back(*stream);
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  STANDIN_BEGIN(cudaStreamDestroy, nameStream(stream))
  for (auto it = device.streams.begin(); it != device.streams.end(); ++it)
    if (*it == stream) {
      device.streams.erase(it);
      break;
    }
  delete stream;
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Guard guard(getLock());
  if (std::find(device.streams.begin(), device.streams.end(), stream) ==
      device.streams.end()) {
    std::fputs("cudaStreamQuery of a stream that was destroyed\n", stderr);
    std::abort();
  }
  countQuery();
  if (int failure = getFailure("cudaStreamQuery"))
    return static_cast<cudaError_t>(failure);
  progress();
  return stream->works.empty() ? cudaSuccess : cudaErrorNotReady;
}

STANDIN_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
  }
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  STANDIN_BEGIN(cudaEventCreateWithFlags, "")
  *event = new CUevent_st{takeNumber("event"), nullptr};
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  STANDIN_BEGIN(cudaEventDestroy, nameEvent(event))
  delete event;
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaEventRecord(cudaEvent_t event,
                                        cudaStream_t stream) {
  STANDIN_BEGIN(cudaEventRecord, nameEvent(event) + ", " + nameStream(stream))
  auto mark = std::make_shared<Mark>();
  event->mark = mark;
  enqueue(stream, [mark](double &now) {
    *mark = {true, now};
    return true;
  });
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream,
                                            cudaEvent_t event, unsigned) {
  STANDIN_BEGIN(cudaStreamWaitEvent,
                nameStream(stream) + ", " + nameEvent(event))
  if (std::shared_ptr<Mark> mark = event->mark)
    enqueue(stream, [mark](double &now) {
      now = std::max(now, mark->time);
      return mark->passed;
    });
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaEventQuery(cudaEvent_t event) {
  Guard guard(getLock());
  countQuery();
  progress();
  return !event->mark || event->mark->passed ? cudaSuccess : cudaErrorNotReady;
}

STANDIN_API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from,
                                             cudaEvent_t to) {
  STANDIN_BEGIN(cudaEventElapsedTime, nameEvent(from) + ", " + nameEvent(to))
  if (!from->mark || !from->mark->passed || !to->mark || !to->mark->passed)
    return cudaErrorNotReady;
  *ms = (to->mark->time - from->mark->time) / 1e6;
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  STANDIN_BEGIN(cudaMalloc, std::to_string(bytes))
  *pointer = allocate(bytes, "allocation", "m");
  return *pointer ? cudaSuccess : lastError = cudaErrorMemoryAllocation;
}

STANDIN_API cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned) {
  STANDIN_BEGIN(cudaHostAlloc, std::to_string(bytes))
  *pointer = allocate(bytes, "pinned", "h");
  return *pointer ? cudaSuccess : lastError = cudaErrorMemoryAllocation;
}

STANDIN_API cudaError_t cudaFreeHost(void *pointer) {
  STANDIN_BEGIN(cudaFreeHost, nameAddress(pointer))
  if (!device.allocations.erase(static_cast<char *>(pointer)))
    return cudaErrorInvalidValue;
  std::free(pointer);
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaFree(void *pointer) {
  STANDIN_BEGIN(cudaFree, nameAddress(pointer))
  if (!device.allocations.erase(static_cast<char *>(pointer)))
    return cudaErrorInvalidValue;
  std::free(pointer);
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaMemsetAsync(void *target, int value, size_t bytes,
                                        cudaStream_t stream) {
  STANDIN_BEGIN(cudaMemsetAsync,
                nameAddress(target) + ", " + std::to_string(value) + ", " +
                    std::to_string(bytes) + ", " + nameStream(stream))
  enqueue(stream, [=](double &) {
    std::memset(target, value, bytes);
    return true;
  });
  return cudaSuccess;
}

// Copies with the host do not wait for streams, as those of the backend do not
// block: a caller that forgets to wait gets wrong data. Copies to the device
// are under way when the call returns, and other streams do not wait for them.
STANDIN_API cudaError_t cudaMemcpy(void *target, const void *source,
                                   size_t bytes, cudaMemcpyKind kind) {
  STANDIN_BEGIN(cudaMemcpy, nameAddress(target) + ", " + nameAddress(source) +
                                ", " + std::to_string(bytes))
  if (bytes == 0)
    return cudaSuccess;
  if (kind != cudaMemcpyDefault || isCudas(target) == isCudas(source))
    return cudaErrorInvalidValue;
  if (isCudas(target)) {
    std::string contents(static_cast<const char *>(source), bytes);
    device.uploads.push_back([=](double &) {
      std::memcpy(target, contents.data(), bytes);
      return true;
    });
    return cudaSuccess;
  }
  for (double now = 0; !device.uploads.empty(); device.uploads.pop_front())
    device.uploads.front()(now);
  std::memcpy(target, source, bytes);
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaMemcpyAsync(void *target, const void *source,
                                        size_t bytes, cudaMemcpyKind,
                                        cudaStream_t stream) {
  STANDIN_BEGIN(cudaMemcpyAsync,
                nameAddress(target) + ", " + nameAddress(source) + ", " +
                    std::to_string(bytes) + ", " + nameStream(stream))
  enqueue(stream, [=](double &) {
    std::memmove(target, source, bytes);
    return true;
  });
  return cudaSuccess;
}

STANDIN_API cudaError_t cudaMemcpy2DAsync(void *target, size_t targetPitch,
                                          const void *source,
                                          size_t sourcePitch, size_t width,
                                          size_t height, cudaMemcpyKind,
                                          cudaStream_t stream) {
  STANDIN_BEGIN(cudaMemcpy2DAsync,
                nameAddress(target) + ", " + std::to_string(targetPitch) +
                    ", " + nameAddress(source) + ", " +
                    std::to_string(sourcePitch) + ", " + std::to_string(width) +
                    ", " + std::to_string(height) + ", " + nameStream(stream))
  constexpr size_t mostPitch = INT32_MAX;
  if (targetPitch < width || sourcePitch < width || targetPitch > mostPitch ||
      sourcePitch > mostPitch)
    return lastError = cudaErrorInvalidPitchValue;
  enqueue(stream, [=](double &) {
    for (size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<char *>(target) + row * targetPitch,
                  static_cast<const char *>(source) + row * sourcePitch, width);
    return true;
  });
  return cudaSuccess;
}

} // extern "C"
