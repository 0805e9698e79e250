//===- MeasuredOperations.h - Measured operations ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of a measured profile, by name or by types, and their look-up.
//
// The products of matrices of a measured profile, and their look-up.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_MEASUREDOPERATIONS_H
#define COMMSCHED_COSTMODEL_MEASUREDOPERATIONS_H

#include "CommSched/CostModel/ProductWaves.h"
#include "CommSched/CostModel/Target.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <functional>
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
  /// either a name, with or without the function or graph that it was measured
  /// in, or types; of a collective that did not run on NCCL it has the column
  /// "implementation", too. Further columns are ignored. Fails with one line of
  /// text that names the operation (counted from 0) and the column.
  static llvm::Expected<MeasuredOperations>
  parse(const llvm::json::Value &value);

  /// Nanoseconds by the implementation that ran; of what is no collective by
  /// Implementations::defaultName.
  using Times = std::map<std::string, int64_t, std::less<>>;

  bool hasNames() const { return !byName.empty(); }
  bool hasTypes() const { return !byTypes.empty(); }

  /// The times of the operation with this name in this graph, or null. Rows
  /// without a graph, which hold in any, are those of "".
  const Times *findByName(llvm::StringRef graph, llvm::StringRef name,
                          llvm::StringRef operatorName) const;

  /// The times of an operator from and to values of these types, or null.
  const Times *findByTypes(llvm::StringRef operatorName,
                           llvm::StringRef types) const;

  /// An operation that was measured by name, such as "'aten.mm' 'mm_3' of
  /// 'step'".
  std::string describeFirstName() const;

private:
  /// Graph (empty: any), name and operator.
  using NameKey = std::tuple<std::string, std::string, std::string>;
  /// Operator and types.
  using TypeKey = std::pair<std::string, std::string>;

  std::map<NameKey, Times> byName;
  std::map<TypeKey, Times> byTypes;
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

class MeasuredProducts {
public:
  /// Reads a list of `{"m": 8192, "n": 1792, "k": 4096, "batch": 1, "type":
  /// "bf16", "time_ns": 171000}`. `batch` is 1 if it is absent, the time may be
  /// given as `time_us`, and further columns are ignored. Fails with one line
  /// of text that names the product (counted from 0) and the column: a missing
  /// or wrong column, an unknown type, a size or a time below 1, and a product
  /// that contradicts another one.
  static llvm::Expected<MeasuredProducts> parse(const llvm::json::Value &value);

  bool empty() const { return times.empty(); }

  /// Nanoseconds of a product of exactly this shape and type, or interpolated
  /// linearly between two products that differ from it in `m` only. None for
  /// any other product.
  std::optional<int64_t> findNs(const ProductShape &shape,
                                ElementKind kind) const;

  /// Nanoseconds per multiplication of two elements of that type that no
  /// findNs() is below, but for rounding; none without products of the type.
  std::optional<double> getLeastNsPerMultiplication(ElementKind kind) const;

private:
  /// Type, n, k and batch.
  using Key = std::tuple<ElementKind, int64_t, int64_t, int64_t>;

  /// The times in nanoseconds by m.
  std::map<Key, std::map<int64_t, int64_t>> times;
  /// By type.
  std::map<ElementKind, double> leastNsPerMultiplication;
};

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_MEASUREDOPERATIONS_H
