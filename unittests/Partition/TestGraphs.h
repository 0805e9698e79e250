//===- TestGraphs.h - Joint graphs for tests --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small joint graphs as tests write them down, a node a statement
// (Statements.h), in the order of the program:
//
//   x = input 8; p = parameter 8; dy = tangent 8; s = seed 8
//   a = pointwise 8 x        An operation with one result of 8 bytes. Other
//                            classes: constant, other, random, reduction.
//   h = mm 8 a p             One that is computation-intensive and costs 100.
//   v = view h               All of h, in its storage.
//   g = start p              A collective that costs 10,
//   w = wait 64 g            and its wait with the result.
//   n = several random x     An operation of a class with several results,
//   r = result 8 n           and one of them.
//   return a | w             Results of the forward and of the backward.
//   order a b                They touch the same memory.
//
// Marks of a node stand behind a colon: `pinned`, `opaque` (it cannot be
// saved), `measures` (it reads dimensions only), a tag (`forward`, `backward`,
// `must-be-forward`, `must-be-backward`), a policy (`must-save`, `prefer-save`,
// `prefer-recompute`, `must-recompute`), `region=1`, `cost=7`, `bytes=7`, or
// `in=h`: it is in the storage of h.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_PARTITION_TESTGRAPHS_H
#define COMMSCHED_UNITTESTS_PARTITION_TESTGRAPHS_H

#include "../Testing.h"
#include "CommSched/Partition/MinCut.h"
#include "Statements.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

namespace mlir::commsched::partition::testing {

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using mlir::commsched::testing::repeat;
using mlir::commsched::testing::Seeds;

/// A joint graph with names, which is finalized.
class TextGraph : public JointGraph {
public:
  /// The test fails if the text is none of a graph.
  TextGraph(const std::string &text) {
    Status status = read(text);
    EXPECT_TRUE(status) << status.error() << "\n" << text;
  }
  TextGraph() = default;

  /// Adds what a text says. Error: the line, and what is wrong there.
  Status read(const std::string &text) {
    for (const Statement &statement :
         mlir::commsched::testing::readStatements(text))
      if (Status status = add(statement); !status)
        return status;
    return finalize();
  }

  NodeId id(const std::string &name) const { return names.get(name); }
  std::vector<NodeId> list(const std::string &text) const {
    return names.list(text);
  }
  std::string tell(const std::vector<NodeId> &nodes) const {
    return names.tell(nodes);
  }

  using JointGraph::operator[];
  JointNode &operator[](const std::string &name) { return (*this)[id(name)]; }

private:
  using Statement = mlir::commsched::testing::Statement;

  Status add(const Statement &statement);
  bool addLink(const std::vector<std::string> &words);
  bool setKind(JointNode &node, const std::string &kind);
  bool setMark(JointNode &node, const std::string &word);

  mlir::commsched::testing::NodeNames names;
};

/// Results, or an order in memory.
inline bool TextGraph::addLink(const std::vector<std::string> &words) {
  if (words[0] == "order" && words.size() == 3) {
    addMemoryOrder(id(words[1]), id(words[2]));
    return true;
  }
  bool isBackward = false;
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i] == "|")
      isBackward = true;
    else
      isBackward ? addBackwardResult(id(words[i]))
                 : addForwardResult(id(words[i]));
  return words[0] == "return";
}

inline bool TextGraph::setKind(JointNode &node, const std::string &kind) {
  static const std::map<std::string, JointNodeKind> arguments = {
      {"input", JointNodeKind::Primal},
      {"parameter", JointNodeKind::Primal},
      {"tangent", JointNodeKind::Tangent},
      {"seed", JointNodeKind::BackwardSeed}};
  static const std::map<std::string, OperatorClass> classes = {
      {"pointwise", OperatorClass::Pointwise},
      {"reduction", OperatorClass::Reduction},
      {"view", OperatorClass::View},
      {"constant", OperatorClass::Constant},
      {"random", OperatorClass::Random},
      {"mm", OperatorClass::ComputeIntensive},
      {"start", OperatorClass::Collective},
      {"wait", OperatorClass::Collective},
      {"other", OperatorClass::Other}};
  node.isStatic = kind == "parameter";
  node.cost = kind == "mm" ? 100 : kind == "start" ? 10 : 0;
  if (auto found = arguments.find(kind); found != arguments.end())
    node.kind = found->second;
  else if (auto found = classes.find(kind); found != classes.end())
    node.operatorClass = found->second;
  else
    return false;
  return true;
}

inline bool TextGraph::setMark(JointNode &node, const std::string &word) {
  static const std::map<std::string, PartitionTag> tags = {
      {"forward", PartitionTag::Forward},
      {"backward", PartitionTag::Backward},
      {"must-be-forward", PartitionTag::MustBeForward},
      {"must-be-backward", PartitionTag::MustBeBackward}};
  static const std::map<std::string, RecomputePolicy> policies = {
      {"must-save", RecomputePolicy::MustSave},
      {"prefer-save", RecomputePolicy::PreferSave},
      {"prefer-recompute", RecomputePolicy::PreferRecompute},
      {"must-recompute", RecomputePolicy::MustRecompute}};
  size_t equals = std::min(word.find('='), word.size());
  std::string key = word.substr(0, equals);
  std::string value = word.substr(std::min(equals + 1, word.size()));
  if (key == "in") {
    node.storage = (*this)[value].storage;
    return true;
  }
  if (std::optional<int64_t> number =
          mlir::commsched::testing::readNumber(value)) {
    if (key == "region")
      node.region = static_cast<int32_t>(*number);
    else
      (key == "cost" ? node.cost : node.bytes) = *number;
    return key == "region" || key == "cost" || key == "bytes";
  }
  if (auto found = tags.find(word); found != tags.end())
    node.tag = found->second;
  else if (auto found = policies.find(word); found != policies.end())
    node.policy = found->second;
  else if (word == "opaque")
    node.isSaveable = false;
  else
    (word == "pinned" ? node.isPinned : node.readsDimensions) = true;
  return value.empty() &&
         (word == "pinned" || word == "opaque" || word == "measures" ||
          tags.count(word) != 0 || policies.count(word) != 0);
}

inline Status TextGraph::add(const Statement &statement) {
  const std::vector<std::string> &words = statement.words;
  if (statement.name.empty())
    return addLink(words)
               ? Status::success()
               : statement.error("'" + words[0] + "' begins no statement");
  if (words.size() < 2 || !names.add(statement.name))
    return statement.error("there is nothing new in '" + statement.name + "'");
  JointNode node;
  const std::string &kind = words[0];
  bool isSeveral = kind == "several", isResult = kind == "result";
  if (isResult) {
    node.kind = JointNodeKind::Result;
    node.operatorClass = (*this)[size() - 1].operatorClass;
  } else if (!setKind(node, isSeveral ? words[1] : kind)) {
    return statement.error("'" + kind + "' is no kind of a node");
  }
  node.isSaveable = !isSeveral && kind != "start";
  node.storage = node.isSaveable ? size() : -1;
  size_t first = isSeveral ? 2 : 1;
  if (kind == "view") {
    node.bytes = (*this)[words[1]].bytes;
    node.storage = (*this)[words[1]].storage;
  } else if (node.isSaveable) {
    std::optional<int64_t> bytes =
        mlir::commsched::testing::readNumber(words[first++]);
    if (!bytes)
      return statement.error("'" + words[1] + "' is no number of bytes");
    node.bytes = *bytes;
  }
  auto colon = std::find(words.begin(), words.end(), ":");
  for (auto mark = colon; mark != words.end(); ++mark)
    if (*mark != ":" && !setMark(node, *mark))
      return statement.error("'" + *mark + "' is no mark of a node");
  NodeId number = addNode(node);
  for (auto name = words.begin() + first; name < colon; ++name) {
    std::optional<NodeId> operand = names.find(*name);
    if (!operand)
      return statement.error("no node is named '" + *name + "'");
    addUse(*operand, number);
  }
  return Status::success();
}

/// Random graphs are shaped like those of training steps: parameters and
/// inputs, operations of all classes, some with several results, collectives as
/// a start and its wait, views that share storage, then gradients, from the
/// tangents and the values of the forward. Some operations are needed by
/// nothing; a few of the backward depend on no tangent, and a few of the
/// forward come late.
struct RandomJointOptions {
  int32_t maxPrimals = 4;
  int32_t maxForwardOperations = 16;
  int32_t maxBackwardOperations = 16;
  // How many of a hundred operations are, have, or do what the name says.
  int32_t collectivePercent = 10;
  int32_t randomPercent = 3;
  int32_t viewPercent = 15;
  int32_t severalResultsPercent = 10;
  int32_t policyPercent = 6;
  /// Never ones that contradict each other by themselves: no operation that
  /// needs a tangent has to be in the forward.
  int32_t tagPercent = 3;
  /// Pinned operations, and what has to come before some of them.
  int32_t memoryPercent = 3;
};

/// A finalized graph. The same seed gives the same graph on every platform.
/// Results have the class, policy, tag and region of their operation.
JointGraph makeRandomJointGraph(uint32_t seed,
                                const RandomJointOptions &options = {});

/// What `result` holds; the test fails if that is a conflict.
template <typename T> T expectNoConflict(PartitionResult<T> result) {
  if (auto *conflict = std::get_if<PartitionConflict>(&result))
    ADD_FAILURE() << conflict->node << " " << conflict->reason << "; "
                  << conflict->other << " " << conflict->otherReason;
  return std::get<T>(std::move(result));
}

/// The conflict in `result`; the test fails if there is none.
template <typename T>
PartitionConflict expectConflict(PartitionResult<T> result) {
  auto *conflict = std::get_if<PartitionConflict>(&result);
  if (conflict)
    return *conflict;
  ADD_FAILURE() << "there is no conflict";
  return {};
}

} // namespace mlir::commsched::partition::testing

#endif // COMMSCHED_UNITTESTS_PARTITION_TESTGRAPHS_H
