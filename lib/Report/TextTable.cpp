//===- TextTable.cpp - Tables of text -------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/TextTable.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;

std::string mlir::commsched::formatTime(int64_t ns) {
  std::string text;
  llvm::raw_string_ostream os(text);
  double magnitude = std::abs(static_cast<double>(ns));
  if (magnitude < 1e3)
    os << ns << " ns";
  else if (magnitude < 1e6)
    os << llvm::format("%.3f us", ns / 1e3);
  else
    os << llvm::format("%.3f ms", ns / 1e6);
  return text;
}

std::string mlir::commsched::formatBytes(int64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (unit == 0)
    os << bytes << " B";
  else
    os << llvm::format("%.2f %s", value, units[unit]);
  return text;
}

std::string mlir::commsched::formatShare(int64_t part, int64_t whole) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.1f %%", whole ? 100.0 * part / whole : 0.0);
  return text;
}
