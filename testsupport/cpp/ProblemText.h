//===- ProblemText.h - Scheduling problems as text --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small scheduling problems as tests write them down, an operation a statement
// (Statements.h), in the order of the program:
//
//   a = 10                   A computation of 10 ns.
//   b = mm 10 a              An expensive one, that reads what `a` made.
//   g = start 50 a           A collective on stream 0, and its wait, which is
//   wait g                   called g'.
//   h = start 50@1 g'        On stream 1.
//   s = blocking 50@1        A collective that is start and wait in one.
//
// An operand stands for a data dependence, and a use of what it made. `data:a`
// is the dependence alone, `memory:a`, `order:a`, `barrier:a` and `stream:a`
// are those of the other kinds, and `use:a` is the use alone. An operand may
// come later in the text. A number may stand for a node that has no name, or is
// none: `#7`.
//
//   c = 10 a -> 64           Makes 64 bytes, which go with their last use.
//   d = 10 a -> 64! 8        Makes 64 bytes that stay, and 8 that do not; what
//                            reads `d` uses the first of them.
//   v = 0 c -> c             Makes nothing; what reads `v` uses that of `c`.
//   w = arg 64!              Bytes that are there from the start, which stay.
//
// A wait uses what its start uses and makes, and hands on the latter. Buffers
// are numbered as the text has them.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TESTSUPPORT_PROBLEMTEXT_H
#define COMMSCHED_TESTSUPPORT_PROBLEMTEXT_H

#include "CommSched/Schedule/Model/Problem.h"
#include "Statements.h"

namespace mlir::commsched::schedule::testing {

using mlir::commsched::testing::repeat;

/// A problem with names. It is finalized, but may have an error.
class TextProblem : public Problem {
public:
  /// The test fails if the text is none of a problem.
  TextProblem(const std::string &text) {
    Status status = read(text);
    EXPECT_TRUE(status) << status.error() << "\n" << text;
  }

  NodeId operator[](const std::string &name) const { return names.get(name); }
  /// The buffer that the operation or argument of this name stands for.
  BufferId bufferOf(const std::string &name) const;
  Order list(const std::string &text) const { return names.list(text); }
  std::string tell(const Order &order) const { return names.tell(order); }

  /// Adds what a text says, for tests of this class. Error: the line, and what
  /// is wrong there.
  Status read(const std::string &text);
  TextProblem() = default;

private:
  using Statement = mlir::commsched::testing::Statement;

  static bool isArgument(const Statement &statement);
  static bool isWait(const Statement &statement);
  Status addNames(const std::vector<Statement> &statements);
  Status addOperation(const Statement &statement, NodeId node);
  Status addMade(const Statement &statement, NodeId node, size_t first);
  Status addOperands(const Statement &statement, NodeId node);
  Status addOperand(const Statement &statement, NodeId node,
                    const std::string &word);
  void addUsed(NodeId node, BufferId buffer);

  mlir::commsched::testing::NodeNames names;
  /// By the name of an operation or argument.
  std::map<std::string, BufferId> buffers;
  std::map<NodeId, std::vector<BufferId>> used, made;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_TESTSUPPORT_PROBLEMTEXT_H
