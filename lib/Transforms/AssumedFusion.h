//===- AssumedFusion.h - What a later compiler fuses ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation is *fused* if every operation that reads its results can compute
// them on the way. A transposition that is not fused is *absorbed* if every
// operation that reads its result can read any layout: a matrix product, or a
// loop. The compiler then chooses the layout of the operand, and nothing is
// moved.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_ASSUMEDFUSION_H
#define COMMSCHED_LIB_TRANSFORMS_ASSUMEDFUSION_H

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::commsched {

/// What an operation is to its neighbours.
struct FusionRole {
  /// Another kernel can compute its results on the way.
  bool isProducer = false;
  /// Its kernel can compute its operands on the way.
  bool isConsumer = false;
};

/// Whether commsched-assume-fusion has written what `op` takes.
bool isAssumed(Operation *op);

/// Replaces what commsched-assume-fusion has written in `function` by what
/// holds for it as it has become. Returns whether it has written anything.
bool renewAssumedFusion(func::FuncOp function, OperationCosts &costs);

/// What the kernel of `op` reads. A buffer that it writes into is not read.
OperandRange getReadOperands(Operation *op);

/// Decides which operations of the blocks of one module are fused.
class AssumedFusion {
public:
  explicit AssumedFusion(OperationCosts &costs) : costs(costs) {}

  /// Decides on the operations of `block`, from its end to its front, but not
  /// on those in their regions. Linear in the operations and their uses.
  void decide(Block &block);

  /// Whether a copy-in in the place of the only user of `op` computes it on the
  /// way.
  bool mayJoinCopyIn(Operation *op);

  // Of operations that were decided on:
  bool isFused(Operation *op) const { return fused.contains(op); }
  bool isAbsorbed(Operation *op) const { return absorbed.contains(op); }
  /// What the slices take that an operation with the results of `op`, which
  /// cuts them out of a buffer, becomes: nothing for a result that all that
  /// reads it computes on the way. None where a size is not known.
  std::optional<int64_t> getSlicesNs(Operation *op);

  /// The function that `call` calls by that name.
  func::FuncOp lookup(Operation *call, StringAttr name) {
    return costs.getSymbolTables().lookupNearestSymbolFrom<func::FuncOp>(call,
                                                                         name);
  }

private:
  FusionRole getRole(Operation *op);
  FusionRole getCallRole(CallOpInterface call);
  bool readsOnTheWay(Operation *user, Operation *op);
  bool isProducer(Operation *op);
  bool mayBeFused(Operation *op);
  bool mayBeAbsorbed(Operation *op);

  OperationCosts &costs;
  llvm::DenseSet<Operation *> fused;
  llvm::DenseSet<Operation *> absorbed;
  DenseMap<StringAttr, bool> pointwiseCallees;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_ASSUMEDFUSION_H
