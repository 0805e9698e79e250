//===- OperationTexts.h - Names of operations in texts ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and locations of operations in remarks, reports and the runtime's
// program descriptions. All use these functions, so that a name in one can be
// found in the others.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_OPERATIONTEXTS_H
#define COMMSCHED_ANALYSIS_OPERATIONTEXTS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"

#include <string>

namespace mlir::commsched {

/// `name` with every byte replaced that is not UTF-8: MLIR allows any bytes in
/// a string, the formats of the report do not.
std::string makePrintable(StringRef name);

/// The operation's kind (of a `commsched.compute` the operator), and its
/// `commsched.name` if any.
std::string describe(Operation *op);

/// `commsched.name`, or else the kind and the index among the collectives of
/// the block, such as "all_gather_0". UTF-8.
std::string getCollectiveName(CollectiveOpInterface collective,
                              unsigned indexInBlock);

/// The argument's `commsched.name`, or else `%arg` and its number.
std::string getArgumentName(BlockArgument argument);

/// "step.mlir:7:8", or MLIR's text for other locations. UTF-8.
std::string getLocationText(Location loc);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_OPERATIONTEXTS_H
