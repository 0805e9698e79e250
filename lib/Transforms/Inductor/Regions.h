//===- Regions.h - Marked regions and their functions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of commsched-compile-regions: collect the operations that carry
// `commsched.compile_with`, decide which of them become one function, and
// outline these functions.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_INDUCTOR_REGIONS_H
#define COMMSCHED_LIB_TRANSFORMS_INDUCTOR_REGIONS_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::commsched {

/// The prefix of the names of outlined functions, before their number.
inline constexpr StringLiteral regionFunctionPrefix = "__marked_region_";

/// A region: all operations whose marks have one name.
struct MarkedRegion {
  /// Empty for marks without one.
  StringRef name;
  /// Empty if no mark names one.
  StringRef pipeline;
  /// The first operation of the module that names the pipeline, or else the
  /// region.
  Operation *first = nullptr;
  /// What marks ask of other compilers, as a key and its value, with the first
  /// operation that does. Marks may give one key several values.
  llvm::MapVector<std::pair<StringRef, StringRef>, Operation *> settings;
};

/// How messages name `region`.
std::string describe(const MarkedRegion &region);

/// A marked operation. Marks inside of another marked operation do not count.
struct MarkedOperation {
  Operation *op;
  /// The index of its region.
  int32_t region;
};

/// The marks of a module.
struct Marks {
  /// In the order in which the module names them first.
  SmallVector<MarkedRegion> regions;
  /// By block, in program order, the operations that can be outlined.
  llvm::MapVector<Block *, SmallVector<MarkedOperation>> blocks;
};

/// Reads the marks of `module`, those on functions that regions have become
/// and on declarations excepted. Emits an error where one region is named with
/// two pipelines; a remark where an operation cannot be outlined. Linear in the
/// operations.
FailureOr<Marks> collectMarks(ModuleOp module);

/// An operation that a function is to have.
struct RegionMember {
  Operation *op = nullptr;
  /// It stays for others and the function gets a copy: it is a constant, a view
  /// of what the function takes, or one of what it returns.
  bool isCopied = false;
};

/// Whether `op` is a constant, or a tensor without contents: every function has
/// one of its own.
bool isFreeToCopy(Operation *op);

/// Operations that become one function.
struct RegionSet {
  int32_t region = 0;
  /// In program order; at least one is not copied.
  SmallVector<RegionMember> members;
};

/// The plan for the marked operations of one block.
struct MarkedBlock {
  BlockProblem problem;
  /// In which the members of each set that are not copied stand together.
  schedule::Order order;
  SmallVector<RegionSet> sets;
  /// Those that stay though they are of a region: constants and views that
  /// others use, and that make nothing that the function has to return.
  SmallVector<Operation *> passedOn;
};

/// Forms the sets of `block`: as large as can be without going through another
/// operation on a path of dependences between two members, see
/// `schedule::formConvexSets`. Emits a remark for each start or wait that
/// cannot be in a set, as the other one is not, and an error where the block is
/// no scheduling problem.
FailureOr<MarkedBlock> planBlock(Block &block,
                                 ArrayRef<MarkedOperation> marked);

class OperationCosts;

/// A set that has become a function.
struct OutlinedRegion {
  func::FuncOp function;
  func::CallOp call;
  int32_t region = 0;
  /// The first member, as it was.
  Location loc;
  OperationName name;
  /// How many members there are.
  size_t numOperations = 0;
  /// Whether a member has a pinned cost.
  bool isPinned = false;
};

/// Outlines the sets of `blocks` to private functions next to those that they
/// are called from, in program order of the calls: `@__marked_region_0` and so
/// on, where that is no symbol yet. They take the values that the set uses, in
/// the order of use, and return those that others use, in program order.
/// Constants are copied instead, and go where nothing is left that uses them.
/// The marks are taken off. Linear in the
/// operations of the module.
SmallVector<OutlinedRegion> outlineRegions(ModuleOp module,
                                           ArrayRef<MarkedBlock> blocks);

/// Describes what is called on the call: `commsched.pure` if the function has
/// no effect, and `commsched.runtime_ns`, the time that its schedule takes as
/// `costs` price it, if members had pinned costs and all are known.
LogicalResult describeCall(OutlinedRegion outlined, OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_INDUCTOR_REGIONS_H
