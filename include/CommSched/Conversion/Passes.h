//===- Passes.h - CommSched's conversions -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that convert between `commsched` and other dialects: creation and
// registration. What they do is described in Passes.td.
//
// The pipelines `convert-commsched-to-runtime` and `commsched-to-llvm`, for
// textual pipelines and for C++.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_CONVERSION_PASSES_H
#define COMMSCHED_CONVERSION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::commsched {

#define GEN_PASS_DECL
#include "CommSched/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "CommSched/Conversion/Passes.h.inc"

/// Lowers tensors to calls of the runtime: requests on tensors, one-shot
/// bufferization of the whole module with identity layouts at function
/// boundaries, deallocation, and calls. The module may contain any dialect that
/// one-shot bufferization supports.
void buildCommSchedToRuntimePipeline(OpPassManager &manager);

/// The same, followed by a lowering to the LLVM dialect, for programs of the
/// dialects linalg, tensor, arith, math, scf, cf, memref and func. Public
/// functions get C interfaces (`_mlir_ciface_<name>`), and memory is allocated
/// by `_mlir_memref_to_llvm_alloc` and its counterparts, which the runtime
/// defines.
void buildCommSchedToLLVMPipeline(OpPassManager &manager);

/// Registers both pipelines.
void registerConversionPipelines();

} // namespace mlir::commsched

#endif // COMMSCHED_CONVERSION_PASSES_H
