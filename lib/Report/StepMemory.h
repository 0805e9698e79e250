//===- StepMemory.h - The memory of a simulated step ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills in the part of a report that is about memory, for a step that is one
// function and for one that is two.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_STEPMEMORY_H
#define COMMSCHED_LIB_REPORT_STEPMEMORY_H

#include "CommSched/Report/StepReport.h"
#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/Simulator.h"

namespace mlir::commsched {

/// Fills in the peak, what is live there, and the live bytes over time, of a
/// problem whose program is simulated to `timeline` and `memory`.
void addMemory(StepReport &report, const schedule::Problem &problem,
               const schedule::Timeline &timeline,
               const schedule::MemoryTimeline &memory,
               function_ref<std::string(schedule::BufferId)> getName);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_REPORT_STEPMEMORY_H
