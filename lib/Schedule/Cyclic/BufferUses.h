//===- BufferUses.h - Uses of buffers over repetitions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The uses of each buffer of a cyclic problem, within its repetition and in
// later ones.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_CYCLIC_BUFFERUSES_H
#define COMMSCHED_LIB_SCHEDULE_CYCLIC_BUFFERUSES_H

#include "CommSched/Schedule/Cyclic/CyclicProblem.h"

namespace mlir::commsched::schedule {

/// `node` of the repetition that is `distance` later uses a buffer.
struct BufferUse {
  NodeId node;
  int32_t distance;
};

class BufferUses {
public:
  /// O(buffers + uses).
  explicit BufferUses(const CyclicProblem &problem) {
    const Problem &body = problem.body();
    std::vector<std::pair<BufferId, BufferUse>> entries;
    for (BufferId id = 0; id < body.numBuffers(); ++id) {
      for (NodeId user : body.users(id))
        entries.push_back({id, {user, 0}});
      // What is not freed is replaced in the next repetition.
      if (const Buffer &buffer = body.buffer(id);
          buffer.producer != noNode && !buffer.freed)
        entries.push_back({id, {buffer.producer, 1}});
    }
    for (const CarriedUse &use : problem.carriedUses())
      entries.push_back({use.buffer, {use.node, use.distance}});
    rows.build(
        body.numBuffers(), entries.size(),
        [&](size_t i) { return entries[i].first; },
        [&](size_t i) { return entries[i].second; });
  }

  /// The uses of a buffer, those of its own repetition first. O(1).
  ArrayView<BufferUse> operator[](BufferId buffer) const {
    return rows[buffer];
  }

private:
  Csr<BufferUse> rows;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_CYCLIC_BUFFERUSES_H
