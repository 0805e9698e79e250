//===- ReportNames.cpp - What the report calls things ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportNames.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::BufferId;
using schedule::NodeId;
using schedule::noNode;
using schedule::Problem;

std::string mlir::commsched::getGroupName(Attribute key) {
  if (auto symbol = dyn_cast<SymbolRefAttr>(key))
    return makePrintable(symbol.getLeafReference());
  if (auto name = dyn_cast<StringAttr>(key))
    return makePrintable(name.getValue());
  std::string text;
  llvm::raw_string_ostream(text) << key;
  return makePrintable(text);
}

/// The name of an operation that is no collective.
static std::string getComputeName(Operation *op) {
  if (StringRef name = getStableName(op); !name.empty())
    return makePrintable(name);
  if (auto compute = dyn_cast<ComputeOp>(op))
    return makePrintable(compute.getCallee());
  return op->getName().getStringRef().str();
}

ReportNames::ReportNames(const BlockProblem &block) : block(block) {
  const Problem &problem = block.getProblem();
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.isCollective(node))
      collectives.push_back(node);
}

std::string ReportNames::getOperationName(NodeId node) const {
  Operation *op = block.getOperation(node);
  if (!block.getProblem().isCollective(node))
    return getComputeName(op);
  auto index = llvm::lower_bound(collectives, node) - collectives.begin();
  return getCollectiveName(cast<CollectiveOpInterface>(op),
                           static_cast<unsigned>(index));
}

std::string ReportNames::getBufferName(BufferId buffer) const {
  Value root = block.getBufferRoot(buffer);
  auto result = dyn_cast<OpResult>(root);
  if (!result)
    return getArgumentName(cast<BlockArgument>(root));
  // What a collective delivers is a result of its wait. What a resize allocates
  // is that of the operation that made the memref.
  const Problem &problem = block.getProblem();
  NodeId producer = problem.buffer(buffer).producer;
  std::string name = producer != noNode && problem.isCollective(producer)
                         ? getOperationName(producer)
                         : getComputeName(result.getOwner());
  if (unsigned number = result.getResultNumber())
    name += "#" + std::to_string(number);
  return name;
}
