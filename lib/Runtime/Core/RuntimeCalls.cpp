//===- RuntimeCalls.cpp - What lowered programs call ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Call.h"
#include "Numerics/Types.h"

using namespace commsched::runtime;

int64_t commsched_start(int32_t site, const void *const *inputs,
                        void *const *outputs) {
  int64_t request = 0;
  bool ok = callRank("commsched_start", [&](Rank &rank) {
    return rank.start(site, inputs, outputs, request);
  });
  return ok ? request : 0;
}

int32_t commsched_wait(int64_t request) {
  bool ok = callRank("commsched_wait", [&](Rank &rank) {
    return request == 0 ? Error() : rank.wait(request);
  });
  return ok ? 0 : 1;
}

int32_t commsched_test(int64_t request) {
  bool done = true;
  bool ok = callRank("commsched_test", [&](Rank &rank) {
    return request == 0 ? Error() : rank.test(request, done);
  });
  return ok ? done : -1;
}

int32_t commsched_barrier(int32_t site) {
  bool ok = callRank("commsched_barrier",
                     [&](Rank &rank) { return rank.barrier(site); });
  return ok ? 0 : 1;
}

void commsched_poll(void) {
  callRank("commsched_poll",
           [](Rank &rank) { return rank.getBackend()->poll(); });
}

int64_t commsched_group_rank(int32_t group) {
  // Programs compute addresses from it, also behind an error.
  Rank *rank = getCurrentRank("commsched_group_rank");
  return rank ? rank->getGroupRank(group) : -1;
}

int32_t commsched_compute(int32_t index, int64_t ns, const void *const *inputs,
                          void *const *outputs) {
  bool ok = callRank("commsched_compute", [&](Rank &rank) {
    return rank.compute(index, ns, inputs, outputs);
  });
  return ok ? 0 : 1;
}

int32_t commsched_account(int32_t index, int64_t ns) {
  bool ok = callRank("commsched_account",
                     [&](Rank &rank) { return rank.account(index, ns); });
  return ok ? 0 : 1;
}

int32_t commsched_copy(void *target, int32_t targetType, int64_t targetStride,
                       const void *source, int32_t sourceType,
                       int64_t sourceStride, int64_t rows,
                       int64_t rowElements) {
  bool ok = callRank("commsched_copy", [&](Rank &rank) -> Error {
    StridedCopy copy;
    copy.target = target;
    copy.source = source;
    copy.targetStride = targetStride;
    copy.sourceStride = sourceStride;
    copy.rows = rows;
    copy.rowElements = rowElements;
    if (targetType != -1 || sourceType != -1) {
      for (int32_t type : {targetType, sourceType})
        if (!isType(type))
          return "cannot copy: " + std::to_string(type) + " is no type";
      copy.targetType = static_cast<commsched_type>(targetType);
      copy.sourceType = static_cast<commsched_type>(sourceType);
    }
    return rank.copy(copy);
  });
  return ok ? 0 : 1;
}

int32_t commsched_zero(void *target, int64_t bytes) {
  bool ok = callRank("commsched_zero", [&](Rank &rank) -> Error {
    if (bytes < 0 || (bytes > 0 && !target))
      return "cannot set " + std::to_string(bytes) + " bytes of " +
             (target ? "a buffer" : "null") + " to zero";
    return bytes == 0 ? Error() : rank.getBackend()->zero(target, bytes);
  });
  return ok ? 0 : 1;
}
