//===- UnshardedParams.h - Parameters that need no storage ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FSDP grows the storage of an unsharded parameter, copies the gathered tensor
// into it, computes with it and frees it again. A read of the parameter may be
// replaced by the gathered tensor if the storage has no other use. This
// analysis checks that. The pattern is that of PyTorch Inductor's
// remove_fsdp2_unsharded_param_graph_input_usage (torch 2.13,
// _inductor/comms.py), with more checks.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_FSDP_UNSHARDEDPARAMS_H
#define COMMSCHED_ANALYSIS_FSDP_UNSHARDEDPARAMS_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <string>

namespace mlir::commsched {

/// Why the storage of a parameter is needed.
enum class ParamObstacle {
  None,
  /// The storage that is resized or filled is no argument of the function.
  NoArgument,
  /// It is resized or filled in a nested region or in a later block.
  OtherBlock,
  /// It is resized or filled through a view.
  ResizedView,
  /// It is filled, but never resized: the caller sees the contents.
  NeverResized,
  /// It is not as often freed as grown.
  UnequalResizes,
  /// It is grown when it is there, or freed when it is not.
  ResizeOrder,
  /// A memref is read, not a tensor of it.
  MemrefRead,
  /// There is a view of the memref.
  Viewed,
  /// An operation may keep a tensor or memref of it, or pass it on.
  PassedOn,
  /// A tensor of it is copied into a parameter.
  CopiedOn,
  /// A tensor of a parameter is copied into it.
  CopiedFrom,
  /// A tensor of it is used after its contents have gone.
  UsedLater,
  /// A tensor that is read has another type than the one that was copied.
  OtherType,
  /// The tensor that was copied is written before the last use of the copy.
  SourceWritten,
};

/// A memref that `resize_storage` or `fsdp_copy` works on.
struct UnshardedParam {
  Value storage;
  /// The name of the argument; empty for other values.
  std::string name;
  ParamObstacle obstacle = ParamObstacle::None;
  /// The operation to which the obstacle refers.
  Operation *op = nullptr;
  /// The conflicting operation, for UsedLater (the end of the contents) and
  /// SourceWritten (the copy); else null.
  Operation *other = nullptr;
  int64_t numGrown = 0;
  int64_t numFreed = 0;
  int64_t numCopies = 0;
  /// Tensors that are read of it.
  int64_t numReads = 0;
};

class UnshardedParams {
public:
  /// Looks at the arguments of `function`. An argument is taken to be no other
  /// argument's memory, and out of reach of code that it is not passed to.
  ///
  /// Fails, after an error for each such parameter, if one that is grown and
  /// freed in turns is also written by other operations, filled while it has no
  /// storage, or read before it is filled. O(n log n) in the operations.
  static FailureOr<UnshardedParams> create(FunctionOpInterface function);

  /// The storages in the order of their first resize or copy.
  ArrayRef<UnshardedParam> getParams() const { return params; }

  bool hasRemovable() const { return !removable.empty(); }

  /// Whether nothing uses `storage` any more once every read is replaced by
  /// what it yields, and its resizes and copies are gone.
  bool isRemovable(Value storage) const { return removable.contains(storage); }

  /// Returns the replacement of `read`, of a removable storage: a tensor that
  /// dominates it and keeps its contents up to the last use. Null if `read` is
  /// unused.
  Value getContents(bufferization::ToTensorOp read) const {
    return contents.lookup(read.getOperation());
  }

private:
  friend class UnshardedParamsBuilder;

  SmallVector<UnshardedParam> params;
  DenseSet<Value> removable;
  DenseMap<Operation *, Value> contents;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_FSDP_UNSHARDEDPARAMS_H
