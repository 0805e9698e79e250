//===- Result.h - A value or an error text ----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a function of this library returns when it may fail: the value, or a
// text that says why there is none. The library uses no exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SUPPORT_RESULT_H
#define COMMSCHED_SUPPORT_RESULT_H

#include <optional>
#include <string>
#include <utility>

namespace mlir::commsched {

/// An error text (lower-case start, no full stop), or nothing if all is well.
using OptionalError = std::optional<std::string>;

/// Marks the error case when a Result is made: `return Error{"..."};`.
struct Error {
  std::string message;
};

/// A T, or the reason why there is none. Read the value only if the Result
/// converts to true.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : held(std::move(value)) {}
  Result(Error error) : message(std::move(error.message)) {}

  explicit operator bool() const { return held.has_value(); }
  const std::string &error() const { return message; }

  T &operator*() { return *held; }
  const T &operator*() const { return *held; }
  T *operator->() { return &*held; }
  const T *operator->() const { return &*held; }

private:
  std::optional<T> held;
  std::string message;
};

} // namespace mlir::commsched

#endif // COMMSCHED_SUPPORT_RESULT_H
