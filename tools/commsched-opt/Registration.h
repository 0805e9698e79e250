//===- Registration.h - What commsched-opt knows ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_OPT_REGISTRATION_H
#define COMMSCHED_TOOLS_COMMSCHED_OPT_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::commsched {

/// Adds the dialects and models that `commsched-opt` has to `registry`, and
/// registers its passes and pipelines.
void registerForOpt(DialectRegistry &registry);

} // namespace mlir::commsched

#endif // COMMSCHED_TOOLS_COMMSCHED_OPT_REGISTRATION_H
