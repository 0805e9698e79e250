//===- TableRow.h - Rows of cost tables -------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the columns of one row of a cost table. All errors name the row.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_COSTMODEL_TABLEROW_H
#define COMMSCHED_LIB_COSTMODEL_TABLEROW_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>

namespace mlir::commsched::cost {

class TableRow {
public:
  /// `kind` is what a row is called, such as "row"; `index` counts from 0.
  TableRow(const llvm::json::Object &object, llvm::StringRef kind, size_t index)
      : object(object), kind(kind), index(index) {}

  bool has(llvm::StringRef column) const { return object.get(column); }

  llvm::Error fail(const llvm::Twine &what) const;

  /// Fails unless the column is an integer from 0 to `maximum`.
  llvm::Error readInteger(llvm::StringRef column, int64_t maximum,
                          int64_t &result) const;
  llvm::Error readString(llvm::StringRef column, std::string &result) const;

  /// Reads one of the columns `time_ns`, `time_us` and `time`, which is in
  /// nanoseconds, to the nearest nanosecond.
  llvm::Error readTime(int64_t &timeNs) const;

private:
  const llvm::json::Object &object;
  llvm::StringRef kind;
  size_t index;
};

} // namespace mlir::commsched::cost

#endif // COMMSCHED_LIB_COSTMODEL_TABLEROW_H
