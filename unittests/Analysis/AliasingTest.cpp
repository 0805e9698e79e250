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

/// The properties that the first operation of a function with these arguments
/// and this body has.
std::string listProperties(StringRef arguments, StringRef body) {
  DialectRegistry registry;
  registry.insert<CommSchedDialect, arith::ArithDialect, func::FuncDialect,
                  linalg::LinalgDialect, memref::MemRefDialect,
                  tensor::TensorDialect>();
  registerExternalModels(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      ("func.func @f(" + arguments + ") {\n" + body + "\nreturn\n}").str(),
      &context);
  if (!module)
    return "invalid test";
  Operation *op = &(*module->getOps<func::FuncOp>().begin()).front().front();
  return std::string(allResultsAlias(op) ? "aliases " : "") +
         (makesOnlyViews(op) ? "views " : "") + (isFreeView(op) ? "free" : "");
}

TEST(Aliasing, AViewIsAllThree) {
  EXPECT_EQ(listProperties("%t: tensor<4x2xf32>",
                           "%0 = tensor.collapse_shape %t [[0, 1]] : "
                           "tensor<4x2xf32> into tensor<8xf32>"),
            "aliases views free");
}

TEST(Aliasing, AnInPlaceWriteIsNoView) {
  EXPECT_EQ(listProperties("%t: tensor<8xf32>, %x: f32",
                           "%0 = linalg.fill ins(%x : f32) outs(%t : "
                           "tensor<8xf32>) -> tensor<8xf32>"),
            "aliases ");
}

TEST(Aliasing, NumbersBesideAViewTakeNoTime) {
  EXPECT_EQ(
      listProperties("%m: memref<8xf32>",
                     "%b, %o, %n, %s = memref.extract_strided_metadata %m "
                     ": memref<8xf32> -> memref<f32>, index, index, index"),
      "free");
}

TEST(Aliasing, AComputationIsNone) {
  EXPECT_EQ(listProperties("%t: tensor<8xf32>",
                           "%0 = arith.addf %t, %t : tensor<8xf32>"),
            "");
}

} // namespace
