//===- TensorTypes.h - Types that stand for tensors -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_OPERATIONTABLES_TENSORTYPES_H
#define COMMSCHED_LIB_OPERATIONTABLES_TENSORTYPES_H

#include "CommSched/OperationTables/OperationTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/RWMutex.h"

namespace mlir::commsched::detail {

/// Reads the text of the types that tables name.
class TensorTypes : public TensorTypeDialectInterface {
public:
  explicit TensorTypes(Dialect *dialect)
      : TensorTypeDialectInterface(dialect) {}

  /// Adds the types of a table, which replace those of the same names.
  void add(ArrayRef<TensorTypeEntry> added);

  ShapedType getTensorType(Type type) const final;

private:
  ShapedType parse(Type type) const;

  SmallVector<TensorTypeEntry> entries;
  mutable llvm::sys::SmartRWMutex<true> mutex;
  mutable DenseMap<Type, ShapedType> known;
};

/// The text of `type` behind its namespace: `vtensor<[2],f32>`.
std::string getTypeText(Type type);

/// Parses the types that commas separate in `text`, or fails. Commas inside of
/// brackets separate nothing.
std::optional<SmallVector<Type>> parseTypes(StringRef text,
                                            MLIRContext *context);

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_OPERATIONTABLES_TENSORTYPES_H
