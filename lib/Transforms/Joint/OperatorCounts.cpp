//===- OperatorCounts.cpp - Counts of operators of a partition ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperatorCounts.h"
#include "../PassSupport.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::JointGraph;
using partition::JointNodeKind;
using partition::NodeId;
using partition::Split;

static void remarkCounts(const JointFunction &joint, StringRef function,
                         const Twine &what,
                         function_ref<bool(NodeId)> isCounted) {
  const JointGraph &graph = joint.getGraph();
  llvm::MapVector<StringRef, int64_t> counts;
  int64_t total = 0;
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (graph[node].kind != JointNodeKind::Operation || !isCounted(node))
      continue;
    Operation *op = joint.getOperation(node);
    auto compute = dyn_cast<ComputeOp>(op);
    ++counts[compute ? compute.getCallee() : op->getName().getStringRef()];
    ++total;
  }
  auto sorted = counts.takeVector();
  llvm::stable_sort(sorted, [](const auto &first, const auto &second) {
    return first.second > second.second;
  });
  std::string text = (what + ":").str();
  StringRef separator = " ";
  for (auto [name, count] : sorted) {
    text += (separator + Twine(count) + " " + name).str();
    separator = ", ";
  }
  remark::analysis(joint.getFunction().getLoc(),
                   makeRemark("OperatorCounts", function))
      << text << remark::metric("Operations", total);
}

void mlir::commsched::remarkOperatorCounts(const JointFunction &joint,
                                           const Split &split,
                                           const PartitionNames &names) {
  // Counting is for those who listen.
  if (!joint.getFunction().getContext()->getRemarkEngine())
    return;
  remarkCounts(joint, names.forward, "operators of the forward",
               [&](NodeId node) { return split.inForward[node]; });
  remarkCounts(joint, names.backward, "operators of the backward",
               [&](NodeId node) { return split.inBackward[node]; });
  remarkCounts(joint, names.joint, "operators that both compute",
               [&](NodeId node) {
                 return split.inForward[node] && split.inBackward[node];
               });
}
