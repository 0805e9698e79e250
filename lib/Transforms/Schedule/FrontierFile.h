//===- FrontierFile.h - Step time against memory ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The points between which step time can be traded for memory, and the file
// that they are written to: an array of JSON, or CSV.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_FRONTIERFILE_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_FRONTIERFILE_H

#include "CommSched/Report/Frontier.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"

#include <vector>

namespace mlir::commsched {

/// Leaves those points between which there is a choice: with every further one
/// memory goes up and the step gets shorter. Of equal ones the one with the
/// smallest budget stays. O(n log n).
void keepFrontier(std::vector<FrontierPoint> &points);

/// Writes the points to the file of that path, as JSON if it ends in `.json`
/// and else as CSV; `-` is standard output. Errors as writeOutputFile().
LogicalResult writeFrontiers(Location loc, StringRef path,
                             ArrayRef<FunctionFrontier> frontiers);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_FRONTIERFILE_H
