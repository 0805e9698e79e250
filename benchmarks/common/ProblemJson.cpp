//===- ProblemJson.cpp - A scheduling problem as JSON ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemJson.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Buffer;
using schedule::BufferId;
using schedule::DependenceEnd;
using schedule::NodeId;
using schedule::Problem;

void mlir::commsched::writeNodes(llvm::json::OStream &json,
                                 const BlockProblem &block) {
  const Problem &problem = block.getProblem();
  json.attributeArray("nodes", [&] {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      json.array([&] {
        json.value(schedule::toString(problem.kind(node)));
        json.value(problem.costNs(node));
        json.value(problem.stream(node));
        auto cost = dyn_cast<CostOpInterface>(block.getOperation(node));
        json.value(cost && cost.isExpensive());
        json.value(problem.startOf(node));
      });
  });
}

void mlir::commsched::writeConstraints(llvm::json::OStream &json,
                                       const Problem &problem) {
  json.attributeArray("dependences", [&] {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      for (DependenceEnd from : problem.predecessors(node))
        json.array([&] {
          json.value(from.node);
          json.value(node);
          json.value(schedule::toString(from.kind));
        });
  });
  json.attributeArray("buffers", [&] {
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      json.array([&] {
        json.value(buffer.bytes);
        json.value(buffer.producer);
        json.value(buffer.freed);
        json.array([&] {
          for (NodeId user : problem.users(id))
            json.value(user);
        });
      });
    }
  });
}

void mlir::commsched::writeCosts(llvm::json::OStream &json,
                                 const StepReport &report) {
  json.attribute("step_time_ns", report.stepTimeNs);
  json.attribute("exposed_comm_ns", report.exposedCommNs);
  json.attribute("peak_memory_bytes", report.peakMemoryBytes);
}
