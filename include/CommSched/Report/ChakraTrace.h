//===- ChakraTrace.h - Execution traces of schedules ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the scheduled order of functions as Chakra execution traces, one for
// each rank, for simulators of clusters. docs/guide/chakra.md describes how an
// order is encoded.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_CHAKRATRACE_H
#define COMMSCHED_REPORT_CHAKRATRACE_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace mlir::commsched {

class ChakraRanks;

/// Writes the traces of the functions of one module.
class ChakraWriter {
public:
  /// Whether this build has the library that encodes traces.
  static bool isAvailable();

  /// Reads the groups of `module`. Emits an error if they have too many ranks.
  static FailureOr<ChakraWriter> create(ModuleOp module);

  ChakraWriter(ChakraWriter &&other);
  ~ChakraWriter();

  /// Writes the file of that name, which has no directory, with what the
  /// function prints.
  using FileWriter =
      function_ref<LogicalResult(StringRef, function_ref<void(raw_ostream &)>)>;

  /// Writes NAME.RANK.et for each rank and NAME.groups.json; NAME is that of
  /// the function, whose body `block` describes with all times and sizes, which
  /// is simulated with `contention`. Emits an error for what a trace cannot
  /// contain. Returns the number of ranks that
  /// do not run the function, because it sends to them or receives from them.
  /// O(ranks * (operations + dependences)).
  FailureOr<int64_t> write(func::FuncOp function, const BlockProblem &block,
                           const schedule::Contention &contention,
                           FileWriter writeFile);

private:
  explicit ChakraWriter(std::unique_ptr<ChakraRanks> ranks);

  std::unique_ptr<ChakraRanks> ranks;
};

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_CHAKRATRACE_H
