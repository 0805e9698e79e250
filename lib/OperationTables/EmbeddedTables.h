//===- EmbeddedTables.h - Tables that CommSched contains --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_OPERATIONTABLES_EMBEDDEDTABLES_H
#define COMMSCHED_LIB_OPERATIONTABLES_EMBEDDEDTABLES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::commsched::detail {

/// A file of data/operations.
struct EmbeddedTable {
  StringLiteral name;
  StringLiteral text;
};

/// All files of data/operations. CMake writes the definition.
ArrayRef<EmbeddedTable> getEmbeddedTables();

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_OPERATIONTABLES_EMBEDDEDTABLES_H
