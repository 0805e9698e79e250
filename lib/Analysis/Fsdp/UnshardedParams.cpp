//===- UnshardedParams.cpp - Parameters that need no storage --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Fsdp/UnshardedParams.h"
#include "../Problem/Dependences.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "ParamUses.h"

using namespace mlir;
using namespace mlir::commsched;
using bufferization::ToTensorOp;
using Kind = ParamEvent::Kind;

//===----------------------------------------------------------------------===//
// Copies and the reads of their contents
//===----------------------------------------------------------------------===//

namespace mlir::commsched {

/// One copy into a parameter, and the reads up to the next copy or to where the
/// storage is freed.
struct ParamRange {
  FsdpCopyOp copy;
  /// Those that are used.
  SmallVector<bufferization::ToTensorOp> reads;
  /// The last that uses what is read; null if there is none.
  Operation *lastUser = nullptr;
  int32_t lastUse = 0;
};

} // namespace mlir::commsched

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
  return emitOpErrorWithNote(op, near->op->getLoc(),
                             "it is " + describe(near->kind) + " here")
         << what << " the unsharded parameter '" << param.name << "', ";
}

/// Counts the resizes among `events`, and notes an obstacle in `param` unless
/// the storage is grown and freed in turns. O(events).
static void checkResizes(ArrayRef<ParamEvent> events, UnshardedParam &param) {
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

/// Adds a read to `range`, the contents of which go at `end`.
static void addRead(const ParamEvent &event, const ParamEvent &end,
                    ParamRange &range, UnshardedParam &param) {
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

/// Assigns the reads of a parameter that is grown and freed in turns to its
/// copies, and counts both. Notes an obstacle in `param` if there is one; the
/// ranges are then not complete. Fails, after an error, where a copy finds no
/// storage or a read no contents. O(events).
static FailureOr<SmallVector<ParamRange>>
findParamRanges(ArrayRef<ParamEvent> events, UnshardedParam &param) {
  SmallVector<ParamRange> ranges;
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
      // An unused read may read any contents.
      if (event.op->use_empty())
        break;
      if (!isFilled)
        return reportAccess(event.op, event.number, "reads", param, events,
                            isChange)
               << "whose contents are not defined there";
      // Filled storage is always freed later.
      while (end->number < event.number || !isChange(*end))
        ++end;
      addRead(event, *end, ranges.back(), param);
    }
  }
  return ranges;
}

//===----------------------------------------------------------------------===//
// UnshardedParams
//===----------------------------------------------------------------------===//

namespace mlir::commsched {

class UnshardedParamsBuilder {
public:
  explicit UnshardedParamsBuilder(FunctionOpInterface function)
      : function(function) {}

  FailureOr<UnshardedParams> build();

private:
  void findParams();
  void numberOperations();
  LogicalResult check(UnshardedParam &param);
  void checkSources();
  void accept(const UnshardedParam &param, MutableArrayRef<ParamRange> ranges);

  FunctionOpInterface function;
  UnshardedParams result;
  OperationNumbers numbers;
  /// The uses of the parameters that are arguments.
  DenseMap<Value, std::unique_ptr<ParamUses>> uses;
  /// Copies of which the source is a tensor of a parameter.
  DenseSet<Operation *> copiesFromParams;
  /// Of those that pass all checks but that of the sources.
  DenseMap<Value, SmallVector<ParamRange>> ranges;
};

} // namespace mlir::commsched

void UnshardedParamsBuilder::findParams() {
  DenseSet<Value> found;
  function.walk([&](Operation *op) {
    Value storage;
    if (auto resize = dyn_cast<ResizeStorageOp>(op))
      storage = resize.getStorage();
    else if (auto copy = dyn_cast<FsdpCopyOp>(op))
      storage = copy.getStorage();
    if (!storage || !found.insert(storage).second)
      return;
    UnshardedParam param;
    param.storage = storage;
    param.op = op;
    result.params.push_back(param);
  });
}

void UnshardedParamsBuilder::numberOperations() {
  int32_t number = 0;
  function.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { numbers[op] = number++; });
}

LogicalResult UnshardedParamsBuilder::check(UnshardedParam &param) {
  auto it = uses.find(param.storage);
  if (it == uses.end()) {
    param.obstacle = ParamObstacle::NoArgument;
    return success();
  }
  const ParamUses &use = *it->second;
  auto stopAt = [&](ParamObstacle obstacle, Operation *op) {
    param.obstacle = obstacle;
    param.op = op;
    return success();
  };
  if (const FirstUse &first = use.getResizeObstacle(); first.op)
    return stopAt(first.obstacle, first.op);
  checkResizes(use.getEvents(), param);
  if (param.obstacle != ParamObstacle::None)
    return success();
  if (Operation *writer = use.getWriter())
    return reportAccess(writer, numbers.lookup(writer), "may write", param,
                        use.getEvents(), isChange)
           << "which only '" << FsdpCopyOp::getOperationName() << "' may";
  if (const FirstUse &first = use.getReadObstacle(); first.op)
    return stopAt(first.obstacle, first.op);
  for (const ParamEvent &event : use.getEvents())
    if (copiesFromParams.contains(event.op))
      return stopAt(ParamObstacle::CopiedFrom, event.op);
  FailureOr<SmallVector<ParamRange>> found =
      findParamRanges(use.getEvents(), param);
  if (failed(found))
    return failure();
  if (param.obstacle == ParamObstacle::None)
    ranges[param.storage] = std::move(*found);
  return success();
}

void UnshardedParamsBuilder::accept(const UnshardedParam &param,
                                    MutableArrayRef<ParamRange> ranges) {
  result.removable.insert(param.storage);
  for (ParamRange &range : ranges)
    for (ToTensorOp read : range.reads)
      result.contents[read] = range.copy.getSource();
}

/// Accepts the parameters of which the sources keep their contents as long as
/// the copies are used.
void UnshardedParamsBuilder::checkSources() {
  SmallVector<Value> sources;
  for (const UnshardedParam &param : result.params)
    if (auto it = ranges.find(param.storage); it != ranges.end())
      for (ParamRange &range : it->second)
        sources.push_back(range.copy.getSource());
  Block &block = function.getFunctionBody().front();
  // Parameters that are on their way out are no source's memory.
  auto isIgnored = [&](Operation *op) {
    if (auto resize = dyn_cast<ResizeStorageOp>(op))
      return ranges.contains(resize.getStorage());
    auto copy = dyn_cast<FsdpCopyOp>(op);
    return copy && ranges.contains(copy.getStorage());
  };
  WriteHistory history(block, sources, isIgnored);
  for (UnshardedParam &param : result.params) {
    auto it = ranges.find(param.storage);
    if (it == ranges.end())
      continue;
    for (ParamRange &range : it->second) {
      if (!range.lastUser)
        continue;
      Operation *writer =
          history.findWrite(range.copy.getSource(), range.copy,
                            block.findAncestorOpInBlock(*range.lastUser));
      if (!writer)
        continue;
      param.obstacle = ParamObstacle::SourceWritten;
      param.op = writer;
      param.other = range.copy;
      break;
    }
    if (param.obstacle == ParamObstacle::None)
      accept(param, it->second);
  }
}

FailureOr<UnshardedParams> UnshardedParamsBuilder::build() {
  findParams();
  if (result.params.empty())
    return std::move(result);
  numberOperations();
  Region &body = function.getFunctionBody();
  for (UnshardedParam &param : result.params) {
    auto argument = dyn_cast<BlockArgument>(param.storage);
    if (!argument || argument.getOwner() != &body.front())
      continue;
    param.name = getArgumentName(argument);
    auto use = std::make_unique<ParamUses>(argument, numbers);
    copiesFromParams.insert_range(use->getCopiesOn());
    uses[argument] = std::move(use);
  }
  bool hasFailed = false;
  for (UnshardedParam &param : result.params)
    hasFailed |= failed(check(param));
  if (hasFailed)
    return failure();
  if (!ranges.empty())
    checkSources();
  return std::move(result);
}

FailureOr<UnshardedParams>
UnshardedParams::create(FunctionOpInterface function) {
  return UnshardedParamsBuilder(function).build();
}
