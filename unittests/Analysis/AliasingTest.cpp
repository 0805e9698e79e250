//===- AliasingTest.cpp - Tests of views and aliases ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/Aliasing.h"

#include "CostsTest.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

using Aliasing = CostsTest;

TEST_F(Aliasing, ViewsAndWhatTakesNoTime) {
  // The properties of the first operation of a function. Numbers beside a view
  // take no time, either.
  const std::pair<StringRef, StringRef> cases[] = {
      {"aliases views free", R"(%t: tensor<4x2xf32>) {
         %0 = tensor.collapse_shape %t [[0, 1]]
             : tensor<4x2xf32> into tensor<8xf32>)"},
      {"aliases ", R"(%t: tensor<8xf32>, %x: f32) {
         %0 = linalg.fill ins(%x : f32) outs(%t : tensor<8xf32>)
             -> tensor<8xf32>)"},
      {"free", R"(%m: memref<8xf32>) {
         %b, %o, %n, %s = memref.extract_strided_metadata %m
             : memref<8xf32> -> memref<f32>, index, index, index)"},
      {"", R"(%t: tensor<8xf32>) {
         %0 = arith.addf %t, %t : tensor<8xf32>)"}};
  for (auto [properties, body] : cases) {
    parseFunction("g size(4)", (body + "\n").str());
    auto function = *module->getOps<func::FuncOp>().begin();
    Operation *op = &function.front().front();
    EXPECT_EQ(std::string(allResultsAlias(op) ? "aliases " : "") +
                  (makesOnlyViews(op) ? "views " : "") +
                  (isFreeView(op) ? "free" : ""),
              properties)
        << body.str();
  }
}

} // namespace
