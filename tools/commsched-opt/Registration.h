//===- Registration.h - What commsched-opt knows ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_OPT_REGISTRATION_H
#define COMMSCHED_TOOLS_COMMSCHED_OPT_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::commsched {

/// Adds the dialects and models that `commsched-opt` has to `registry`, and
/// registers its passes and pipelines.
void registerForOpt(DialectRegistry &registry);

/// Registers the tables in `files`, and dialects by name for those of their
/// namespaces that `registry` does not have. Writes why it fails to `errors`.
LogicalResult registerTables(DialectRegistry &registry,
                             ArrayRef<std::string> files, raw_ostream &errors);

} // namespace mlir::commsched

#endif // COMMSCHED_TOOLS_COMMSCHED_OPT_REGISTRATION_H
