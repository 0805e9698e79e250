//===- ArgumentRoles.h - What arguments are for -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the attributes of a function say of one of its arguments.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_ARGUMENTROLES_H
#define COMMSCHED_LIB_ANALYSIS_ARGUMENTROLES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::commsched {

/// The function whose entry block `argument` belongs to, or null.
FunctionOpInterface getFunction(BlockArgument argument);

/// Whether the caller of the function lets `argument` be freed.
bool isFreeable(BlockArgument argument);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_ARGUMENTROLES_H
