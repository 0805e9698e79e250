//===- Timeline.h - Measured steps as a Chrome trace ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One step as the model predicts it and as each rank measured it, on the same
// tracks: a process for the prediction and for each rank, in each the compute
// stream and the groups.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_TIMELINE_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_TIMELINE_H

#include "Measurements.h"
#include "Program.h"

namespace mlir::commsched::run {

/// `ranks` holds the records of one run on each rank.
void printTimeline(const Program &program,
                   ArrayRef<std::vector<commsched_record>> ranks,
                   raw_ostream &os);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_TIMELINE_H
