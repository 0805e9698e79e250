//===- RowCopies.h - Tensors as parts for the ranks -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime moves contiguous parts, one for each rank; a collective may cut
// or join its tensors along any dimension. These are the copies between the
// two, as `commsched_rt.copy` describes them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTORUNTIME_ROWCOPIES_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTORUNTIME_ROWCOPIES_H

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/IR/Builders.h"

namespace mlir::commsched {

/// One side of a copy; bytes.
struct RowLayout {
  int64_t offset = 0;
  int64_t rowStride = 0;
  int64_t repeatStride = 0;
};

struct RowCopy {
  RowLayout source, target;
  int64_t repeat = 1;
  int64_t rows = 1;
  /// Elements, which are bytes unless types are given.
  int64_t rowElements = 0;
  Type sourceType = nullptr;
  Type targetType = nullptr;
};

/// True if the parts of a tensor of `shape` along `dim` are not contiguous:
/// some dimension before `dim` is larger than 1.
bool needsPacking(ArrayRef<int64_t> shape, int64_t dim);

/// The copies from a tensor of `shape` that is cut along `dim` into parts of
/// the given sizes to the parts one after the other. `elementBytes` is the size
/// of an element.
SmallVector<RowCopy> getPackingCopies(ArrayRef<int64_t> shape, int64_t dim,
                                      ArrayRef<int64_t> partSizes,
                                      int64_t elementBytes);

/// The copies in the other direction.
SmallVector<RowCopy> getUnpackingCopies(ArrayRef<int64_t> shape, int64_t dim,
                                        ArrayRef<int64_t> partSizes,
                                        int64_t elementBytes);

/// Appends operations that do `copies`, one after the other. `overwrites` says
/// that together they fill the target. `offset`, if there is one, is added to
/// the offset of the target. Returns the filled tensor.
Value createCopies(OpBuilder &builder, Location loc, Value source, Value target,
                   ArrayRef<RowCopy> copies, bool overwrites,
                   Value offset = nullptr);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTORUNTIME_ROWCOPIES_H
