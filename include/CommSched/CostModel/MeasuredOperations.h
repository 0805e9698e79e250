//===- MeasuredOperations.h - Measured times of operations ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of a measured profile, by name or by types, and their look-up.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_MEASUREDOPERATIONS_H
#define COMMSCHED_COSTMODEL_MEASUREDOPERATIONS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace mlir::commsched::cost {

class MeasuredOperations {
public:
  /// Reads a list of `{"operator": "aten.mm", "name": "mm_3", "function":
  /// "step", "time_ns": 8100}` and `{"operator": "aten.mm", "types":
  /// "(tensor<8x4xf32>) -> tensor<8x4xf32>", "time_ns": 8100}`. A row has
  /// either a name, with or without a function, or types. Further columns are
  /// ignored. Fails with one line of text that names the operation (counted
  /// from 0) and the column.
  static llvm::Expected<MeasuredOperations>
  parse(const llvm::json::Value &value);

  bool hasNames() const { return !byName.empty(); }
  bool hasTypes() const { return !byTypes.empty(); }

  /// Nanoseconds of the operation with this name: what was measured in this
  /// function, else what was measured in any.
  std::optional<int64_t> findByName(llvm::StringRef function,
                                    llvm::StringRef name,
                                    llvm::StringRef operatorName) const;

  /// Nanoseconds of an operator from and to values of these types.
  std::optional<int64_t> findByTypes(llvm::StringRef operatorName,
                                     llvm::StringRef types) const;

private:
  /// Function (empty: any), name and operator.
  using NameKey = std::tuple<std::string, std::string, std::string>;
  /// Operator and types.
  using TypeKey = std::pair<std::string, std::string>;

  std::map<NameKey, int64_t> byName;
  std::map<TypeKey, int64_t> byTypes;
};

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_MEASUREDOPERATIONS_H
