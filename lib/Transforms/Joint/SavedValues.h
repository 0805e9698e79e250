//===- SavedValues.h - Choice of the values to save -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions on the saved values of a joint function that are made outside of
// the partitioner: the attribute `commsched.saved_values`, and the proposals
// that ranks exchange as files. A file holds JSON, one object per line and
// function:
//
//   {"function": "step", "values": [{"name": "mm", "bytes": 4096}, …],
//    "saved": ["mm"], "saved_bytes": 4096}
//
// `values` are all values that could be saved, in program order. Their sizes
// may differ between ranks, but not their names.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_SAVEDVALUES_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_SAVEDVALUES_H

#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Partition/Split.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::commsched {

/// One function's part of a proposal.
struct Proposal {
  struct SaveableValue {
    /// No two values have one name.
    std::string name;
    /// Not negative; the sum over all values fits in an int64_t.
    int64_t bytes = 0;
  };

  std::string function;
  /// In program order.
  std::vector<SaveableValue> values;
  /// Indices of `values`, ascending.
  std::vector<int32_t> saved;

  /// Returns the bytes of the values of another proposal's `saved` on this
  /// rank. Both must have equally many values.
  int64_t getBytes(const std::vector<int32_t> &saved) const;
};

/// Writes the proposals in their order to the file of that path; `-` is
/// standard output. A failure is an error at `loc`.
LogicalResult writeProposals(Location loc, StringRef path,
                             ArrayRef<Proposal> proposals);

/// The values that `commsched.saved_values`, which the function has, names,
/// ascending. Emits an error for a name that no node has (JointFunction's
/// names), that of something that cannot be saved, and one that occurs twice.
FailureOr<std::vector<partition::NodeId>>
readSavedValues(const JointFunction &joint);

/// Emits the error that `conflict` is, with notes at the others.
InFlightDiagnostic emitConflict(const JointFunction &joint,
                                const partition::PartitionConflict &conflict);

/// Returns the value of `result`, or failure after emitConflict().
template <typename T>
FailureOr<T> unwrap(const JointFunction &joint,
                    partition::PartitionResult<T> result) {
  if (auto *conflict = std::get_if<partition::PartitionConflict>(&result)) {
    emitConflict(joint, *conflict);
    return failure();
  }
  return std::move(std::get<T>(result));
}

/// Writes `commsched.saved_values` on each of the joint functions of `module`
/// that holds collectives: of the proposals in the files (SavedValues.h; one a
/// rank, in the order of ranks), the one that takes least bytes on the rank
/// where it takes most, of equal ones the first. Functions without collectives
/// stay as they are, with a remark. Emits an error if a file cannot be read,
/// lacks a function that holds collectives or has one that is not in
/// `functions`, or if two files list different values.
LogicalResult agreeOnSavedValues(ModuleOp module,
                                 ArrayRef<func::FuncOp> functions,
                                 ArrayRef<std::string> paths);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_SAVEDVALUES_H
