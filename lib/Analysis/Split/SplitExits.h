//===- SplitExits.h - How chunks become whole -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_SPLIT_SPLITEXITS_H
#define COMMSCHED_LIB_ANALYSIS_SPLIT_SPLITEXITS_H

#include "CommSched/Analysis/Split/SplitRegion.h"

namespace mlir::commsched {

/// Finds the exits that need no copy, and adds the values that they are views
/// of. `region` has its members and its other exits. Linear in the region and
/// in what reads its values, but for chains of views.
void findUncopiedExits(SplitRegion &region);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_SPLIT_SPLITEXITS_H
