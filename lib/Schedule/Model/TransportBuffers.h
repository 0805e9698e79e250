//===- TransportBuffers.h - Buffers of collectives in flight ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A start makes the buffers that it delivers, which others use once it has been
// waited for, and may make some for itself, which are freed by then. The latter
// it uses.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_TRANSPORTBUFFERS_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_TRANSPORTBUFFERS_H

#include "CommSched/Schedule/Model/Problem.h"

#include <algorithm>

namespace mlir::commsched::schedule {

/// Whether a start makes the buffer for itself. O(users).
inline bool isForTransport(const Problem &problem, BufferId id) {
  NodeId producer = problem.buffer(id).producer;
  if (producer == noNode || problem.kind(producer) != NodeKind::Start)
    return false;
  ArrayView<NodeId> users = problem.users(id);
  return std::find(users.begin(), users.end(), producer) != users.end();
}

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_TRANSPORTBUFFERS_H
