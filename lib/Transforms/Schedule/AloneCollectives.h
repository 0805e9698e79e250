//===- AloneCollectives.h - Why collectives are not merged ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a block whose collectives are merged in one of several ways: why those
// that are in no bucket are alone.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_ALONECOLLECTIVES_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_ALONECOLLECTIVES_H

#include "../Bucketing/BucketRemarks.h"
#include "BucketAlternatives.h"

namespace mlir::commsched {

/// The reason of each collective of `mergeable` that is in no bucket of
/// `chosen`: nobody may travel with it; a dependence joins it to the nearest
/// buckets with others that may; or the steps that were chosen leave it alone.
/// Those have none that were refused before.
///
/// Linear in the operations, and a search for each collective that is alone,
/// which costs what lies between it and the nearest buckets.
AloneReasons explainAlone(const BlockProblem &problem,
                          const MergeableSet &mergeable,
                          const BucketAlternative &chosen);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_ALONECOLLECTIVES_H
