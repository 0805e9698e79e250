//===- OperationTimes.h - Measured times for other ranks --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file with a rank's measured times of the program's operations, which
// commsched-align-runtimes reads.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_OPERATIONTIMES_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_OPERATIONTIMES_H

#include "Measurements.h"
#include "Program.h"

namespace mlir::commsched::run {

/// Writes the median times of collectives and emulated operators; none for
/// operations that were not measured. The file appears when it is complete.
llvm::Error writeOperationTimes(StringRef path, const Program &program,
                                ArrayRef<Run> runs);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_OPERATIONTIMES_H
