//===- RegionPipelines.h - The pipelines of marked regions ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses the pipelines that marks name, and runs one on each function that a
// region has become.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_REGIONS_REGIONPIPELINES_H
#define COMMSCHED_LIB_TRANSFORMS_REGIONS_REGIONPIPELINES_H

#include "OutlineRegions.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::commsched {

/// The pipelines of `regions`, one for each: passes on a `func.func`, as a list
/// or wrapped in `func.func(…)`. Emits an error at the operation that names a
/// pipeline if it is no such list, or if it needs a dialect that is not loaded:
/// none can be while passes run.
FailureOr<SmallVector<OpPassManager>>
parsePipelines(ArrayRef<MarkedRegion> regions);

/// Runs the pipeline of its region, of `pipelines`, on each function, several
/// functions at once if the context has threads. `run` runs one on an operation
/// and may be called by several threads. All run, also if one fails; an error
/// is emitted for each that does. Diagnostics come in the order of `outlined`.
LogicalResult
runPipelines(ArrayRef<OutlinedRegion> outlined, ArrayRef<MarkedRegion> regions,
             ArrayRef<OpPassManager> pipelines,
             function_ref<LogicalResult(OpPassManager &, Operation *)> run);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_REGIONS_REGIONPIPELINES_H
