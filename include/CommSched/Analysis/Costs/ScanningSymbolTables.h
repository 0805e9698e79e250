//===- ScanningSymbolTables.h - Symbols without a table ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass that runs on functions cannot share a symbol table of the module
// between them, and to build one for each function takes functions times
// symbols. Process groups are few and mostly stand at the front of the module:
// this collection looks for them there, and remembers what it has found.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_SCANNINGSYMBOLTABLES_H
#define COMMSCHED_ANALYSIS_COSTS_SCANNINGSYMBOLTABLES_H

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::commsched {

/// Answers as its base does, by looking through the operations of the symbol
/// table until it meets the symbol. The module must not change meanwhile.
class ScanningSymbolTables : public SymbolTableCollection {
public:
  using SymbolTableCollection::lookupSymbolIn;

  Operation *lookupSymbolIn(Operation *symbolTableOp,
                            StringAttr symbol) override;
  Operation *lookupSymbolIn(Operation *symbolTableOp,
                            SymbolRefAttr name) override;

private:
  DenseMap<std::pair<Operation *, StringAttr>, Operation *> found;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_SCANNINGSYMBOLTABLES_H
