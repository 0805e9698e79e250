//===- TableRow.h - Rows of cost tables -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the members of JSON objects, such as the rows of a cost table. All
// errors name the object.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_COSTMODEL_TABLEROW_H
#define COMMSCHED_LIB_COSTMODEL_TABLEROW_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <limits>
#include <string>

namespace mlir::commsched::cost {

/// An object that is being read. Functions return false after an error, of
/// which the first is kept.
class JsonFields {
public:
  /// `where` begins errors, such as "row 3".
  JsonFields(const llvm::json::Object &object, const llvm::Twine &where)
      : object(object), where(where.str()) {}

  const llvm::json::Value *get(llvm::StringRef key) const {
    return object.get(key);
  }
  bool has(llvm::StringRef key) const { return get(key); }

  bool fail(const llvm::Twine &what);
  /// The error of the other functions, if there was one.
  llvm::Error takeError() const;

  /// Reads a column that there has to be, an integer from 0 to what `T` holds.
  template <typename T> bool readInteger(llvm::StringRef column, T &result) {
    int64_t number = 0;
    bool isRead = readInteger(column, std::numeric_limits<T>::max(), number);
    result = static_cast<T>(number);
    return isRead;
  }
  bool readString(llvm::StringRef column, std::string &result);

  /// Reads one of the columns `time_ns`, `time_us` and `time`, which is in
  /// nanoseconds, to the nearest nanosecond.
  bool readTime(int64_t &timeNs);

private:
  bool readInteger(llvm::StringRef column, int64_t maximum, int64_t &result);

  const llvm::json::Object &object;
  std::string where;
  std::string error;
};

/// Reads each object of a list with `read`, which returns false after an error;
/// `kind` is what errors call it, with its index.
llvm::Error readRows(const llvm::json::Array &list, llvm::StringRef kind,
                     llvm::function_ref<bool(JsonFields &)> read);
/// The same for the member `key` of a cost table, which has to be a list.
llvm::Error readRows(const llvm::json::Value &value, llvm::StringRef key,
                     llvm::StringRef kind,
                     llvm::function_ref<bool(JsonFields &)> read);

} // namespace mlir::commsched::cost

#endif // COMMSCHED_LIB_COSTMODEL_TABLEROW_H
