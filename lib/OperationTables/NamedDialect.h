//===- NamedDialect.h - Dialects that are known by name ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_OPERATIONTABLES_NAMEDDIALECT_H
#define COMMSCHED_LIB_OPERATIONTABLES_NAMEDDIALECT_H

#include "mlir/IR/Dialect.h"
#include "mlir/IR/Location.h"
#include <string>

namespace mlir::commsched {

/// A dialect whose namespace is given at run time. All of them share one
/// TypeID: a context tells dialects apart by their namespaces.
class NamedDialect : public Dialect {
public:
  NamedDialect(StringRef name, MLIRContext *context);

  Attribute parseAttribute(DialectAsmParser &parser, Type type) const override;
  std::optional<ParseOpHook>
  getParseOperationHook(StringRef opName) const override;

  /// Adds a table, which accepts operations that no table describes if it is
  /// lenient. One lenient table is enough, and so is none at all.
  void addLeniency(bool isLenient) {
    lenient |= isLenient;
    allowUnknownOperations(lenient);
  }

  /// A TypeID for one more operation, valid as long as the dialect.
  TypeID allocateOperationID() { return operationIDs.allocate(); }

private:
  TypeIDAllocator operationIDs;
  bool lenient = false;
};

/// What to do with a program, read from `location`, that is not in the generic
/// form of `dialect`.
std::string getFormRemedy(StringRef dialect, Location location);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_OPERATIONTABLES_NAMEDDIALECT_H
