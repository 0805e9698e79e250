//===- AbsorbedCasts.h - Casts that a copy-in makes ----------- -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes the casts in front of collectives that a copy into a bucket makes
// superfluous, since it converts as well.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_ABSORBEDCASTS_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_ABSORBEDCASTS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"

namespace mlir::commsched {

/// The cast that makes what `start` sends, if a copy-in that stands directly
/// before `last`, which is `start` or comes after it in the same block, can
/// take the cast's operand instead; otherwise null. Linear in the uses of that
/// operand and what it is a view of.
Operation *getAbsorbedCast(CollectiveOpInterface start, Operation *last);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_ABSORBEDCASTS_H
