//===- IsotonicRegression.h - closest non-decreasing sequence ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a noisy curve non-decreasing. Schedulers that merge and split
// collectives would otherwise exploit the dips of a measured table.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_ISOTONICREGRESSION_H
#define COMMSCHED_COSTMODEL_ISOTONICREGRESSION_H

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace mlir::commsched::cost {

/// The non-decreasing sequence with the least sum of squared distances to
/// `values` (pool adjacent violators). Linear in the number of values.
std::vector<double> isotonicRegression(llvm::ArrayRef<double> values);

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_ISOTONICREGRESSION_H
