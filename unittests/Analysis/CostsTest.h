//===- CostsTest.h - Tests of the costs of operations -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_ANALYSIS_COSTSTEST_H
#define COMMSCHED_UNITTESTS_ANALYSIS_COSTSTEST_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/ExternalModels/Register.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

namespace mlir::commsched {

/// Prices the operations of a function that is read from text.
class CostsTest : public ::testing::Test {
protected:
  CostsTest() {
    DialectRegistry registry;
    registry.insert<CommSchedDialect, arith::ArithDialect, func::FuncDialect,
                    linalg::LinalgDialect, memref::MemRefDialect,
                    tensor::TensorDialect>();
    registerExternalModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Parses `body`, from the arguments on, as that of a function behind the
  /// group @`group`, given with its properties.
  void parseFunction(StringRef group, StringRef body) {
    module =
        parseSourceString<ModuleOp>(("commsched.group @" + group +
                                     "\nfunc.func @step(" + body + "return\n}")
                                        .str(),
                                    &context);
    ASSERT_TRUE(module);
  }

  OperationCosts makeCosts(const cost::MeasuredTable *profile = nullptr) {
    return OperationCosts(*cost::getTargetPreset("h100"), profile,
                          symbolTables);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SymbolTableCollection symbolTables;
};

} // namespace mlir::commsched

#endif // COMMSCHED_UNITTESTS_ANALYSIS_COSTSTEST_H
