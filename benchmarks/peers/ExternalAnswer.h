//===- ExternalAnswer.h - Schedules of other projects -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the order and the buckets that another scheduler has chosen for a dump,
// and applies them to the function. README.md describes the format.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PEERS_EXTERNALANSWER_H
#define COMMSCHED_BENCHMARKS_PEERS_EXTERNALANSWER_H

#include "LoneFunction.h"

namespace mlir::commsched {

struct ExternalAnswer {
  /// Of the dump.
  schedule::Order order;
  /// Starts.
  std::vector<std::vector<schedule::NodeId>> buckets;
  double scheduleMs = 0;
  std::string note;
};

/// The answer for the function of that name in the file at `path`.
Result<ExternalAnswer> readAnswer(StringRef path, StringRef function);

/// Orders and merges the operations of `function`. Where the order is not
/// legal, sorts it and says so in the answer's note. Emits an error when the
/// answer is none for this function, or its buckets cannot be merged.
LogicalResult applyAnswer(ExternalAnswer &answer, LoneFunction &function);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PEERS_EXTERNALANSWER_H
