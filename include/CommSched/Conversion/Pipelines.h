//===- Pipelines.h - Lowering pipelines to the runtime ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipelines `convert-commsched-to-runtime` and `commsched-to-llvm`, for
// textual pipelines and for C++.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_CONVERSION_PIPELINES_H
#define COMMSCHED_CONVERSION_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::commsched {

struct CommSchedToRuntimeOptions
    : PassPipelineOptions<CommSchedToRuntimeOptions> {
  PassOptions::Option<std::string> profile{
      *this, "profile",
      llvm::cl::desc("JSON file of measured collective times, for the "
                     "predicted times that the runtime is told"),
      llvm::cl::init("")};
};

/// Lowers tensors to calls of the runtime: requests on tensors, one-shot
/// bufferization of the whole module with identity layouts at function
/// boundaries, deallocation, and calls. The module may contain any dialect that
/// one-shot bufferization supports.
void buildCommSchedToRuntimePipeline(OpPassManager &manager,
                                     const CommSchedToRuntimeOptions &options);

/// The same, followed by a lowering to the LLVM dialect, for programs of the
/// dialects linalg, tensor, arith, math, scf, cf, memref and func. Public
/// functions get C interfaces (`_mlir_ciface_<name>`), and memory is allocated
/// by `_mlir_memref_to_llvm_alloc` and its counterparts, which the runtime
/// defines.
void buildCommSchedToLLVMPipeline(OpPassManager &manager,
                                  const CommSchedToRuntimeOptions &options);

/// Registers both pipelines.
void registerConversionPipelines();

} // namespace mlir::commsched

#endif // COMMSCHED_CONVERSION_PIPELINES_H
