//===- SplitRulesOfTensorsTest.cpp - Tests of rules of tensors ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RuleTest.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

using RulesOfTosa = RuleTest;

TEST_F(RulesOfTosa, ByTypes) {
  expectRules(
      {{"tosa.add", "tensor<6x4xf32>, tensor<1x4xf32>", "tensor<6x4xf32>",
        "a b, _ b -> a b"},
       {"tosa.mul", "tensor<6x4xf32>, tensor<6x4xf32>, tensor<1xi8>",
        "tensor<6x4xf32>", "a b, a b, _ -> a b"},
       // The table has as many elements as the input, and no axis with it.
       {"tosa.table", "tensor<256xi8>, tensor<256xi8>", "tensor<256xi8>",
        "a, _ -> a"},
       {"tosa.cast", "tensor<6x?xf32>", "tensor<6x?xi32>", "a _ -> a _"},
       {"tosa.matmul",
        "tensor<2x6x4xf32>, tensor<2x4x8xf32>, tensor<1xf32>, tensor<1xf32>",
        "tensor<2x6x8xf32>", "a b d, a d c, _, _ -> a b c"},
       {"tosa.conv2d",
        "tensor<2x8x8x3xf32>, tensor<6x1x1x3xf32>, tensor<6xf32>, "
        "tensor<1xf32>, tensor<1xf32>",
        "tensor<2x8x8x6xf32>", "a _ _ _, b _ _ _, b, _, _ -> a _ _ b",
        "acc_type = f32, dilation = array<i64: 1, 1>, "
        "pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>"},
       {"tosa.max_pool2d", "tensor<2x8x8x6xf32>", "tensor<2x4x4x6xf32>",
        "a _ _ b -> a _ _ b",
        "kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, "
        "stride = array<i64: 2, 2>"},
       {"tosa.reduce_sum", "tensor<6x4xf32>", "tensor<6x1xf32>", "a b -> a _",
        "axis = 1 : i32"},
       {"tosa.reduce_max", "tensor<6x4xf32>", "tensor<6x1xf32>", "a _ -> a _",
        "axis = 1 : i32"},
       {"tosa.argmax", "tensor<6x4x2xf32>", "tensor<6x2xi32>", "a _ b -> a b",
        "axis = 1 : i32"},
       {"tosa.transpose", "tensor<4x6x2xf32>", "tensor<6x2x4xf32>",
        "c a b -> a b c", "perms = array<i32: 1, 2, 0>"},
       {"tosa.concat", "tensor<6x4xf32>, tensor<6x2xf32>", "tensor<6x6xf32>",
        "a _, a _ -> a _", "axis = 1 : i32"},
       {"tosa.gather", "tensor<2x9x4xf32>, tensor<2x6xi32>",
        "tensor<2x6x4xf32>", "a _ c, a b -> a b c"}});
}

TEST_F(RulesOfTosa, Rescale) {
  auto rule = [&](bool isPerChannel) {
    std::string size = isPerChannel ? "4" : "1";
    return getRule("%a: tensor<6x4xi8>, %z: tensor<1xi8>, %m: tensor<" + size +
                       "xi32>, %s: tensor<" + size + "xi8>",
                   "%0 = tosa.rescale %a, %m, %s, %z, %z {test = 0, "
                   "input_unsigned = false, output_unsigned = false, "
                   "rounding_mode = SINGLE_ROUND, scale32 = true, "
                   "per_channel = " +
                       std::string(isPerChannel ? "true" : "false") +
                       "} : (tensor<6x4xi8>, tensor<" + size +
                       "xi32>, tensor<" + size +
                       "xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<6x4xi8>");
  };
  EXPECT_EQ(rule(true), "a _, _, _, _, _ -> a _");
  EXPECT_EQ(rule(false), "a b, _, _, _, _ -> a b");
}

TEST_F(RulesOfTosa, Shapes) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>", R"(
    %m = tosa.const_shape {values = dense<[1, 3]> : tensor<2xindex>}
      : () -> !tosa.shape<2>
    %0 = tosa.tile %a, %m {test}
      : (tensor<6x4xf32>, !tosa.shape<2>) -> tensor<6x12xf32>)"),
            "a b,  -> a (3 b)");
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %z: tensor<1xf32>", R"(
    %p = tosa.const_shape {values = dense<[0, 0, 0, 1]> : tensor<4xindex>}
      : () -> !tosa.shape<4>
    %0 = tosa.pad %a, %p, %z {test} : (tensor<6x4xf32>, !tosa.shape<4>,
      tensor<1xf32>) -> tensor<6x5xf32>)"),
            "a _, , _ -> a _");
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>", R"(
    %s = tosa.const_shape {values = dense<[0, 1]> : tensor<2xindex>}
      : () -> !tosa.shape<2>
    %n = tosa.const_shape {values = dense<[6, 3]> : tensor<2xindex>}
      : () -> !tosa.shape<2>
    %0 = tosa.slice %a, %s, %n {test} : (tensor<6x4xf32>, !tosa.shape<2>,
      !tosa.shape<2>) -> tensor<6x3xf32>)"),
            "a _, ,  -> a _");
}

class RulesOfReshapes : public RuleTest {
protected:
  SplitRule getReshapeRule(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
    Type element = Float32Type::get(&context);
    OpBuilder builder(&context);
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
    Location loc = builder.getUnknownLoc();
    Value operand = tensor::EmptyOp::create(builder, loc, from, element);
    Value shape = tosa::ConstShapeOp::create(
        builder, loc, tosa::shapeType::get(&context, to.size()),
        builder.getIndexTensorAttr(to));
    auto reshape = tosa::ReshapeOp::create(
        builder, loc, RankedTensorType::get(to, element), operand, shape);
    return cast<SplitOpInterface>(reshape.getOperation()).getSplitRule();
  }
};

TEST_F(RulesOfTosa, Reshape) {
  auto rule = [&](StringRef from, StringRef to, StringRef rank,
                  StringRef values) {
    return getRule(("%a: " + from).str(),
                   ("%s = tosa.const_shape {values = dense<" + values +
                    "> : tensor<" + rank + "xindex>} : () -> !tosa.shape<" +
                    rank + ">\n%0 = tosa.reshape %a, %s {test} : (" + from +
                    ", !tosa.shape<" + rank + ">) -> " + to)
                       .str());
  };
  EXPECT_EQ(rule("tensor<8x6x4xf32>", "tensor<48x4xf32>", "2", "[48, 4]"),
            "a b c,  -> (a b) c");
  EXPECT_EQ(rule("tensor<8x6xf32>", "tensor<1x2x24xf32>", "3", "[1, 2, 24]"),
            "(a b) c,  -> _ a (b c)");
  // The outer halves correspond to each other, but not the thirds and fifths.
  EXPECT_EQ(rule("tensor<6x15x4xf32>", "tensor<10x9x4xf32>", "3", "[10, 9, 4]"),
            "(a 3) _ b,  -> (a 5) _ b");
}

/// The index along `axis` of element `element` of a tensor of `shape` in which
/// the axis has `place`.
static int64_t getAxisIndex(ArrayRef<int64_t> shape, int64_t element,
                            const SplitAxis &axis, const AxisPlace &place) {
  for (int64_t dim = shape.size() - 1; dim > place.dim; --dim)
    element /= shape[dim];
  int64_t inner = shape[place.dim] / place.outer / axis.size;
  return element % shape[place.dim] / inner % axis.size;
}

TEST_F(RulesOfReshapes, ReshapesKeepElementsAtTheirPlaceOfAnAxis) {
  uint64_t state = 1;
  auto draw = [&](uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state >> 33) % limit);
  };
  // Two shapes with the same factors.
  auto drawShape = [&](ArrayRef<int64_t> factors) {
    SmallVector<int64_t> shape = {1};
    for (int64_t factor : factors) {
      if (draw(2) == 0)
        shape.push_back(1);
      shape.back() *= factor;
    }
    return shape;
  };
  int64_t numAxes = 0;
  for (int test = 0; test < 300; ++test) {
    SmallVector<int64_t> factors;
    for (int64_t index = draw(5); index >= 0; --index)
      factors.push_back(2 + draw(3));
    SmallVector<int64_t> from = drawShape(factors);
    if (draw(2) == 0)
      std::swap(factors.front(), factors.back());
    SmallVector<int64_t> to = drawShape(factors);
    SplitRule rule = getReshapeRule(from, to);
    numAxes += rule.axes.size();
    for (const SplitAxis &axis : rule.axes)
      for (int64_t element = 0, end = ShapedType::getNumElements(from);
           element < end; ++element)
        ASSERT_EQ(getAxisIndex(from, element, axis, axis.operands[0]),
                  getAxisIndex(to, element, axis, axis.results[0]));
  }
  EXPECT_GT(numAxes, 300);
}

using RulesOfTensors = RuleTest;

TEST_F(RulesOfTensors, Slices) {
  EXPECT_EQ(getRule("%a: tensor<6x4x8xf32>", R"(
    %0 = tensor.extract_slice %a[0, 1, 0] [6, 1, 8] [1, 1, 1] {test}
      : tensor<6x4x8xf32> to tensor<6x8xf32>)"),
            "a _ b -> a b");
  EXPECT_EQ(getRule("%a: tensor<6x?xf32>, %i: index", R"(
    %0 = tensor.extract_slice %a[0, %i] [6, %i] [1, 1] {test}
      : tensor<6x?xf32> to tensor<6x?xf32>)"),
            "a _, ,  -> a _");
  EXPECT_EQ(getRule("%a: tensor<6x8xf32>", R"(
    %0 = tensor.extract_slice %a[0, 0] [6, 4] [1, 2] {test}
      : tensor<6x8xf32> to tensor<6x4xf32>)"),
            "a _ -> a _");
  EXPECT_EQ(getRule("%a: tensor<6x8xf32>, %b: tensor<6x4x8xf32>", R"(
    %0 = tensor.insert_slice %a into %b[0, 1, 0] [6, 1, 8] [1, 1, 1] {test}
      : tensor<6x8xf32> into tensor<6x4x8xf32>)"),
            "a b, a _ b -> a _ b");
}

TEST_F(RulesOfTensors, Reshapes) {
  EXPECT_EQ(getRule("%a: tensor<24x5xf32>", R"(
    %0 = tensor.expand_shape %a [[0, 1, 2], [3]] output_shape [2, 1, 12, 5]
      {test} : tensor<24x5xf32> into tensor<2x1x12x5xf32>)"),
            "(a b) c -> a _ b c");
  EXPECT_EQ(getRule("%a: tensor<2x12x?xf32>", R"(
    %0 = tensor.collapse_shape %a [[0, 1], [2]] {test}
      : tensor<2x12x?xf32> into tensor<24x?xf32>)"),
            "a b _ -> (a b) _");
}

TEST_F(RulesOfTensors, ByTypes) {
  expectRules(
      {{"tensor.concat", "tensor<6x4xf32>, tensor<6x2xf32>", "tensor<6x6xf32>",
        "a _, a _ -> a _", "dim = 1 : i64"},
       {"tensor.cast", "tensor<6x?xf32>", "tensor<?x4xf32>", "_ _ -> _ _"},
       {"tensor.gather", "tensor<9x4xf32>, tensor<6x2x1xi64>",
        "tensor<6x2x1x4xf32>", "_ _, a b _ -> a b _ _",
        "gather_dims = array<i64: 0>"},
       {"tensor.empty", "", "tensor<6x4xf32>", " -> a b"},
       {"tensor.splat", "f32", "tensor<6xf32>", " -> a"},
       {"arith.constant", "", "tensor<6xf32>", " -> a",
        "value = dense<1.0> : tensor<6xf32>"},
       {"arith.constant", "", "tensor<2xf32>", "none",
        "value = dense<[1.0, 2.0]> : tensor<2xf32>"},
       {"arith.addf", "tensor<6x?xf32>, tensor<6x?xf32>", "tensor<6x?xf32>",
        "a _, a _ -> a _"},
       {"arith.select", "i1, tensor<6x4xf32>, tensor<6x4xf32>",
        "tensor<6x4xf32>", ", a b, a b -> a b"},
       {"arith.extf", "tensor<6xf32>", "tensor<6xf64>", "a -> a"},
       {"math.exp", "tensor<6xf32>", "tensor<6xf32>", "a -> a"},
       {"math.exp", "f32", "f32", "none"}});
}

TEST_F(RulesOfTensors, WithBodies) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %z: f32", R"(
    %0 = tensor.pad %a low[0, 1] high[0, 1] {
      ^bb0(%i: index, %j: index):
        tensor.yield %z : f32
    } {test} : tensor<6x4xf32> to tensor<6x6xf32>)"),
            "a _ -> a _");
  EXPECT_EQ(getRule("", R"(
    %0 = tensor.generate {
      ^bb0(%i: index):
        tensor.yield %i : index
    } {test} : tensor<6xindex>)"),
            "none");
}

using RulesOfLinalg = RuleTest;

TEST_F(RulesOfLinalg, Product) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %b: tensor<4x2xf32>", R"(
    %zero = arith.constant 0.0 : f32
    %empty = tensor.empty() : tensor<6x2xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x2xf32>)
      -> tensor<6x2xf32>
    %0 = linalg.matmul {test} ins(%a, %b : tensor<6x4xf32>, tensor<4x2xf32>)
      outs(%init : tensor<6x2xf32>) -> tensor<6x2xf32>)"),
            "a c, c b, a b -> a b");
}

TEST_F(RulesOfLinalg, ProductThatAccumulates) {
  // Each partial sum would have the destination once more.
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %b: tensor<4x2xf32>, "
                    "%init: tensor<6x2xf32>",
                    R"(
    %0 = linalg.matmul {test} ins(%a, %b : tensor<6x4xf32>, tensor<4x2xf32>)
      outs(%init : tensor<6x2xf32>) -> tensor<6x2xf32>)"),
            "a _, _ b, a b -> a b");
}

TEST_F(RulesOfLinalg, BatchedProductOfDynamicSize) {
  EXPECT_EQ(getRule("%a: tensor<6x?x3xf32>, %b: tensor<6x3x2xf32>, "
                    "%init: tensor<6x?x2xf32>",
                    R"(
    %0 = linalg.batch_matmul {test}
      ins(%a, %b : tensor<6x?x3xf32>, tensor<6x3x2xf32>)
      outs(%init : tensor<6x?x2xf32>) -> tensor<6x?x2xf32>)"),
            "a _ _, a _ b, a _ b -> a _ b");
}

TEST_F(RulesOfLinalg, TransposeBroadcastCopyFill) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>, %i: tensor<4x6xf32>", R"(
    %0 = linalg.transpose ins(%a : tensor<6x4xf32>)
      outs(%i : tensor<4x6xf32>) permutation = [1, 0] {test})"),
            "b a, a b -> a b");
  EXPECT_EQ(getRule("%a: tensor<6xf32>, %i: tensor<4x6xf32>", R"(
    %0 = linalg.broadcast ins(%a : tensor<6xf32>)
      outs(%i : tensor<4x6xf32>) dimensions = [0] {test})"),
            "b, a b -> a b");
  EXPECT_EQ(getRule("%a: tensor<4x6xf32>, %i: tensor<4x6xf32>", R"(
    %0 = linalg.copy {test} ins(%a : tensor<4x6xf32>)
      outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>)"),
            "a b, a b -> a b");
  EXPECT_EQ(getRule("%a: f32, %i: tensor<4x6xf32>", R"(
    %0 = linalg.fill {test} ins(%a : f32)
      outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>)"),
            ", a b -> a b");
}

TEST_F(RulesOfLinalg, ReductionThatIsNoSum) {
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>", R"(
    %init = arith.constant dense<0.0> : tensor<6xf32>
    %0 = linalg.reduce ins(%a : tensor<6x4xf32>)
      outs(%init : tensor<6xf32>) dimensions = [1] {test}
      (%in: f32, %out: f32) {
        %max = arith.maximumf %in, %out : f32
        linalg.yield %max : f32
      })"),
            "a _, a -> a");
  EXPECT_EQ(getRule("%a: tensor<6x4xf32>", R"(
    %init = arith.constant dense<0.0> : tensor<6xf32>
    %0 = linalg.reduce ins(%a : tensor<6x4xf32>)
      outs(%init : tensor<6xf32>) dimensions = [1] {test}
      (%in: f32, %out: f32) {
        %sum = arith.addf %in, %out : f32
        linalg.yield %sum : f32
      })"),
            "a b, a -> a");
}

TEST_F(RulesOfLinalg, LoopWhoseIndexIsRead) {
  EXPECT_EQ(getRule("%a: tensor<6x4xi64>", R"(
    %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        outs(%a : tensor<6x4xi64>) attrs = {test} {
      ^bb0(%out: i64):
        %row = linalg.index 0 : index
        %cast = arith.index_cast %row : index to i64
        %sum = arith.addi %cast, %out : i64
        linalg.yield %sum : i64
      } -> tensor<6x4xi64>)"),
            "_ a -> _ a");
}

TEST_F(RulesOfLinalg, WindowsAndDiagonals) {
  EXPECT_EQ(getRule("%a: tensor<2x9x4xf32>, %k: tensor<3x4x6xf32>, "
                    "%i: tensor<2x7x6xf32>",
                    R"(
    %0 = linalg.conv_1d_nwc_wcf {test}
      ins(%a, %k : tensor<2x9x4xf32>, tensor<3x4x6xf32>)
      outs(%i : tensor<2x7x6xf32>) -> tensor<2x7x6xf32>)"),
            "a _ _, _ _ b, a _ b -> a _ b");
  EXPECT_EQ(getRule("%a: tensor<4x4x2xf32>, %i: tensor<4x2xf32>", R"(
    %0 = linalg.generic {indexing_maps = [
          affine_map<(d0, d1) -> (d0, d0, d1)>,
          affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x4x2xf32>) outs(%i : tensor<4x2xf32>)
        attrs = {test} {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<4x2xf32>)"),
            "_ _ a, _ a -> _ a");
}

TEST_F(RulesOfLinalg, BodyWithEffects) {
  EXPECT_EQ(getRule("%a: tensor<4xf32>, %f: f32", R"(
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]}
        outs(%a : tensor<4xf32>) attrs = {test} {
      ^bb0(%out: f32):
        commsched.compute "log"(%out) : (f32) -> ()
        linalg.yield %out : f32
      } -> tensor<4xf32>)"),
            "none");
}

TEST_F(RulesOfLinalg, Softmax) {
  EXPECT_EQ(getRule("%a: tensor<2x6x4xf32>, %i: tensor<2x6x4xf32>", R"(
    %0 = linalg.softmax {test} dimension(1) ins(%a : tensor<2x6x4xf32>)
      outs(%i : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>)"),
            "a _ b, a _ b -> a _ b");
}

} // namespace
