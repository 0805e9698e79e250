//===- AttributeChecks.h - Checks of discardable attributes -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_DIALECT_ATTRIBUTECHECKS_H
#define COMMSCHED_LIB_DIALECT_ATTRIBUTECHECKS_H

#include "mlir/IR/Operation.h"

namespace mlir::commsched::detail {

/// Checks the number of `what`, which is "attribute 'a'" or "key 'k' of ...".
LogicalResult verifyInteger(Operation *op, const Twine &what, Attribute attr,
                            bool mayBeNegative);

/// Checks the keys of a `commsched.reorder_info`. It may be on any operation:
/// whether an operation is a collective depends on the external models that the
/// tool registers.
LogicalResult verifyReorderInfo(Operation *op, NamedAttribute attr);

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_DIALECT_ATTRIBUTECHECKS_H
