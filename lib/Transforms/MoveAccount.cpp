//===- MoveAccount.cpp - What became of moved collectives -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MoveAccount.h"
#include "Remarks.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::CollectiveMoves;
using schedule::Exposure;
using schedule::IterativeReordering;
using schedule::MoveLimit;
using schedule::NodeId;
using schedule::NodeKind;

MoveAccount::MoveAccount(func::FuncOp function, const BlockProblem &block,
                         StringRef pass, int64_t limitBytes,
                         const IterativeReordering &result)
    : functionName(function.getSymName()), block(block),
      problem(block.getProblem()), pass(pass), limitBytes(limitBytes),
      result(result) {
  before = computeExposure(problem, problem.programOrder());
  after = computeExposure(problem, result.order);
}

std::string
MoveAccount::describeDependence(const CollectiveMoves &moves) const {
  std::string text =
      (Twine(schedule::toString(moves.dependence)) + " dependence with " +
       describe(block.getOperation(moves.obstacle)))
          .str();
  switch (problem.kind(moves.obstacle)) {
  case NodeKind::Start:
  case NodeKind::Blocking:
    return text + ", a collective";
  case NodeKind::Wait:
    return text + ", a wait";
  case NodeKind::Compute:
    return problem.isExpensive(moves.obstacle) ? text + ", which is expensive"
                                               : text;
  }
  llvm_unreachable("unknown kind of operation");
}

std::string MoveAccount::describeLimit(const CollectiveMoves &moves) const {
  auto obstacle = [&] { return describe(block.getOperation(moves.obstacle)); };
  switch (moves.limit) {
  case MoveLimit::None:
    return "nothing";
  case MoveLimit::Dependence:
    return describeDependence(moves);
  case MoveLimit::GroupSize:
    return describeDependence(moves) + "; the group is full";
  case MoveLimit::Collective:
    return "the collective " + obstacle();
  case MoveLimit::Memory:
    return "memory: passing " + obstacle() + " takes " +
           std::to_string(moves.neededBytes) + " bytes of " +
           std::to_string(limitBytes);
  case MoveLimit::Hidden:
    return "estimates: computation hides it";
  case MoveLimit::Exposure:
    return "estimates: passing " + obstacle() + " exposes more than it hides";
  }
  llvm_unreachable("unknown limit");
}

ReorderInfo MoveAccount::getInfo(const CollectiveMoves &moves) const {
  NodeId start = problem.kind(moves.node) == NodeKind::Wait
                     ? problem.startOf(moves.node)
                     : moves.node;
  ReorderInfo info;
  info.commNs = after[start].commNs;
  info.computeNs = after[start].computeNs;
  info.exposedBeforeNs = before[start].exposedNs();
  info.exposedAfterNs = after[start].exposedNs();
  info.moves = moves.moves;
  info.grouped = moves.grouped;
  info.limitingFactor = describeLimit(moves);
  info.pass = pass.str();
  return info;
}

void MoveAccount::remark() const {
  for (const CollectiveMoves &moves : result.collectives) {
    Operation *op = block.getOperation(moves.node);
    ReorderInfo info = getInfo(moves);
    bool isWait = problem.kind(moves.node) == NodeKind::Wait;
    std::string text;
    llvm::raw_string_ostream os(text);
    Operation *start =
        isWait ? block.getOperation(problem.startOf(moves.node)) : op;
    os << describe(start) << ": its " << (isWait ? "wait" : "start");
    if (moves.moves == 0)
      os << " stays";
    else
      os << " moves " << (isWait ? "down" : "up") << " by " << moves.moves;
    if (moves.grouped > 0)
      os << ", with " << moves.grouped
         << (moves.grouped == 1 ? " other" : " others");
    os << ", limited by " << info.limitingFactor;
    auto emit = [&](remark::detail::InFlightRemark remark) {
      remark << text << remark::metric("Moved", info.moves)
             << remark::metric("Grouped", info.grouped)
             << remark::metric("CommNs", info.commNs)
             << remark::metric("ComputeNs", info.computeNs)
             << remark::metric("ExposedBeforeNs", info.exposedBeforeNs)
             << remark::metric("ExposedAfterNs", info.exposedAfterNs)
             << remark::metric("LimitingFactor", info.limitingFactor);
    };
    StringRef name = functionName;
    if (moves.moves > 0)
      emit(remark::passed(op->getLoc(), makeRemark("CollectiveMoved", name)));
    else
      emit(remark::missed(op->getLoc(), makeRemark("CollectiveKept", name)));
  }
}

void MoveAccount::write() const {
  for (const CollectiveMoves &moves : result.collectives)
    setReorderInfo(block.getOperation(moves.node), getInfo(moves));
}
