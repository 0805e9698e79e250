//===- FsdpAnalysis.h - Collectives of sharded parameters -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognizes fully sharded data parallelism from the dataflow, not from names:
// gathers of one parameter, and reductions of gradients that the function
// returns.
//
// Finds gathers of a parameter that deliver the same values as an earlier one:
// they gather the same shard, computed in the same way from the same contents.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_FSDP_FSDPANALYSIS_H
#define COMMSCHED_ANALYSIS_FSDP_FSDPANALYSIS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::commsched {

/// The role of a collective for sharded parameters. Dataflow is that of SSA
/// values: a value that is written in place is followed where the operation
/// that writes it also has it as a result.
enum class FsdpRole {
  /// Nothing.
  None,
  /// An all-gather whose operand is made of exactly one parameter, through
  /// casts, padding and views: computations without arithmetic that have one
  /// tensor operand, concatenate it with constants or write it into one. The
  /// operand may also be the slice that a copy-in has packed several such
  /// tensors into.
  ///
  /// A parameter is an argument of the function with `commsched.role =
  /// "parameter"`; if no argument of the function has a role, any argument is.
  /// Numbers do not count: an index may come from anywhere. Values that are
  /// defined outside of the block are no parameters unless they are arguments
  /// of the function, and neither are those of control flow.
  ParameterGather,
  /// A reduce-scatter whose result is used, and reaches only the function's
  /// results, through operations of one operand apart from constants (in HSDP,
  /// an all-reduce among them): casts, views, scaling, squares. One that is
  /// added to what was there before is none. Uses that lead nowhere do not
  /// count.
  GradientScatter,
  /// HSDP: the all-reduce of a GradientScatter's result.
  GradientReduce,
};

/// Why a collective has FsdpRole::None.
struct FsdpObstacle {
  enum class Kind {
    /// Collectives of its kind have no role, or it is an all-reduce of
    /// something else than a GradientScatter's result.
    OtherUse,
    /// It gathers constants only.
    NoParameter,
    /// It gathers `value`, an argument that is no parameter.
    OtherArgument,
    /// It gathers `value`, which comes from outside of the block.
    OutsideValue,
    /// It gathers both `value` and `second`, two parameters.
    SecondParameter,
    /// It gathers what `op` makes, which is no cast, padding or view.
    OtherSource,
    /// Its results are not used.
    Unused,
    /// Its result is used by `op`, which neither leaves the function nor has
    /// just one operand.
    OtherUser,
  };

  Kind kind = Kind::OtherUse;
  Value value;
  Value second;
  Operation *op = nullptr;
};

/// The roles of the collectives of one block, those of every dialect. One of
/// several operands has a role if all of its operands say so.
class FsdpAnalysis {
public:
  /// Linear in the arguments of the function, the operations of the block,
  /// their operands and whatever is nested in them.
  explicit FsdpAnalysis(Block &block);

  /// None for whatever is no collective of the block.
  FsdpRole getRole(Operation *collective) const {
    return roles.lookup(collective);
  }

  /// The parameters that a ParameterGather gathers, arguments of the function
  /// in the order of its operands; none for any other operation.
  ArrayRef<Value> getParameters(Operation *collective) const;

  /// The only parameter that a ParameterGather gathers; null if it gathers
  /// several, and for any other operation.
  Value getParameter(Operation *collective) const;

  /// Whether parameters are gathered on the group with this key.
  bool isFsdpGroup(Attribute groupKey) const {
    return groups.contains(groupKey);
  }

  /// Why a collective of the block has no role; undefined for one that has a
  /// role.
  FsdpObstacle getObstacle(Operation *collective) const {
    return obstacles.lookup(collective);
  }

private:
  DenseMap<Operation *, FsdpRole> roles;
  DenseMap<Operation *, SmallVector<Value, 1>> parameters;
  DenseMap<Operation *, FsdpObstacle> obstacles;
  DenseSet<Attribute> groups;
};

/// A gather that would deliver the same as an earlier one, except that `writer`
/// writes in place what one of them gathers or delivers.
struct RewrittenGather {
  Operation *gather;
  Operation *earlier;
  Operation *writer;
};

class EqualGathers {
public:
  /// Looks at the gathers of one parameter each in `block`, of which `fsdp` is
  /// the analysis: those that are not coalesced and not in place. Two are the
  /// same if they are equal but for location and discardable attributes, and so
  /// are the operations without effects that make what they send.
  ///
  /// Linear in the operations of the block, nested ones included, and n log n
  /// in the gathers and in those operations.
  EqualGathers(Block &block, const FsdpAnalysis &fsdp);

  /// Sets of two or more gathers whose waits give the same, in the order of
  /// their waits. Nothing writes what they give in place.
  ArrayRef<SmallVector<Operation *>> getClasses() const { return classes; }

  ArrayRef<RewrittenGather> getRewritten() const { return rewritten; }

  /// Operations without effects, in program order, that make what gathers send.
  ArrayRef<Operation *> getPreparations() const { return preparations; }

private:
  SmallVector<SmallVector<Operation *>> classes;
  SmallVector<RewrittenGather> rewritten;
  SmallVector<Operation *> preparations;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_FSDP_FSDPANALYSIS_H
