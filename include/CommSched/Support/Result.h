//===- Result.h - Status and result of functions that may fail --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The return types of functions that may fail, in the libraries that use
// neither MLIR nor exceptions. Both convert to true on success and have an
// error text otherwise.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SUPPORT_RESULT_H
#define COMMSCHED_SUPPORT_RESULT_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace mlir::commsched {

/// An error text: lower-case start, no full stop. `return Error{"..."};` makes
/// a failed Status or Result.
struct Error {
  std::string message;
};

/// Success, or the reason for a failure.
class [[nodiscard]] Status {
public:
  Status(Error error) : message(std::move(error.message)) {}
  static Status success() { return Status(); }

  /// True on success.
  explicit operator bool() const { return !message; }
  /// The error text; empty on success.
  std::string error() const { return message.value_or(std::string()); }

private:
  Status() = default;

  std::optional<std::string> message;
};

/// A T, or the reason why there is none. The value may be read only if the
/// Result converts to true.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : held(std::move(value)) {}
  Result(Error error) : message(std::move(error.message)) {}
  /// The error of a failed status.
  Result(const Status &status) : message(status.error()) {
    assert(!status && "a successful status has no value");
  }

  /// True on success.
  explicit operator bool() const { return held.has_value(); }
  /// The error text; empty on success.
  const std::string &error() const { return message; }

  T &operator*() {
    assert(held && "a failed result has no value");
    return *held;
  }
  const T &operator*() const {
    assert(held && "a failed result has no value");
    return *held;
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }

private:
  std::optional<T> held;
  std::string message;
};

} // namespace mlir::commsched

#endif // COMMSCHED_SUPPORT_RESULT_H
