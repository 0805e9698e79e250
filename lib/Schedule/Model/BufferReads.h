//===- BufferReads.h - Uses that matter to memory ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a problem's buffers that sorts for peak memory look at.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_BUFFERREADS_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_BUFFERREADS_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// By node: the bytes that it allocates. O(nodes + buffers).
std::vector<int64_t> getMadeBytes(const Problem &problem);

/// The uses of a problem, each once, and without
///   - uses by the buffer's own producer: they neither keep nor free it,
///   - buffers that are there from the start and stay to the end: they are part
///     of what is live at every moment, so no order differs in them.
/// O(nodes + buffers + uses).
struct BufferReads {
  explicit BufferReads(const Problem &problem);

  /// By buffer.
  Csr<NodeId> readers;
  /// By node.
  Csr<BufferId> buffers;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_BUFFERREADS_H
