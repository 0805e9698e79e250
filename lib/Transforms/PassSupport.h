//===- PassSupport.h - Blocks, remarks and files of passes ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes share besides their algorithms: the list of the blocks that they
// schedule one by one, the options of remarks, and output files.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_PASSSUPPORT_H
#define COMMSCHED_LIB_TRANSFORMS_PASSSUPPORT_H

#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"

namespace mlir::commsched {

/// A pass that says whether it has changed anything. `Base` is what TableGen
/// makes of it.
template <typename Base> class RewritingPass : public Base {
public:
  using Base::Base;

  void runOnOperation() final {
    FailureOr<bool> isChanged = rewrite();
    if (failed(isChanged))
      this->signalPassFailure();
    else if (!*isChanged)
      this->markAllAnalysesPreserved();
  }

protected:
  /// Returns whether anything has changed.
  virtual FailureOr<bool> rewrite() = 0;
};

/// The blocks of `function` that hold collectives themselves, inner ones
/// first. Linear in the operations.
SmallVector<Block *> getBlocksWithCollectives(func::FuncOp function);

/// Calls `rewrite`, which returns whether it changed its block, for one block
/// after the other. Returns whether any changed, or the first failure.
FailureOr<bool> rewriteBlocks(ArrayRef<Block *> blocks,
                              function_ref<FailureOr<bool>(Block &)> rewrite);

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

/// Returns whether remarks are enabled: otherwise no text need be composed.
bool areRemarksEnabled(Operation *op);

/// Options of a remark with the given name about the function of that name. All
/// remarks have the category `commsched`, so that `--remarks-filter` selects
/// them, and name the function, which distinguishes their records in a YAML
/// file.
remark::RemarkOpts makeRemark(StringRef name, StringRef function);

/// Emits the remark `BlockKept`: a block of `function` keeps its order, for
/// `reason`. `location` is the operation or value that the reason is about.
/// Metrics may be added to the returned remark.
remark::detail::InFlightRemark
remarkBlockKept(func::FuncOp function, Location location, const Twine &reason);

/// The problem of `block`, of `function`; without prices if `costs` is null.
/// None, after the remark `BlockKept`, if a collective is in flight across its
/// boundary.
FailureOr<std::optional<BlockProblem>>
readBlock(func::FuncOp function, Block &block, OperationCosts *costs,
          StreamOrder streamOrder = StreamOrder::Kept);

/// Emits the remark `Barrier` for each operation of `block` that a table of
/// operations does not describe, or whose attributes it cannot read: nothing
/// that communicates or uses memory moves across it.
void remarkBarriers(func::FuncOp function, Block &block);

/// Emits the remark `UnknownCallee` for each call in the functions of `level`
/// of which it is not known what it takes.
void remarkUnknownCallees(Callees &callees, size_t level);

/// Emits the remark `UnknownContention` about the function of that name for
/// each of `groups`, whose ranks or placement are not known.
void remarkUnknownGroups(Location location, StringRef function,
                         ArrayRef<Attribute> groups);

/// Emits a remark on each assumption about the function of that name:
/// `AssumedTime` with the price, or `AssumedSize`.
void remarkAssumptions(StringRef function, ArrayRef<Assumption> assumptions);

/// Emits `AssumedSize` for each value of `block`, of the function of that name,
/// whose size is not known.
void remarkAssumedSizes(StringRef function, Block &block);

/// The time of `op`, in nanoseconds; a remark if it is assumed.
int64_t priceOrRemark(StringRef function, Operation *op, OperationCosts &costs);

/// Writes what `print` prints to the file of that path; `-` is standard output.
/// A failure, such as a path that cannot be written or a full disk, is an error
/// at `loc`, which calls the contents `what`. A file is written beside the path
/// and then replaces what is there, so that nobody sees a partial one.
LogicalResult writeOutputFile(Location loc, StringRef path, StringRef what,
                              function_ref<void(raw_ostream &)> print);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_PASSSUPPORT_H
