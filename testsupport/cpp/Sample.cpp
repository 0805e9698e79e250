//===- Sample.cpp - Time and memory of one run of a stage -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Sample.h"

#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <malloc.h>

using namespace mlir::commsched;

static int64_t getThreadTimeNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/// Makes the kernel count the peak of the resident size anew.
static void resetPeak() {
  if (FILE *file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
}

static int64_t getPeakBytes() {
  FILE *file = std::fopen("/proc/self/status", "r");
  if (!file)
    return 0;
  char line[256];
  int64_t kilobytes = 0;
  while (std::fgets(line, sizeof(line), file))
    if (std::sscanf(line, "VmHWM: %" SCNd64, &kilobytes) == 1)
      break;
  std::fclose(file);
  return kilobytes * 1024;
}

Sample mlir::commsched::takeSample(llvm::function_ref<void()> body) {
  malloc_trim(0);
  resetPeak();
  Sample sample;
  int64_t begin = getThreadTimeNs();
  body();
  sample.timeNs = getThreadTimeNs() - begin;
  sample.peakBytes = getPeakBytes();
  return sample;
}
