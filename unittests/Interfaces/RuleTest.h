//===- RuleTest.h - Tests of operations' rules ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the rules of operations from text, and checks that the chunks of all
// their axes are valid operations.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_INTERFACES_RULETEST_H
#define COMMSCHED_UNITTESTS_INTERFACES_RULETEST_H

#include "../Testing.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/ExternalModels/Register.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

namespace mlir::commsched {

using testing::need;

inline std::string printValues(const SplitRule &rule, TypeRange types,
                               SmallVector<AxisPlace, 3> SplitAxis::*places) {
  SmallVector<std::string> values;
  for (auto [value, type] : llvm::enumerate(types)) {
    SmallVector<std::string> dims;
    auto tensor = dyn_cast<RankedTensorType>(type);
    for (int64_t dim = 0; tensor && dim < tensor.getRank(); ++dim) {
      // By the product of the sizes outside of the axis.
      std::multimap<int64_t, unsigned> axes;
      for (auto [index, axis] : llvm::enumerate(rule.axes))
        for (const AxisPlace &place : axis.*places)
          if (place.value == value && place.dim == dim)
            axes.emplace(place.outer, index);
      SmallVector<std::string> parts;
      int64_t inside = 1;
      for (auto [outer, index] : axes) {
        if (outer != inside)
          parts.push_back(std::to_string(outer / inside));
        parts.push_back(std::string(1, static_cast<char>('a' + index)));
        inside = outer * rule.axes[index].size;
      }
      if (parts.empty())
        parts.push_back("_");
      else if (inside != tensor.getDimSize(dim))
        parts.push_back(std::to_string(tensor.getDimSize(dim) / inside));
      std::string text = llvm::join(parts, " ");
      dims.push_back(parts.size() == 1 ? text : "(" + text + ")");
    }
    values.push_back(llvm::join(dims, " "));
  }
  return llvm::join(values, ", ");
}

/// The text of `rule` with the axes named a, b, ..., in their order.
inline std::string printSplitRule(const SplitRule &rule, TypeRange operands,
                                  TypeRange results) {
  return printValues(rule, operands, &SplitAxis::operands) + " -> " +
         printValues(rule, results, &SplitAxis::results);
}

class RuleTest : public ::testing::Test {
protected:
  RuleTest() {
    DialectRegistry registry;
    registry.insert<CommSchedDialect, arith::ArithDialect, func::FuncDialect,
                    linalg::LinalgDialect, math::MathDialect,
                    tensor::TensorDialect, tosa::TosaDialect>();
    registerExternalModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The operation of `text` with the attribute `test`, in a function with the
  /// given arguments. The group @g has 4 ranks.
  Operation *parse(StringRef arguments, StringRef text) {
    std::string source = ("commsched.group @g size(4)\nfunc.func @f(" +
                          arguments + ") {\n" + text + "\nreturn\n}")
                             .str();
    module = parseSourceString<ModuleOp>(source, &context);
    if (!module)
      return nullptr;
    Operation *found = nullptr;
    module->walk([&](Operation *op) {
      if (op->hasAttr("test"))
        found = op;
    });
    return found;
  }

  /// The text of the rule of the operation; "none" if it has none. Fails the
  /// test if a chunk of one of its axes is not valid.
  std::string getRule(StringRef arguments, StringRef text) {
    Operation *op = parse(arguments, text);
    if (!op)
      return "invalid test";
    auto split = dyn_cast<SplitOpInterface>(op);
    if (!split)
      return "none";
    SplitRule rule = split.getSplitRule();
    for (const SplitAxis &axis : rule.axes)
      for (int64_t count = 2; count <= axis.size; ++count)
        if (axis.size % count == 0)
          createChunk(split, axis, count);
    EXPECT_TRUE(succeeded(verify(*module))) << text.str();
    return printSplitRule(rule, op->getOperandTypes(), getSplitResultTypes(op));
  }

  /// An operation in generic form, by its name and types, and its rule.
  struct RuleCase {
    const char *name, *operands, *results, *rule, *attributes = "";
  };
  void expectRules(ArrayRef<RuleCase> cases) {
    for (const RuleCase &row : cases) {
      SmallVector<StringRef> types;
      StringRef(row.operands).split(types, ", ", -1, /*KeepEmpty=*/false);
      std::string names, arguments;
      for (auto [index, type] : llvm::enumerate(types)) {
        std::string name = (index ? ", %a" : "%a") + std::to_string(index);
        names += name;
        arguments += name + ": " + type.str();
      }
      std::string text = std::string("%0 = \"") + row.name + "\"(" + names +
                         ") {test" + (*row.attributes ? ", " : "") +
                         row.attributes + "} : (" + row.operands + ") -> " +
                         row.results;
      EXPECT_EQ(getRule(arguments, text), row.rule) << text;
    }
  }

  /// A chunk of `op`, of operands that come from nowhere.
  Operation *createChunk(SplitOpInterface op, const SplitAxis &axis,
                         int64_t count) {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    SmallVector<Value> operands(op->getOperands());
    for (const AxisPlace &place : axis.operands) {
      Value &operand = operands[place.value];
      Type type = getChunkType(operand.getType(), place.dim, count);
      operand = UnrealizedConversionCastOp::create(builder, op->getLoc(),
                                                   TypeRange(type), {})
                    .getResult(0);
    }
    SmallVector<Type> results = getChunkResultTypes(op, axis, count);
    Operation *chunk = op.createChunk(builder, operands, results, axis, count);
    EXPECT_EQ(getSplitResultTypes(chunk), results);
    EXPECT_TRUE(chunk->hasAttr("test"));
    if (auto collective = dyn_cast<CollectiveOpInterface>(chunk))
      WaitOp::create(builder, op->getLoc(), collective.getInFlightFuture());
    return chunk;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace mlir::commsched

#endif // COMMSCHED_UNITTESTS_INTERFACES_RULETEST_H
