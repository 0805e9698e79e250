//===- FieldReader.h - Reads what tables say of operations ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_OPERATIONTABLES_FIELDREADER_H
#define COMMSCHED_LIB_OPERATIONTABLES_FIELDREADER_H

#include "JsonReader.h"

#include "CommSched/OperationTables/OperationTable.h"

namespace mlir::commsched::detail {

/// Reads the fields of one operation. Functions return false after an error.
class FieldReader : public JsonReader {
public:
  using JsonReader::JsonReader;

  bool readTraits(const Value &value, OperationTraits &traits);
  bool readWhere(const Value &value, OperationEntry &entry);
  bool readEffects(const Value &value, EffectEntry &effects);
  bool readCollective(const Value &value, CollectiveEntry &collective);
  bool readReductionKind(const Value &value, ReductionKind &kind);
  bool readAlias(const Value &value, OperationEntry &entry);
  bool readCost(const Value &value, CostEntry &cost);
  bool readClass(const Value &value, OperatorClass &result);
  bool readSplit(const Value &value, OperationEntry &entry);
  bool readRegions(const Value &value, RegionEntry &regions);

private:
  bool readOperandList(const Value &value, std::vector<int64_t> &operands);
  bool readSource(const Value &value, ValueSource &source);
  bool readSelection(const Value &value, OperandSelection &selection);
  bool readKind(const Value &value, CollectiveEntry &collective);
  bool readReduction(const Value &value, CollectiveEntry &collective);
  bool checkCollective(const CollectiveEntry &collective);
  bool readFlops(const Value &value, CostEntry &cost);
};

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_OPERATIONTABLES_FIELDREADER_H
