//===- ChunkRings.cpp - Chunks that go around a ring ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkRings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::commsched;

RingPlaces mlir::commsched::createRingPlaces(OpBuilder &builder, Location loc,
                                             FlatSymbolRefAttr group,
                                             int64_t size) {
  RingPlaces result;
  auto record = [&](Operation *op) {
    result.operations.push_back(op);
    return op->getResult(0);
  };
  auto createConstant = [&](int64_t value) {
    return record(arith::ConstantIndexOp::create(builder, loc, value));
  };
  Value rank =
      record(RankOp::create(builder, loc, builder.getIndexType(), group));
  result.places.push_back(rank);
  Value modulus = createConstant(size);
  for (int64_t chunk = 1; chunk < size; ++chunk) {
    Value ahead = record(arith::AddIOp::create(builder, loc, rank,
                                               createConstant(size - chunk)));
    result.places.push_back(
        record(arith::RemUIOp::create(builder, loc, ahead, modulus)));
  }
  return result;
}

/// The pairs of a ring: each rank sends to the next one.
static SmallVector<int64_t> getPairs(int64_t size) {
  SmallVector<int64_t> pairs;
  for (int64_t rank = 0; rank < size; ++rank)
    pairs.append({rank, (rank + 1) % size});
  return pairs;
}

PermuteOp mlir::commsched::createRingStep(OpBuilder &builder, Location loc,
                                          Value value, FlatSymbolRefAttr group,
                                          int64_t size) {
  auto pairs = DenseIntElementsAttr::get(
      RankedTensorType::get({size, 2}, builder.getI64Type()), getPairs(size));
  return PermuteOp::create(
      builder, loc, FutureType::get(builder.getContext(), value.getType()),
      ValueRange(value), group, pairs, /*into=*/ValueRange());
}
