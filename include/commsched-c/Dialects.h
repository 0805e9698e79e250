//===- commsched-c/Dialects.h - C interface of the dialects -------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialects and the operation tables for programs that use MLIR's C
// interface (mlir-c). The library is CommSchedCAPI.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_C_DIALECTS_H
#define COMMSCHED_C_DIALECTS_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The dialects `commsched` and `commsched_rt`.
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(CommSched, commsched);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(CommSchedRt, commsched_rt);

/// Adds the dialects `commsched` and `commsched_rt` to `registry`, and the
/// models through which operations of other dialects state their effects, costs
/// and aliases: those of MLIR's dialects, and of StableHLO, Shardy and torch
/// where the program links them. The passes need these models.
MLIR_CAPI_EXPORTED void
commschedRegisterAllDialects(MlirDialectRegistry registry);

/// Adds dialects by name for StableHLO, CHLO, MHLO, VHLO, Shardy and torch,
/// unless `registry` has them: a program registers the real dialects that it
/// links before. The generic form of their operations can then be read.
MLIR_CAPI_EXPORTED void
commschedRegisterDialectsByName(MlirDialectRegistry registry);

/// Reads the operation table `text` and gives the operations that it describes
/// their interfaces. With `byName`, its namespaces become dialects by name
/// unless `registry` has them. A mistake in the table is a failure: `onError`,
/// unless it is NULL, is called with `userData` and with a text that names
/// `fileName`, the operation and the field. The table may be released after
/// the call.
MLIR_CAPI_EXPORTED MlirLogicalResult commschedRegisterOperationTable(
    MlirDialectRegistry registry, MlirStringRef text, MlirStringRef fileName,
    bool byName, MlirStringCallback onError, void *userData);

/// Whether `type` is a `!commsched.future`.
MLIR_CAPI_EXPORTED bool commschedTypeIsAFuture(MlirType type);

/// Returns `!commsched.future<types>`: what a start returns and a wait takes.
/// A type that is no ranked tensor is reported at `location`, and the result is
/// null.
MLIR_CAPI_EXPORTED MlirType commschedFutureTypeGet(MlirLocation location,
                                                   intptr_t numTypes,
                                                   MlirType const *types);

/// The number of types that a future delivers; 0 for another type.
MLIR_CAPI_EXPORTED intptr_t commschedFutureTypeGetNumTypes(MlirType future);

/// One of the types that a future delivers; null if there is no such type, and
/// for what is no future.
MLIR_CAPI_EXPORTED MlirType commschedFutureTypeGetType(MlirType future,
                                                       intptr_t index);

/// Whether `type` is a `!commsched_rt.request`.
MLIR_CAPI_EXPORTED bool commschedTypeIsARequest(MlirType type);

/// Returns `!commsched_rt.request`.
MLIR_CAPI_EXPORTED MlirType commschedRequestTypeGet(MlirContext context);

#ifdef __cplusplus
}
#endif

#endif // COMMSCHED_C_DIALECTS_H
