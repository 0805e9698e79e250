//===- TransferChunks.cpp - How collectives divide into chunks ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StartOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// The dimension of the operand that is divided among the ranks, and that of
/// the result that is put together from them; negative if there is none.
struct RankDimensions {
  int64_t ofOperand = -1;
  int64_t ofResult = -1;
  /// The ranks have parts of different sizes, so that chunks of the parts have
  /// none that are equal on all ranks.
  bool isUneven = false;
};

} // namespace

static RankDimensions getRankDimensions(Operation *start) {
  return llvm::TypeSwitch<Operation *, RankDimensions>(start)
      .Case([](AllGatherOp op) {
        return RankDimensions{-1, static_cast<int64_t>(op.getDim())};
      })
      .Case([](ReduceScatterOp op) {
        return RankDimensions{static_cast<int64_t>(op.getDim()), -1};
      })
      .Case([](AllToAllOp op) {
        return RankDimensions{static_cast<int64_t>(op.getSplitDim()),
                              static_cast<int64_t>(op.getConcatDim()),
                              op.hasSplits()};
      })
      .Default(RankDimensions());
}

SplitRule mlir::commsched::detail::getTransferSplitRule(Operation *start) {
  auto collective = cast<CollectiveOpInterface>(start);
  auto group = SymbolTable::lookupNearestSymbolFrom<GroupOp>(
      start, cast<FlatSymbolRefAttr>(collective.getGroupKey()));
  if (!group)
    return {};
  int64_t ranks = group.getSize();
  auto sent = cast<RankedTensorType>(start->getOperand(0).getType());
  auto delivered =
      cast<RankedTensorType>(collective.getDeliveredTypes().front());
  RankDimensions dims = getRankDimensions(start);
  SplitRule rule;
  for (int64_t dim = 0, rank = sent.getRank(); dim < rank; ++dim) {
    if (sent.isDynamicDim(dim) || delivered.isDynamicDim(dim) ||
        (dims.isUneven && dim == dims.ofOperand))
      continue;
    int64_t inOperand = dim == dims.ofOperand ? ranks : 1;
    int64_t inResult = dim == dims.ofResult ? ranks : 1;
    rule.axes.push_back({sent.getDimSize(dim) / inOperand,
                         SplitAxisKind::Parallel,
                         {AxisPlace{0, dim, inOperand}},
                         {AxisPlace{0, dim, inResult}}});
  }
  return rule;
}

Operation *mlir::commsched::detail::createTransferChunk(Operation *start,
                                                        OpBuilder &builder,
                                                        ValueRange operands,
                                                        TypeRange delivered) {
  auto future =
      FutureType::get(start->getContext(), llvm::to_vector(delivered));
  return createWithTypes(builder, start, operands, TypeRange(future));
}
