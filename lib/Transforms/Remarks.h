//===- Remarks.h - Remarks of CommSched's passes ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All remarks have the category `commsched`, so that `--remarks-filter` selects
// them, and name the function, which distinguishes their records in a YAML
// file.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_REMARKS_H
#define COMMSCHED_LIB_TRANSFORMS_REMARKS_H

#include "CommSched/Analysis/OperationTexts.h"
#include "mlir/IR/Remarks.h"

namespace mlir::commsched {

/// Returns whether remarks are enabled: otherwise no text need be composed.
bool areRemarksEnabled(Operation *op);

/// Options of a remark with the given name about the function of that name.
remark::RemarkOpts makeRemark(StringRef name, StringRef function);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_REMARKS_H
