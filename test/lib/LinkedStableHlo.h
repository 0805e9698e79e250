//===- LinkedStableHlo.h - StableHLO as a linked dialect --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TEST_LIB_LINKEDSTABLEHLO_H
#define COMMSCHED_TEST_LIB_LINKEDSTABLEHLO_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::linked_stablehlo {

/// Registers the dialect `stablehlo` of LinkedStableHlo.td.
void registerDialect(DialectRegistry &registry);

} // namespace mlir::linked_stablehlo

#endif // COMMSCHED_TEST_LIB_LINKEDSTABLEHLO_H
