//===- Remarks.h - Remarks of CommSched's passes ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All remarks have the category `commsched`, so that `--remarks-filter` picks
// them out, and name the function, which is what tells their records apart in a
// YAML file.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_REMARKS_H
#define COMMSCHED_LIB_TRANSFORMS_REMARKS_H

#include "CommSched/Analysis/OperationTexts.h"
#include "mlir/IR/Remarks.h"

namespace mlir::commsched {

/// Whether anybody listens: texts need not be composed otherwise.
bool areRemarksEnabled(Operation *op);

/// Options of a remark with the given name about the function of that name.
remark::RemarkOpts makeRemark(StringRef name, StringRef function);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_REMARKS_H
