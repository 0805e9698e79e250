//===- ProblemJson.cpp - Scheduling problems as JSON ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ProblemJson.h"
#include "CommSched/Dialect/CommSchedAttributes.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Buffer;
using schedule::BufferId;
using schedule::DependenceEnd;
using schedule::DependenceKind;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::Problem;

/// The version of the format.
static constexpr int64_t problemVersion = 1;

NamedProblem mlir::commsched::nameProblem(StringRef function,
                                          const BlockProblem &block) {
  NamedProblem named;
  named.function = function.str();
  named.problem = block.getProblem();
  for (NodeId node = 0; node < named.problem.numNodes(); ++node) {
    Operation *op = block.getOperation(node);
    StringRef name = getStableName(op);
    if (name.empty())
      name = op->getName().getStringRef();
    named.names.push_back(name.str());
  }
  for (Attribute key : block.getStreams()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    key.print(os);
    named.streams.push_back(std::move(text));
  }
  return named;
}

static void writeNodes(llvm::json::OStream &json, const NamedProblem &named) {
  const Problem &problem = named.problem;
  json.attributeArray("names", [&] {
    for (const std::string &name : named.names)
      json.value(llvm::json::fixUTF8(name));
  });
  json.attributeArray("nodes", [&] {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      json.array([&] {
        json.value(schedule::toString(problem.kind(node)));
        json.value(problem.costNs(node));
        json.value(problem.stream(node));
        json.value(problem.isExpensive(node));
        json.value(problem.startOf(node));
      });
  });
}

static void writeDependences(llvm::json::OStream &json,
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
}

static void writeBuffers(llvm::json::OStream &json, const Problem &problem) {
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

void mlir::commsched::writeConstraints(llvm::json::OStream &json,
                                       const Problem &problem) {
  writeDependences(json, problem);
  writeBuffers(json, problem);
}

void mlir::commsched::writeProblem(llvm::json::OStream &json,
                                   const NamedProblem &problem) {
  json.attributeArray("streams", [&] {
    for (const std::string &stream : problem.streams)
      json.value(llvm::json::fixUTF8(stream));
  });
  writeNodes(json, problem);
  writeConstraints(json, problem.problem);
}

void mlir::commsched::writeCosts(llvm::json::OStream &json,
                                 const StepReport &report) {
  json.attribute("step_time_ns", report.stepTimeNs);
  json.attribute("exposed_comm_ns", report.exposedCommNs);
  json.attribute("peak_memory_bytes", report.peakMemoryBytes);
}

void mlir::commsched::writeProblems(raw_ostream &os,
                                    ArrayRef<NamedProblem> problems) {
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("version", problemVersion);
    json.attributeArray("functions", [&] {
      for (const NamedProblem &problem : problems)
        json.object([&] {
          json.attribute("function", llvm::json::fixUTF8(problem.function));
          writeProblem(json, problem);
        });
    });
  });
  os << "\n";
}
