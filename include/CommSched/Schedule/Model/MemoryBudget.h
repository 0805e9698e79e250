//===- MemoryBudget.h - Budgets of memory as text ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one grammar of memory in options, for passes, the C interface and Python.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_MODEL_MEMORYBUDGET_H
#define COMMSCHED_SCHEDULE_MODEL_MEMORYBUDGET_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mlir::commsched {

/// The live bytes that a budget is a fraction of.
enum class MemoryModel {
  /// All live bytes.
  Exact,
  /// The bytes that PyTorch Inductor counts: without arguments that stay live,
  /// and without unused arguments.
  Reference,
};

struct MemoryBudget {
  /// Live bytes, if the budget is absolute.
  std::optional<int64_t> bytes;
  /// Else what may come on top of the baseline, as a fraction of it.
  double fraction = 0;
  MemoryModel model = MemoryModel::Exact;

  /// The bytes that it allows a program whose peak is `peakBytes`, of which the
  /// fraction is one of `countedBytes`: rounded down, and the largest int64_t
  /// if it is more than fits.
  int64_t getLimitBytes(int64_t peakBytes, int64_t countedBytes) const;
  int64_t getLimitBytes(int64_t peakBytes) const {
    return getLimitBytes(peakBytes, peakBytes);
  }
};

/// Parses a number of bytes, such as "68719476736", "4.5GiB" or "640MB". The
/// units are B, the powers of 1000 KB, MB, GB and TB, and the powers of 1024
/// KiB, MiB, GiB and TiB; before a unit there may be up to six decimals, and
/// parts of a byte are left out. Returns a problem as the predicate of an error
/// message, such as "must not be negative, but is '-5'".
std::optional<std::string> parseByteCount(std::string_view text,
                                          int64_t &bytes);

/// Parses a number of bytes, as parseByteCount() does, or a percentage over the
/// baseline, such as "5%". Returns a problem likewise.
std::optional<std::string> parseMemoryBudget(std::string_view text,
                                             MemoryBudget &budget);

} // namespace mlir::commsched

#endif // COMMSCHED_SCHEDULE_MODEL_MEMORYBUDGET_H
