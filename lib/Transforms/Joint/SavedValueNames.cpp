//===- SavedValueNames.cpp - What the user says is saved ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SavedValueNames.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::JointGraph;
using partition::NodeId;
using partition::noNode;
using partition::PartitionConflict;

static Location getLoc(const JointFunction &joint, NodeId node) {
  if (Operation *op = joint.getOperation(node))
    return op->getLoc();
  return joint.getValue(node).getLoc();
}

FailureOr<std::vector<NodeId>>
mlir::commsched::readSavedValues(const JointFunction &joint) {
  std::vector<NodeId> saved;
  func::FuncOp function = joint.getFunction();
  auto names = function->getAttrOfType<ArrayAttr>(savedValuesAttrName);
  if (!names)
    return saved;
  const JointGraph &graph = joint.getGraph();
  llvm::StringMap<NodeId> nodes;
  for (NodeId node = 0; node < graph.size(); ++node)
    nodes[joint.getName(node)] = node;

  auto emitError = [&](StringRef name) {
    return function.emitOpError() << "attribute '" << savedValuesAttrName
                                  << "' names \"" << name << "\"";
  };
  std::vector<char> isSaved(graph.size(), 0);
  for (StringAttr attr : names.getAsRange<StringAttr>()) {
    StringRef name = attr.getValue();
    auto it = nodes.find(name);
    if (it == nodes.end())
      return emitError(name) << ", but no value of the function has this name";
    NodeId node = it->second;
    if (!graph[node].isSaveable) {
      InFlightDiagnostic diag = emitError(name)
                                << ", which is no value that can be saved";
      diag.attachNote(getLoc(joint, node)) << "it is here";
      return diag;
    }
    if (isSaved[node])
      return emitError(name) << " twice";
    isSaved[node] = 1;
  }
  for (NodeId node = 0; node < graph.size(); ++node)
    if (isSaved[node])
      saved.push_back(node);
  return saved;
}

InFlightDiagnostic
mlir::commsched::emitConflict(const JointFunction &joint,
                              const PartitionConflict &conflict) {
  if (conflict.node == noNode)
    return joint.getFunction().emitOpError(conflict.reason);
  InFlightDiagnostic diag = emitError(getLoc(joint, conflict.node));
  diag << "'" << joint.getName(conflict.node) << "' " << conflict.reason;
  if (conflict.other != noNode)
    diag.attachNote(getLoc(joint, conflict.other))
        << "'" << joint.getName(conflict.other) << "' " << conflict.otherReason;
  return diag;
}
