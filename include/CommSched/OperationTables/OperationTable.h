//===- OperationTable.h - Interfaces by operation name ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table describes operations of other dialects by their names: traits,
// effects, collectives, waits, costs, aliases. docs/guide/operation-tables.md
// describes the file format.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_OPERATIONTABLES_OPERATIONTABLE_H
#define COMMSCHED_OPERATIONTABLES_OPERATIONTABLE_H

#include "CommSched/Support/Result.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::commsched {

/// Traits that a table gives to an operation of a dialect by name. A linked
/// dialect has traits of its own, which a table does not change.
struct OperationTraits {
  bool isTerminator = false;
  bool isReturn = false;
  bool isElementwise = false;
  bool isIsolated = false;
  bool hasRecursiveEffects = false;
  /// The attribute with the value of a constant; empty for other operations.
  std::string constantAttr;
};

/// What an operation does besides computing its results.
enum class OperationEffect { None, Communication, Random, Unknown };

/// What a table says about one operation.
struct OperationEntry {
  /// The full name, such as "stablehlo.add".
  std::string name;
  OperationTraits traits;
  OperationEffect effect = OperationEffect::Unknown;
};

/// A table of operations.
class OperationTable {
public:
  /// Parses `text`, the content of `fileName`. The error names the file, the
  /// operation and the field.
  static Result<std::shared_ptr<const OperationTable>>
  parse(StringRef text, StringRef fileName);

  /// The namespaces that the table describes.
  ArrayRef<std::string> getDialects() const { return dialects; }
  ArrayRef<OperationEntry> getEntries() const { return entries; }

private:
  friend class TableReader;
  std::vector<std::string> dialects;
  std::vector<OperationEntry> entries;
};

/// Gives the operations of `table` their interfaces whenever a context loads
/// their dialect, linked or by name.
void registerOperationTable(DialectRegistry &registry,
                            std::shared_ptr<const OperationTable> table);

/// Registers the tables that CommSched contains: StableHLO with CHLO, Shardy
/// and the torch dialect.
void registerEmbeddedTables(DialectRegistry &registry);

/// Registers the dialects of the embedded tables by name, and mhlo and vhlo,
/// so that a program that links none of them reads their generic form. Real
/// dialects have to be registered before.
void registerEmbeddedDialects(DialectRegistry &registry);

} // namespace mlir::commsched

#endif // COMMSCHED_OPERATIONTABLES_OPERATIONTABLE_H
