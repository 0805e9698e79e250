//===- TextTable.cpp - Tables of text -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Report/TextTable.h"
#include "llvm/Support/Format.h"

#include "llvm/Support/ScopedPrinter.h"
#include <cmath>

using namespace mlir;

std::string mlir::commsched::formatTime(int64_t ns) {
  double magnitude = std::abs(static_cast<double>(ns));
  if (magnitude < 1e3)
    return std::to_string(ns) + " ns";
  if (magnitude < 1e6)
    return llvm::to_string(llvm::format("%.3f us", ns / 1e3));
  return llvm::to_string(llvm::format("%.3f ms", ns / 1e6));
}

std::string mlir::commsched::formatBytes(int64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  if (unit == 0)
    return std::to_string(bytes) + " B";
  return llvm::to_string(llvm::format("%.2f %s", value, units[unit]));
}

std::string mlir::commsched::formatShare(int64_t part, int64_t whole) {
  return llvm::to_string(
      llvm::format("%.1f %%", whole ? 100.0 * part / whole : 0.0));
}
