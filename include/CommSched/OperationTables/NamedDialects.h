//===- NamedDialects.h - Dialects that are known by name --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dialect by name stands for a dialect whose implementation is not linked,
// such as StableHLO. It reads the generic form of operations and prints it
// again: operations keep properties and attributes, and types and attributes
// of the dialect are OpaqueType and OpaqueAttr. The operations that a table
// names (OperationTable.h) are registered with traits and interfaces.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_OPERATIONTABLES_NAMEDDIALECTS_H
#define COMMSCHED_OPERATIONTABLES_NAMEDDIALECTS_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir {
class Dialect;
class DialectRegistry;
} // namespace mlir

namespace mlir::commsched {

/// Adds a dialect by name to `registry` for each of `namespaces`, unless the
/// registry has a dialect of that name: a program registers the real dialects
/// that it links first. A context loads the dialect when a module uses it.
void registerNamedDialects(DialectRegistry &registry,
                           ArrayRef<StringRef> namespaces);

/// Whether `dialect` is known by name only.
bool isNamedDialect(const Dialect *dialect);

/// The command that makes of the file `name`, which holds StableHLO or HLO in a
/// form that only the linked dialects read, a file in the generic form.
std::string getConversionCommand(StringRef name);

} // namespace mlir::commsched

#endif // COMMSCHED_OPERATIONTABLES_NAMEDDIALECTS_H
