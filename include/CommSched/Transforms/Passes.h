//===- Passes.h - CommSched's passes ----------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_H
#define COMMSCHED_TRANSFORMS_PASSES_H

#include "CommSched/Partition/RecomputePolicies.h"
#include "CommSched/Partition/SavedValues.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::commsched {

/// What `commsched-report` prints.
enum class ReportFormat { Table, Json, Trace };

/// How `commsched-partition-joint` chooses what the forward saves.
enum class PartitionStrategy { Default, MinCut };

/// In what it counts the price of computing an operation again.
enum class RuntimeEstimator { Flops, Model, Testing };

/// Which collectives `commsched-schedule` merges.
enum class ScheduleBuckets { Auto, Off };

#define GEN_PASS_DECL
#include "CommSched/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "CommSched/Transforms/Passes.h.inc"

} // namespace mlir::commsched

#endif // COMMSCHED_TRANSFORMS_PASSES_H
