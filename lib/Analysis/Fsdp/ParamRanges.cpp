//===- ParamRanges.cpp - What a parameter holds, and when -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParamRanges.h"

using namespace mlir;
using namespace mlir::commsched;
using bufferization::ToTensorOp;
using Kind = ParamEvent::Kind;

static bool isResize(const ParamEvent &event) {
  return event.kind == Kind::Grow || event.kind == Kind::Free;
}

static bool isChange(const ParamEvent &event) {
  return event.kind != Kind::Read;
}

static StringRef describe(Kind kind) {
  switch (kind) {
  case Kind::Grow:
    return "grown";
  case Kind::Fill:
    return "filled";
  case Kind::Free:
    return "freed";
  case Kind::Read:
    return "read";
  }
  llvm_unreachable("unknown kind");
}

/// Reports that `op`, with its number, does `what` to `param`. A note shows the
/// last of `events` before it that `isRelevant`, or else the first one after
/// it; there is one.
static InFlightDiagnostic reportAccess(Operation *op, int32_t number,
                                       StringRef what,
                                       const UnshardedParam &param,
                                       ArrayRef<ParamEvent> events,
                                       bool (*isRelevant)(const ParamEvent &)) {
  const ParamEvent *near = nullptr;
  for (const ParamEvent &event : events)
    if (isRelevant(event) && (!near || event.number < number))
      near = &event;
  InFlightDiagnostic diag = op->emitOpError(what)
                            << " the unsharded parameter '" << param.name
                            << "', ";
  diag.attachNote(near->op->getLoc())
      << "it is " << describe(near->kind) << " here";
  return diag;
}

void mlir::commsched::checkResizes(ArrayRef<ParamEvent> events,
                                   UnshardedParam &param) {
  Operation *wrong = nullptr;
  for (const ParamEvent &event : events) {
    if (!isResize(event))
      continue;
    bool grows = event.kind == Kind::Grow;
    bool isGrown = param.numGrown > param.numFreed;
    if (grows == isGrown && !wrong)
      wrong = event.op;
    ++(grows ? param.numGrown : param.numFreed);
  }
  if (param.numGrown != param.numFreed) {
    param.obstacle = ParamObstacle::UnequalResizes;
  } else if (param.numGrown == 0) {
    param.obstacle = ParamObstacle::NeverResized;
  } else if (wrong) {
    param.obstacle = ParamObstacle::ResizeOrder;
    param.op = wrong;
  }
}

LogicalResult mlir::commsched::reportWrite(Operation *op, int32_t number,
                                           const UnshardedParam &param,
                                           ArrayRef<ParamEvent> events) {
  return reportAccess(op, number, "may write", param, events, isChange)
         << "which only '" << FsdpCopyOp::getOperationName() << "' may";
}

namespace {

/// Goes through the events of one parameter.
class RangeFinder {
public:
  RangeFinder(ArrayRef<ParamEvent> events, UnshardedParam &param)
      : events(events), param(param) {}

  LogicalResult run();

  SmallVector<ParamRange> takeRanges() { return std::move(ranges); }

private:
  void addRead(const ParamEvent &event, const ParamEvent &end);

  ArrayRef<ParamEvent> events;
  UnshardedParam &param;
  SmallVector<ParamRange> ranges;
};

} // namespace

/// Adds a read to the last range, the contents of which go at `end`.
void RangeFinder::addRead(const ParamEvent &event, const ParamEvent &end) {
  ParamRange &range = ranges.back();
  auto read = cast<ToTensorOp>(event.op);
  if (event.lastUse > end.number) {
    param.obstacle = ParamObstacle::UsedLater;
    param.op = event.lastUser;
    param.other = end.op;
  } else if (read.getType() != range.copy.getSource().getType()) {
    param.obstacle = ParamObstacle::OtherType;
    param.op = read;
  }
  range.reads.push_back(read);
  ++param.numReads;
  if (!range.lastUser || event.lastUse > range.lastUse) {
    range.lastUser = event.lastUser;
    range.lastUse = event.lastUse;
  }
}

LogicalResult RangeFinder::run() {
  bool hasStorage = false, isFilled = false;
  const ParamEvent *end = events.begin();
  for (const ParamEvent &event : events) {
    if (param.obstacle != ParamObstacle::None)
      break;
    switch (event.kind) {
    case Kind::Grow:
      hasStorage = true;
      break;
    case Kind::Free:
      hasStorage = isFilled = false;
      break;
    case Kind::Fill:
      if (!hasStorage)
        return reportAccess(event.op, event.number, "fills", param, events,
                            isResize)
               << "which has no storage there";
      isFilled = true;
      ranges.push_back({cast<FsdpCopyOp>(event.op), {}});
      ++param.numCopies;
      break;
    case Kind::Read:
      // Whatever it would read.
      if (event.op->use_empty())
        break;
      if (!isFilled)
        return reportAccess(event.op, event.number, "reads", param, events,
                            isChange)
               << "whose contents are not defined there";
      // What is filled is freed some time.
      while (end->number < event.number || !isChange(*end))
        ++end;
      addRead(event, *end);
    }
  }
  return success();
}

FailureOr<SmallVector<ParamRange>>
mlir::commsched::findParamRanges(ArrayRef<ParamEvent> events,
                                 UnshardedParam &param) {
  RangeFinder finder(events, param);
  if (failed(finder.run()))
    return failure();
  return finder.takeRanges();
}
