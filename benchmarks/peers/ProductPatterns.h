//===- ProductPatterns.h - Products beside collectives ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the products of gathered tensors and the products that are scattered,
// through views, in programs of `commsched.compute` with operators of PyTorch.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PEERS_PRODUCTPATTERNS_H
#define COMMSCHED_BENCHMARKS_PEERS_PRODUCTPATTERNS_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::commsched {

/// The dimension of a product that is divided.
enum class ProductAxis {
  /// Of the left operand and the result.
  Rows,
  /// Of both operands: the chunks' products are partial sums.
  Sum
};

struct DividedProduct {
  ComputeOp product;
  ProductAxis axis;
  /// The gathered operand.
  unsigned operand;
};

/// A gather and the products of what it delivers.
struct GatherPattern {
  AllGatherOp start;
  WaitOp wait;
  int64_t numRanks;
  SmallVector<DividedProduct, 4> products;
  /// What lies between: views of the gathered tensor that only these products
  /// use, users before what they use.
  SmallVector<Operation *, 4> views;
};

/// A product that is scattered along its rows and used by nothing else.
struct ScatterPattern {
  ComputeOp product;
  ReduceScatterOp start;
  WaitOp wait;
  int64_t numRanks;
  /// What lies between, users before what they use.
  SmallVector<Operation *, 12> views;
};

/// Of one block. Collectives over the groups that gather parameters are left
/// out.
struct ProductPatterns {
  SmallVector<GatherPattern> gathers;
  SmallVector<ScatterPattern> scatters;
};

/// `withSums`: products over the gathered dimension count, too. Every product
/// is in one pattern at most.
ProductPatterns findProductPatterns(Block &block, bool withSums);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PEERS_PRODUCTPATTERNS_H
