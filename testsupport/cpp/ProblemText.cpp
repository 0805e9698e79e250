//===- ProblemText.cpp - Scheduling problems as text ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ProblemText.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::readNumber;
using mlir::commsched::testing::readStatements;

static const char *const textArrow = "->";

/// Whether the kind of an operation is written, in front of its cost.
static bool isWrittenKind(const std::string &word) {
  return word == "mm" || word == "start" || word == "blocking" ||
         word == "wait";
}

bool TextProblem::isArgument(const Statement &statement) {
  return !statement.words.empty() && statement.words[0] == "arg";
}

bool TextProblem::isWait(const Statement &statement) {
  return statement.name.empty() && statement.words.size() >= 2 &&
         statement.words[0] == "wait";
}

BufferId TextProblem::bufferOf(const std::string &name) const {
  auto found = buffers.find(name);
  EXPECT_NE(found, buffers.end()) << "'" << name << "' has no buffer";
  return found == buffers.end() ? -1 : found->second;
}

Status TextProblem::read(const std::string &text) {
  std::vector<Statement> statements = readStatements(text);
  Status status = addNames(statements);
  NodeId node = 0;
  for (const Statement &statement : statements)
    if (status)
      status = isArgument(statement) ? addMade(statement, noNode, 1)
                                     : addOperation(statement, node++);
  node = 0;
  for (const Statement &statement : statements)
    if (status && !isArgument(statement))
      status = addOperands(statement, node++);
  (void)finalize();
  return status;
}

Status TextProblem::addNames(const std::vector<Statement> &statements) {
  for (const Statement &statement : statements) {
    if (statement.name.empty() && !isWait(statement))
      return statement.error("a statement begins with 'NAME =' or 'wait'");
    std::string name =
        isWait(statement) ? statement.words[1] + "'" : statement.name;
    if (buffers.count(name) ||
        (isArgument(statement) ? names.find(name).has_value()
                               : !names.add(name)))
      return statement.error("there is another '" + name + "'");
    if (isArgument(statement))
      buffers[name] = -1;
  }
  return Status::success();
}

Status TextProblem::addOperation(const Statement &statement, NodeId node) {
  const std::vector<std::string> &words = statement.words;
  auto end = std::find(words.begin(), words.end(), textArrow);
  if (isWait(statement)) {
    std::optional<NodeId> start = names.find(words[1]);
    if (!start)
      return statement.error("no operation is named '" + words[1] + "'");
    addWait(*start);
    if (auto found = buffers.find(words[1]); found != buffers.end())
      buffers[words[1] + "'"] = found->second;
  } else {
    std::string kind = words.empty() ? "" : words[0];
    std::string cost = kind;
    if (isWrittenKind(kind))
      cost = words.size() > 1 ? words[1] : "";
    StreamId stream = kind == "start" || kind == "blocking" ? 0 : noStream;
    if (size_t at = cost.find('@'); at != std::string::npos) {
      std::optional<int64_t> number = readNumber(cost.substr(at + 1));
      if (!number)
        return statement.error("'" + cost + "' names no stream");
      stream = static_cast<StreamId>(*number);
      cost = cost.substr(0, at);
    }
    std::optional<int64_t> costNs = readNumber(cost);
    if (!costNs)
      return statement.error("'" + cost + "' is no kind and no time");
    addNode(kind == "start"      ? NodeKind::Start
            : kind == "blocking" ? NodeKind::Blocking
                                 : NodeKind::Compute,
            *costNs, stream);
    if (kind == "mm")
      setExpensive(node);
  }
  return end == words.end() ? Status::success()
                            : addMade(statement, node, end - words.begin() + 1);
}

Status TextProblem::addMade(const Statement &statement, NodeId node,
                            size_t first) {
  for (size_t i = first; i < statement.words.size(); ++i) {
    std::string size = statement.words[i];
    bool stays = size.back() == '!';
    if (stays)
      size.pop_back();
    BufferId id = -1;
    if (std::optional<int64_t> bytes = readNumber(size)) {
      id = addBuffer(*bytes, node, /*freed=*/!stays);
      made[node].push_back(id);
    } else if (auto found = buffers.find(size); found != buffers.end()) {
      id = found->second;
    } else {
      return statement.error("'" + size + "' is no size and has no buffer");
    }
    if (i == first)
      buffers[statement.name] = id;
  }
  return Status::success();
}

Status TextProblem::addOperands(const Statement &statement, NodeId node) {
  if (NodeId start = startOf(node); start != noNode)
    for (const std::vector<BufferId> *ids : {&used[start], &made[start]})
      for (BufferId id : *ids)
        addUsed(node, id);
  const std::vector<std::string> &words = statement.words;
  for (size_t i = isWrittenKind(words[0]) ? 2 : 1;
       i < words.size() && words[i] != textArrow; ++i)
    if (Status status = addOperand(statement, node, words[i]); !status)
      return status;
  return Status::success();
}

Status TextProblem::addOperand(const Statement &statement, NodeId node,
                               const std::string &word) {
  size_t colon = word.find(':');
  std::string way = colon == std::string::npos ? "" : word.substr(0, colon);
  std::string name = word.substr(way.empty() ? 0 : colon + 1);
  auto buffer = buffers.find(name);
  bool isArgument = buffer != buffers.end() && !names.find(name);
  if (way.empty() || way == "use") {
    if (buffer != buffers.end())
      addUsed(node, buffer->second);
    if (isArgument || (way == "use" && buffer != buffers.end()))
      return Status::success();
  }
  std::optional<NodeId> operand = names.find(name);
  if (!operand || way == "use")
    return statement.error("there is no '" + word + "'");
  for (DependenceKind kind :
       {DependenceKind::Data, DependenceKind::Memory, DependenceKind::Order,
        DependenceKind::Barrier, DependenceKind::Stream})
    if ((way.empty() ? "data" : way) == toString(kind)) {
      addDependence(*operand, node, kind);
      return Status::success();
    }
  return statement.error("'" + way + "' is no kind of a dependence");
}

void TextProblem::addUsed(NodeId node, BufferId buffer) {
  addUse(buffer, node);
  used[node].push_back(buffer);
}
