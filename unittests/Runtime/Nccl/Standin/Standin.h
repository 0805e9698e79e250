//===- Standin.h - Stand-ins for GPUs and NCCL ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stand-ins for libcudart.so.13 and libnccl.so.2 that record every call and
// execute it in host memory: streams are queues of work that runs when its
// progress is queried, and ranks are threads of one process. Time is counted,
// not measured. Tests configure the stand-ins through this interface; programs
// do so by the environment variable COMMSCHED_STANDIN, as in
// "alone;stuck=ncclCommSplit;log=calls.txt".
//
// One lock guards the work of all ranks.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_NCCL_STANDIN_H
#define COMMSCHED_UNITTESTS_RUNTIME_NCCL_STANDIN_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#define STANDIN_API __attribute__((visibility("default")))

namespace standin {

struct Settings {
  int capability = 90;
  int numGpus = 8;
  /// As ncclGetVersion codes it.
  int ncclVersion = NCCL_VERSION_CODE;
  /// Whether memory can be registered as a window.
  bool hasWindows = true;
  /// Whether ranks of other processes are taken for granted: nothing waits for
  /// them, and no data comes from them.
  bool alone = false;
  /// While set, no stream makes progress.
  bool hold = false;
  /// Error codes of calls that fail without any effect.
  std::map<std::string, int> failing;
  /// The error that communicators report at the next query; 0 for none.
  int asyncError = 0;
  /// Calls that begin and never end, until their communicator is aborted.
  std::set<std::string> stuck;
};
/// Back to the default before every test. Guarded by `getLock()`.
STANDIN_API Settings &getSettings();
STANDIN_API void resetSettings();
STANDIN_API std::recursive_mutex &getLock();

/// Forgets the calls of this thread, and names what it makes from 0 on again.
STANDIN_API void beginThread();
/// The calls of this thread since the last time it asked, one a line.
STANDIN_API std::vector<std::string> takeLog();
/// How often this thread has asked how far the GPU is.
STANDIN_API int64_t countQueries();

// Functions of the stand-in for CUDA that the one for NCCL uses.

STANDIN_API void record(const std::string &line);
/// Counts what this thread has made with names of one kind, from 0.
STANDIN_API int takeNumber(const char *kind);
/// The code that the call shall return, or 0.
STANDIN_API int getFailure(const char *call);
STANDIN_API bool isStuck(const char *call);
/// "m0+16" for the 17th byte of this thread's first allocation.
STANDIN_API std::string nameAddress(const void *address);
STANDIN_API std::string nameStream(cudaStream_t stream);

/// Tries to go on; `now` is the stream's time in nanoseconds. False when it
/// cannot yet.
using Work = std::function<bool(double &now)>;
STANDIN_API void enqueue(cudaStream_t stream, Work work);
/// Lets all streams go as far as they can.
STANDIN_API void progress();

} // namespace standin

#endif // COMMSCHED_UNITTESTS_RUNTIME_NCCL_STANDIN_H
