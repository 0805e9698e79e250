//===- CostAnalysis.h - Costs of operations as an analysis ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The context in which passes estimate costs: the target of the module, the
// tables that resolve process groups, and the costs of operations on both.
//
// Where the time of an operation or the size of a value is not known, a
// scheduling problem has a stand-in: what is known of the operation, and no
// bytes. This is what passes and reports say about them.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_COSTANALYSIS_H
#define COMMSCHED_ANALYSIS_COSTS_COSTANALYSIS_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched {

/// Symbol tables that scan. A pass on functions may not share symbol tables
/// between functions, and to build one for each function takes functions times
/// symbols. Process groups are few and mostly stand at the front of the module:
/// this collection scans the module until it meets the symbol, and caches the
/// result. The answers are those of the base class; for an operation that is
/// not in the module of `root`, they are those for `root`. The module must not
/// change while the object lives.
class ScanningSymbolTables : public SymbolTableCollection {
public:
  using SymbolTableCollection::lookupNearestSymbolFrom;
  using SymbolTableCollection::lookupSymbolIn;

  explicit ScanningSymbolTables(Operation *root = nullptr)
      : table(root ? SymbolTable::getNearestSymbolTable(root) : nullptr),
        outermost(root ? getOutermost(root) : nullptr) {}

  Operation *lookupSymbolIn(Operation *symbolTableOp,
                            StringAttr symbol) override;
  Operation *lookupSymbolIn(Operation *symbolTableOp,
                            SymbolRefAttr name) override;
  Operation *lookupNearestSymbolFrom(Operation *from,
                                     StringAttr symbol) override;
  Operation *lookupNearestSymbolFrom(Operation *from,
                                     SymbolRefAttr name) override;

private:
  static Operation *getOutermost(Operation *op) {
    while (Operation *parent = op->getParentOp())
      op = parent;
    return op;
  }
  Operation *getNearestTable(Operation *from) const {
    return outermost && getOutermost(from) != outermost
               ? table
               : SymbolTable::getNearestSymbolTable(from);
  }

  /// Of the root; may be null.
  Operation *table;
  /// The operation that has the root and is in no other; null without a root.
  Operation *outermost;
  DenseMap<std::pair<Operation *, StringAttr>, Operation *> found;
};

/// The costs of the operations of a function or module:
///
///   OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
///   if (!costs)
///     return signalPassFailure();
///
/// It depends on the target, the profile and the groups of the module, not on
/// the bodies of functions: a pass on functions that uses it may declare it
/// preserved with markAnalysesPreserved<CostAnalysis>().
class CostAnalysis {
public:
  /// Reads the target and the profile of `op`; see getTarget() and
  /// getProfile(), which emit the errors. A collective in `op` that names an
  /// implementation that the target does not list, or that cannot carry it out,
  /// is an error, too.
  explicit CostAnalysis(Operation *op);

  /// With `profile` instead of the module's.
  CostAnalysis(Operation *op, const cost::MeasuredTable &profile);

  /// For what no pass runs on: a function that a pass has created or handles
  /// beside others at the same time, a module that a tool reads. Fails where
  /// getCosts() is null.
  static FailureOr<std::shared_ptr<CostAnalysis>> create(Operation *op);

  CostAnalysis(const CostAnalysis &) = delete;
  CostAnalysis &operator=(const CostAnalysis &) = delete;

  /// The costs, or null if the target specification or an implementation is
  /// invalid; the constructor has then emitted an error.
  OperationCosts *getCosts() { return costs ? &*costs : nullptr; }

  /// The tables that resolve process groups.
  SymbolTableCollection &getSymbolTables() { return symbolTables; }

private:
  void read(Operation *op, const cost::MeasuredTable *profile);

  ScanningSymbolTables symbolTables;
  std::optional<OperationCosts> costs;
};

//===----------------------------------------------------------------------===//
// Assumptions
//===----------------------------------------------------------------------===//

/// The problem of `block` at the prices of `costs`, with StreamOrder::Free.
FailureOr<BlockProblem> priceBlock(Block &block, OperationCosts &costs);

/// A stand-in for what is not known of an operation or a value.
struct Assumption {
  Location location;
  /// The operation or value, the stand-in and the reason, as a remark.
  std::string text;
  /// The time that an operation is assumed to take; none for a value, which is
  /// assumed to have no bytes.
  std::optional<int64_t> timeNs;
};

/// That the time of `op`, which `costs` does not know, is what it is priced at.
Assumption assumeTime(Operation *op, OperationCosts &costs);

/// That `value`, whose size is not known, has no bytes.
Assumption assumeSize(Value value);

/// The times that `block`, which was priced by `costs`, takes as known, in
/// program order.
std::vector<Assumption> listAssumedTimes(const BlockProblem &block,
                                         OperationCosts &costs);

/// The sizes that `block` takes as known.
std::vector<Assumption> listAssumedSizes(const BlockProblem &block);

/// Both.
std::vector<Assumption> listAssumptions(const BlockProblem &block,
                                        OperationCosts &costs);

/// Emits an error about the first operation or value of which `block` takes
/// something as known, if there is any.
LogicalResult refuseAssumptions(const BlockProblem &block,
                                OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_COSTANALYSIS_H
