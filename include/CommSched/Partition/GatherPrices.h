//===- GatherPrices.h - What gathering a parameter again costs ---* -*- C++
//-*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The price of doing a parameter's gather again in the backward: not what the
// gather takes, but what of that the backward's computation cannot hide.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_GATHERPRICES_H
#define COMMSCHED_PARTITION_GATHERPRICES_H

#include "CommSched/Partition/Classification.h"

namespace mlir::commsched::partition {

/// Replaces the cost of every start that gathers a parameter by its price.
/// Costs are nanoseconds.
///
/// The backward's operations run in program order; all gathers are done again,
/// in the order in which the backward first uses what they deliver, on one
/// stream that they share with the backward's own collectives, whenever that
/// has nothing else to do. The price is how long the first use waits. A gather
/// that only operations use which are computed again is not hidden at all.
/// Linear, but for sorting the gathers.
void priceGathers(JointGraph &graph, const Classification &classes);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_GATHERPRICES_H
