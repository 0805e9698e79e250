//===- UnshardedParams.cpp - Parameters that need no storage --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Fsdp/UnshardedParams.h"
#include "../Problem/WriteHistory.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "ParamRanges.h"

using namespace mlir;
using namespace mlir::commsched;
using bufferization::ToTensorOp;

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
  /// What happens to those that are arguments.
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
    return reportWrite(writer, numbers.lookup(writer), param, use.getEvents());
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
