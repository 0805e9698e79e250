//===- ScanningSymbolTables.cpp - Symbols without a table -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/ScanningSymbolTables.h"

using namespace mlir;
using namespace mlir::commsched;

Operation *ScanningSymbolTables::lookupSymbolIn(Operation *symbolTableOp,
                                                StringAttr symbol) {
  auto [it, inserted] = found.try_emplace({symbolTableOp, symbol});
  if (inserted)
    it->second = SymbolTable::lookupSymbolIn(symbolTableOp, symbol);
  return it->second;
}

Operation *ScanningSymbolTables::lookupSymbolIn(Operation *symbolTableOp,
                                                SymbolRefAttr name) {
  if (auto flat = dyn_cast<FlatSymbolRefAttr>(name))
    return lookupSymbolIn(symbolTableOp, flat.getAttr());
  return SymbolTableCollection::lookupSymbolIn(symbolTableOp, name);
}
