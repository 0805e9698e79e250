//===- TextTable.h - Tables of text -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats times, bytes and shares in readable units, and prints tables of them
// for reports and measurements.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_TEXTTABLE_H
#define COMMSCHED_REPORT_TEXTTABLE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace mlir::commsched {

/// Nanoseconds in the unit that shows the digits that matter.
std::string formatTime(int64_t ns);

/// Bytes in a binary unit.
std::string formatBytes(int64_t bytes);

/// "12.5 %"; no share of nothing.
std::string formatShare(int64_t part, int64_t whole);

/// Rows of cells below one of titles, printed behind an empty line. Names stand
/// on the left of their columns, numbers on the right.
template <size_t numColumns> class TextTable {
public:
  using Row = std::array<std::string, numColumns>;

  /// The first `numNames` columns hold names.
  TextTable(size_t numNames, Row titles) : numNames(numNames) {
    add(std::move(titles));
  }

  void add(Row row) {
    for (size_t column = 0; column < numColumns; ++column)
      widths[column] = std::max(widths[column], row[column].size());
    rows.push_back(std::move(row));
  }

  /// Prints nothing if there are only titles.
  void print(raw_ostream &os) const {
    if (rows.size() == 1)
      return;
    os << "\n";
    for (const Row &row : rows) {
      for (size_t column = 0; column < numColumns; ++column)
        os << "  "
           << (column < numNames
                   ? llvm::left_justify(row[column], widths[column])
                   : llvm::right_justify(row[column], widths[column]));
      os << "\n";
    }
  }

private:
  size_t numNames;
  std::array<size_t, numColumns> widths = {};
  std::vector<Row> rows;
};

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_TEXTTABLE_H
