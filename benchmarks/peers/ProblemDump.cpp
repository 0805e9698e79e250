//===- ProblemDump.cpp - A function for other schedulers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ProblemDump.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Report/ProgramJson.h"
#include "MergeableStarts.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;
using schedule::noNode;
using schedule::Problem;

namespace {

class FunctionDump {
public:
  FunctionDump(llvm::json::OStream &json, LoneFunction &function,
               const BlockProblem &block)
      : json(json), function(function), block(block),
        problem(block.getProblem()) {}

  void write(const StepReport &report);

private:
  void findValues();
  void writeStreams();
  void writeNode(NodeId node, const MergeableStart &mergeable);
  void writeCollective(CollectiveOpInterface collective);
  void writeValue(Value value, NodeId producer, int32_t buffer);
  void writeIndices(StringRef name, ValueRange listed);
  void writeOperands(Operation *op);

  llvm::json::OStream &json;
  LoneFunction &function;
  const BlockProblem &block;
  const Problem &problem;
  /// Value -> producer.
  llvm::MapVector<Value, NodeId> values;
};

} // namespace

template <typename T> static std::string print(T printed) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printed.print(os);
  return text;
}

void FunctionDump::findValues() {
  for (Value argument : function.getBlock().getArguments())
    values[argument] = noNode;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (Value result : block.getOperation(node)->getResults())
      values[result] = node;
}

void FunctionDump::writeStreams() {
  // By stream, once a collective of it was found.
  std::vector<int64_t> sizes(problem.numStreams());
  ScanningSymbolTables symbolTables;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (!problem.isCollective(node) || sizes[problem.stream(node)] != 0)
      continue;
    FailureOr<ProcessGroup> group =
        cast<CollectiveOpInterface>(block.getOperation(node))
            .getProcessGroup(symbolTables);
    sizes[problem.stream(node)] = succeeded(group) ? group->size : 1;
  }
  json.attributeArray("streams", [&] {
    for (auto [key, size] : llvm::zip_equal(block.getStreams(), sizes))
      json.object([&, key = key, size = size] {
        json.attribute("name", print(key));
        json.attribute("size", size);
      });
  });
}

void FunctionDump::writeIndices(StringRef name, ValueRange listed) {
  json.attributeArray(name, [&] {
    for (Value value : listed)
      if (auto it = values.find(value); it != values.end())
        json.value(static_cast<int64_t>(it - values.begin()));
  });
}

void FunctionDump::writeOperands(Operation *op) {
  SmallVector<Value> operands;
  op->walk([&](Operation *user) {
    llvm::append_range(operands, user->getOperands());
  });
  writeIndices("operands", operands);
}

void FunctionDump::writeCollective(CollectiveOpInterface collective) {
  std::string kind =
      stringifyCollectiveKind(collective.getCollectiveKind()).str();
  std::replace(kind.begin(), kind.end(), '_', '-');
  json.attribute("collective", kind);
  std::optional<ReductionKind> reduction = collective.getReductionKind();
  json.attribute("reduction",
                 reduction ? stringifyReductionKind(*reduction) : "");
  json.attribute("bytes", std::max(collective.getOperandBytes().value_or(0),
                                   collective.getResultBytes().value_or(0)));
}

void FunctionDump::writeNode(NodeId node, const MergeableStart &mergeable) {
  Operation *op = block.getOperation(node);
  auto compute = dyn_cast<ComputeOp>(op);
  auto name = op->getAttrOfType<StringAttr>("commsched.name");
  auto cost = dyn_cast<CostOpInterface>(op);
  json.object([&] {
    json.attribute("kind", schedule::toString(problem.kind(node)));
    json.attribute("cost_ns", problem.costNs(node));
    json.attribute("stream", problem.stream(node));
    json.attribute("start", problem.startOf(node));
    json.attribute("expensive", cost && cost.isExpensive());
    json.attribute("name", name ? name.getValue() : "");
    json.attribute("op", compute ? compute.getCallee()
                                 : op->getName().getStringRef());
    if (problem.isCollective(node)) {
      writeCollective(cast<CollectiveOpInterface>(op));
    } else {
      json.attribute("collective", "");
      json.attribute("reduction", "");
      json.attribute("bytes", 0);
    }
    json.attribute("key", mergeable.key);
    writeOperands(op);
    writeIndices("results", op->getResults());
  });
}

void FunctionDump::writeValue(Value value, NodeId producer, int32_t buffer) {
  auto shaped = dyn_cast<ShapedType>(getSizedType(value));
  if (shaped && (!isa<TensorType, BaseMemRefType>(shaped) || !shaped.hasRank()))
    shaped = {};
  StringRef type = !shaped                   ? "other"
                   : isa<TensorType>(shaped) ? "tensor"
                                             : "memref";
  if (isa<FutureType>(value.getType()))
    type = "future";
  json.object([&] {
    json.attribute("type", type);
    json.attributeArray("shape", [&] {
      if (!shaped)
        return;
      for (int64_t size : shaped.getShape())
        json.value(ShapedType::isDynamic(size) ? -1 : size);
    });
    json.attribute("dtype", shaped ? print(shaped.getElementType()) : "");
    json.attribute("producer", producer);
    json.attribute("buffer", buffer);
  });
}

void FunctionDump::write(const StepReport &report) {
  findValues();
  json.object([&] {
    json.attribute("function", function.getFunction().getName());
    writeCosts(json, report);
    writeStreams();
    std::vector<MergeableStart> mergeable = findMergeableStarts(block);
    json.attributeArray("nodes", [&] {
      for (NodeId node = 0; node < problem.numNodes(); ++node)
        writeNode(node, mergeable[node]);
    });
    // The buffers of a problem are the storages of its block.
    StorageAnalysis storages(function.getBlock());
    json.attributeArray("values", [&] {
      for (auto [value, producer] : values)
        writeValue(value, producer, storages.getStorage(value));
    });
    writeIndices("returns", function.getBlock().getTerminator()->getOperands());
    writeConstraints(json, problem);
  });
}

LogicalResult mlir::commsched::dumpFunction(llvm::json::OStream &json,
                                            LoneFunction &function) {
  FailureOr<BlockProblem> block = function.createProblem(StreamOrder::Free);
  FailureOr<StepReport> report = function.report();
  if (failed(block) || failed(report))
    return failure();
  FunctionDump(json, function, *block).write(*report);
  return success();
}
