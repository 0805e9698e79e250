//===- Pipelines.h - Pass pipelines -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences of CommSched's passes under one name each, for the command line and
// for compilers that build their pass manager in C++.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PIPELINES_H
#define COMMSCHED_TRANSFORMS_PIPELINES_H

#include "CommSched/Transforms/PassOptionEnums.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::commsched {

/// The options of each pipeline: InductorPipelineOptions and so on.
#define GEN_PASS_DECL
#include "CommSched/Transforms/Pipelines.h.inc"

/// The passes of PyTorch Inductor; see Pipelines.td. Without `passes`, those
/// that PyTorch recommends.
void buildInductorPipeline(OpPassManager &manager,
                           const InductorPipelineOptions &options);

/// The best that CommSched has; see Pipelines.td.
void buildPipeline(OpPassManager &manager, const PipelineOptions &options);

/// Registers every pipeline under its name.
void registerPipelines();

} // namespace mlir::commsched

#endif // COMMSCHED_TRANSFORMS_PIPELINES_H
