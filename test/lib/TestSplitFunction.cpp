//===- TestSplitFunction.cpp - Pass that splits at marked operations ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits joint functions at `commsched.saved_values`, without a partitioner.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Partition/SavedValues.h"
#include "Joint/SavedValues.h"
#include "Joint/SplitFunction.h"
#include "TestPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::NodeId;
using partition::PartitionConflict;
using partition::PartitionResult;
using partition::Split;

namespace {

struct TestSplitFunction
    : PassWrapper<TestSplitFunction, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestSplitFunction)

  TestSplitFunction() = default;
  TestSplitFunction(const TestSplitFunction &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-split-function"; }
  StringRef getDescription() const final {
    return "Splits joint functions where commsched.saved_values says";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, CommSchedDialect>();
  }
  void runOnOperation() override;

  Option<bool> isTrial{*this, "trial",
                       llvm::cl::desc("Erase the halves, not the function"),
                       llvm::cl::init(false)};

private:
  LogicalResult splitJoint(func::FuncOp function, const SymbolUserMap &users);
};

} // namespace

LogicalResult TestSplitFunction::splitJoint(func::FuncOp function,
                                            const SymbolUserMap &users) {
  RandomStates randomStates(function);
  FailureOr<JointFunction> joint =
      JointFunction::create(function, [](Operation *) { return int64_t(0); });
  if (failed(joint))
    return failure();
  FailureOr<std::vector<NodeId>> saved = readSavedValues(*joint);
  if (failed(saved))
    return failure();
  PartitionResult<Split> halves =
      splitAtStorages(joint->getGraph(), *saved, /*allowCollectives=*/false);
  if (auto *conflict = std::get_if<PartitionConflict>(&halves))
    return emitConflict(*joint, *conflict);
  OwnedHalves pair = splitFunction(*joint, std::get<Split>(halves),
                                   getPartitionNames(function));
  if (isTrial)
    return success();
  randomStates.keep();
  replaceJoint(function, users.getUsers(function), pair.release());
  return success();
}

void TestSplitFunction::runOnOperation() {
  SymbolTableCollection symbolTables;
  SymbolTable &symbols = symbolTables.getSymbolTable(getOperation());
  SymbolUserMap users(symbolTables, getOperation());
  auto functions = llvm::filter_to_vector(getOperation().getOps<func::FuncOp>(),
                                          isJointFunction);
  for (func::FuncOp function : functions)
    if (failed(checkPartitionSymbols(function, getPartitionNames(function),
                                     symbols, users)))
      return signalPassFailure();
  for (func::FuncOp function : functions)
    if (failed(splitJoint(function, users)))
      return signalPassFailure();
}

void mlir::commsched_test::registerSplitTestPasses() {
  PassRegistration<TestSplitFunction>();
}
