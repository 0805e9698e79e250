//===- commsched-c/Passes.h - C interface of the passes -----------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registration of passes and pipelines for programs that use MLIR's C
// interface. Pass managers then take their textual names, with
// mlirOpPassManagerAddPipeline() or mlirParsePassPipeline().
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_C_PASSES_H
#define COMMSCHED_C_PASSES_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Registers every pass and pipeline of CommSched under its textual name. Later
/// calls do nothing. May be called in several threads at once.
MLIR_CAPI_EXPORTED void commschedRegisterAllPasses(void);

#ifdef __cplusplus
}
#endif

#endif // COMMSCHED_C_PASSES_H
