//===- TestJointFunction.cpp - Passes that test joint graphs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows what the analyses behind the partitioner say of operations and
// functions.
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "TestPasses.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::partition;

/// By OperatorClass.
static constexpr StringLiteral classNames[] = {
    "pointwise", "reduction", "data_movement",     "concatenation", "view",
    "constant",  "random",    "compute_intensive", "collective",    "other"};
/// By JointNodeKind.
static constexpr StringLiteral kindNames[] = {
    "primal", "tangent", "backward_seed", "operation", "result"};

namespace {

struct TestOperatorClasses
    : PassWrapper<TestOperatorClasses, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestOperatorClasses)

  StringRef getArgument() const final { return "test-operator-classes"; }
  StringRef getDescription() const final {
    return "Writes the class of each operation into 'test.class', and whether "
           "it is recomputable, and fusible with a pointwise operation, into "
           "'test.recomputable' and 'test.fusible'";
  }
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      OperatorClass kind = mlir::commsched::getOperatorClass(op);
      MLIRContext *context = op->getContext();
      op->setAttr("test.class",
                  StringAttr::get(context, classNames[static_cast<int>(kind)]));
      if (isRecomputable(kind))
        op->setAttr("test.recomputable", UnitAttr::get(context));
      if (areFusible(kind, OperatorClass::Pointwise))
        op->setAttr("test.fusible", UnitAttr::get(context));
    });
  }
};

struct TestJointFunction
    : PassWrapper<TestJointFunction, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestJointFunction)

  StringRef getArgument() const final { return "test-joint-function"; }
  StringRef getDescription() const final {
    return "Prints the joint graphs of functions; the cost of an operation is "
           "the number of its operands";
  }
  void runOnOperation() override;
};

} // namespace

static void printNode(const JointFunction &function, NodeId id) {
  const JointGraph &graph = function.getGraph();
  const JointNode &node = graph[id];
  llvm::raw_ostream &os = llvm::outs();
  os << "  " << id << " '" << function.getName(id) << "' "
     << kindNames[static_cast<int>(node.kind)];
  if (!graph.isArgument(id))
    os << " " << classNames[static_cast<int>(node.operatorClass)];
  llvm::interleaveComma(graph.getOperands(id), os << "(");
  os << ") bytes " << node.bytes << " cost " << node.cost << " storage "
     << node.storage;
  if (node.policy != RecomputePolicy::None)
    os << " policy " << static_cast<int>(node.policy);
  if (node.tag != PartitionTag::None)
    os << " tag " << static_cast<int>(node.tag);
  if (node.region >= 0)
    os << " region " << node.region;
  for (auto [flag, text] : {std::pair(node.isSaveable, " saveable"),
                            std::pair(node.isStatic, " static"),
                            std::pair(node.isFreeable, " freeable"),
                            std::pair(node.isPinned, " pinned"),
                            std::pair(node.readsDimensions, " dimensions")})
    if (flag)
      os << text;
  os << "\n";
}

void TestJointFunction::runOnOperation() {
  markAllAnalysesPreserved();
  func::FuncOp op = getOperation();
  llvm::raw_ostream &os = llvm::outs();
  if (!isJointFunction(op)) {
    os << "@" << op.getSymName() << " is not a joint function\n";
    return;
  }
  FailureOr<JointFunction> function = JointFunction::create(
      op, [](Operation *op) { return op->getNumOperands(); });
  if (failed(function))
    return signalPassFailure();
  const JointGraph &graph = function->getGraph();
  os << "@" << op.getSymName() << " has " << graph.size() << " nodes\n";
  for (NodeId node = 0; node < graph.size(); ++node) {
    printNode(*function, node);
    Value value = function->getValue(node);
    if (value && function->getNode(value) != node)
      emitError(value.getLoc()) << "does not lead back to node " << node;
  }
  for (auto [first, second] : graph.getMemoryOrder())
    os << "  memory " << first << " -> " << second << "\n";
  llvm::interleaveComma(graph.getForwardResults(), os << "  forward ");
  llvm::interleaveComma(graph.getBackwardResults(), os << "\n  backward ");
  os << "\n";
}

void mlir::commsched_test::registerJointTestPasses() {
  PassRegistration<TestOperatorClasses>();
  PassRegistration<TestJointFunction>();
}
