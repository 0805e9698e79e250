//===- AliasingTest.cpp - Tests of views and aliases ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/Aliasing.h"

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

using namespace mlir;
using namespace mlir::commsched;

namespace {

class Aliasing : public ::testing::Test {
protected:
  Aliasing() {
    DialectRegistry registry;
    registry.insert<CommSchedDialect, arith::ArithDialect, func::FuncDialect,
                    linalg::LinalgDialect, memref::MemRefDialect,
                    tensor::TensorDialect>();
    registerExternalModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The first operation of the function whose arguments and body these are.
  Operation *parse(StringRef arguments, StringRef body) {
    module =
        parseSourceString<ModuleOp>("func.func @f(" + arguments.str() +
                                        ") {\n" + body.str() + "\nreturn\n}",
                                    &context);
    if (!module)
      return nullptr;
    return &(*module->getOps<func::FuncOp>().begin()).front().front();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Aliasing, AViewIsAllThree) {
  Operation *op =
      parse("%t: tensor<4x2xf32>", "%0 = tensor.collapse_shape %t [[0, 1]] : "
                                   "tensor<4x2xf32> into tensor<8xf32>");
  ASSERT_TRUE(op);
  EXPECT_TRUE(allResultsAlias(op));
  EXPECT_TRUE(makesOnlyViews(op));
  EXPECT_TRUE(isFreeView(op));
}

TEST_F(Aliasing, AnInPlaceWriteIsNoView) {
  Operation *op = parse("%t: tensor<8xf32>, %x: f32",
                        "%0 = linalg.fill ins(%x : f32) outs(%t : "
                        "tensor<8xf32>) -> tensor<8xf32>");
  ASSERT_TRUE(op);
  EXPECT_TRUE(allResultsAlias(op));
  EXPECT_FALSE(makesOnlyViews(op));
  EXPECT_FALSE(isFreeView(op));
}

TEST_F(Aliasing, NumbersBesideAViewTakeNoTime) {
  Operation *op = parse("%m: memref<8xf32>",
                        "%b, %o, %n, %s = memref.extract_strided_metadata %m "
                        ": memref<8xf32> -> memref<f32>, index, index, index");
  ASSERT_TRUE(op);
  EXPECT_FALSE(allResultsAlias(op));
  EXPECT_FALSE(makesOnlyViews(op));
  EXPECT_TRUE(isFreeView(op));
}

TEST_F(Aliasing, AComputationIsNone) {
  Operation *op =
      parse("%t: tensor<8xf32>", "%0 = arith.addf %t, %t : tensor<8xf32>");
  ASSERT_TRUE(op);
  EXPECT_FALSE(allResultsAlias(op));
  EXPECT_FALSE(makesOnlyViews(op));
  EXPECT_FALSE(isFreeView(op));
}

} // namespace
