//===- RankTimes.h - Runtimes that one rank estimates -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The costs that one rank estimates for the operations of its program, as a
// JSON file that the other ranks read:
//
//   {"step": {"operations": ["commsched.all_gather 'ag'", "aten.mm"],
//             "runtime_ns": [52000, 31000]}}
//
// The file has two parallel lists, since a parsed JSON object takes kilobytes
// and a program may have a million operations.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_RANKTIMES_H
#define COMMSCHED_REPORT_RANKTIMES_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched {

/// The operations of a function and their times in nanoseconds: lists of equal
/// length, in program order.
struct FunctionTimes {
  /// The text of each operation, for readers and to detect a different program.
  std::vector<std::string> operations;
  /// Not negative; none (`null` in the file) where it is not known.
  std::vector<std::optional<int64_t>> timesNs;
};

/// By the functions' names.
using RankTimes = std::map<std::string, FunctionTimes>;

/// `text` as it comes back from a file: bytes that are no UTF-8 are replaced.
std::string toFileText(StringRef text);

/// Prints one JSON object on one line. All texts must be UTF-8.
void printRankTimes(const RankTimes &times, raw_ostream &os);

/// Reads what printRankTimes() printed. Fails, with a text that names the
/// function and the position (counted from 0), when the file cannot be read, is
/// not JSON of that form, or has a time that is no integer, negative, or beyond
/// 64 bits.
llvm::Expected<RankTimes> readRankTimes(StringRef path);

/// The operations of a function that the file of a rank's times lists: those
/// that commsched-estimate-runtime annotates with a time, in program order.
struct TimedFunction {
  explicit TimedFunction(FunctionOpInterface function);

  StringRef name;
  Location loc;
  /// All but terminators, each before those of its regions. Whether one is free
  /// is not asked, for a pin may sit on any of them.
  SmallVector<Operation *> operations;
};

/// The functions that `module` defines, in its order.
SmallVector<TimedFunction> getTimedFunctions(Operation *module);

/// Lists the operations with the times that `getTimeNs` knows.
FunctionTimes
makeFunctionTimes(const TimedFunction &timed,
                  function_ref<std::optional<int64_t>(Operation *)> getTimeNs);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_RANKTIMES_H
