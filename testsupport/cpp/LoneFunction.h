//===- LoneFunction.h - A function by itself --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function in a module of its own. Benchmarks run passes and solvers on one
// function repeatedly, each time on a copy of the module.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_COMMON_LONEFUNCTION_H
#define COMMSCHED_BENCHMARKS_COMMON_LONEFUNCTION_H

#include "CommSched/Report/StepReport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::commsched {

/// The functions of `module` that can stand alone: with a body of one block
/// that calls no function with a body.
SmallVector<FunctionOpInterface> getBenchmarkedFunctions(ModuleOp module);

class LoneFunction {
public:
  /// Takes `function`, which has a body of one block, and everything beside it
  /// that is no function with a body.
  explicit LoneFunction(FunctionOpInterface function);

  LoneFunction clone();

  ModuleOp getModule() { return *module; }
  FunctionOpInterface getFunction();
  /// Its body.
  Block &getBlock();

  /// Its problem. Emits an error when a cost or size is not known.
  FailureOr<BlockProblem> createProblem(StreamOrder order);

  /// Returns the simulated cost of the function in its own order.
  FailureOr<StepReport> report();

  /// Runs passes on it, without the verifier, and measures the processor time
  /// in nanoseconds.
  LogicalResult runPasses(StringRef pipeline, int64_t &timeNs);

private:
  explicit LoneFunction(OwningOpRef<ModuleOp> module)
      : module(std::move(module)) {}

  OwningOpRef<ModuleOp> module;
};

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_COMMON_LONEFUNCTION_H
