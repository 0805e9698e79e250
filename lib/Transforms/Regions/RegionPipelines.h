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

class RegionPipelines {
public:
  /// Runs a pipeline on an operation; several threads may call it.
  using Runner = function_ref<LogicalResult(OpPassManager &, Operation *)>;

  /// Reads the pipelines of `regions`: passes on a `func.func`, as a list or
  /// wrapped in `func.func(…)`. Emits an error at the operation that names one
  /// if it is no such list, or if it needs a dialect that is not loaded: none
  /// can be while passes run.
  static FailureOr<RegionPipelines> parse(ArrayRef<MarkedRegion> regions);

  /// Runs on each function the pipeline of its region, on several functions at
  /// once if the context has threads. All run, also if one fails; an error is
  /// emitted for each that does. Diagnostics come in the order of `outlined`.
  LogicalResult run(ArrayRef<OutlinedRegion> outlined, Runner run);

private:
  /// One for each text.
  SmallVector<OpPassManager> pipelines;
  SmallVector<StringRef> texts;
  /// By region.
  SmallVector<size_t> indexOf;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_REGIONS_REGIONPIPELINES_H
