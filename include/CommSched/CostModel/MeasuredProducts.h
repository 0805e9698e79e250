//===- MeasuredProducts.h - Measured times of products ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of matrices of a measured profile, and their look-up.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_COSTMODEL_MEASUREDPRODUCTS_H
#define COMMSCHED_COSTMODEL_MEASUREDPRODUCTS_H

#include "CommSched/CostModel/ProductWaves.h"
#include "CommSched/CostModel/Target.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

namespace mlir::commsched::cost {

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

private:
  /// Type, n, k and batch.
  using Key = std::tuple<ElementKind, int64_t, int64_t, int64_t>;

  /// The times in nanoseconds by m.
  std::map<Key, std::map<int64_t, int64_t>> times;
};

} // namespace mlir::commsched::cost

#endif // COMMSCHED_COSTMODEL_MEASUREDPRODUCTS_H
