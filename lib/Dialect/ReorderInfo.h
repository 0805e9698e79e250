//===- ReorderInfo.h - What a pass did to a collective ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verification of the attribute `commsched.reorder_info`, and what it shares
// with that of other attributes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_DIALECT_REORDERINFO_H
#define COMMSCHED_LIB_DIALECT_REORDERINFO_H

#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// Checks the number of `what`, which is "attribute 'a'" or "key 'k' of …".
LogicalResult verifyInteger(Operation *op, const Twine &what, Attribute attr,
                            bool mayBeNegative);

/// Checks the keys. On which operations they are is not looked at: whether one
/// is a collective depends on the external models that the tool registers.
LogicalResult verifyReorderInfo(Operation *op, NamedAttribute attr);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_DIALECT_REORDERINFO_H
