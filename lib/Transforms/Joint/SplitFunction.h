//===- SplitFunction.h - Split of a joint function --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates the two halves of a joint function, calls them, finds them by their
// calls, and rewrites them.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_SPLITFUNCTION_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_SPLITFUNCTION_H

#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Partition/Split.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/SymbolTable.h"

#include <string>

namespace mlir::commsched {

class OperationCosts;

/// The symbols of a partition, without `@`.
struct PartitionNames {
  std::string joint;
  std::string forward;
  std::string backward;
};

/// `f`, `f_forward` and `f_backward`.
PartitionNames getPartitionNames(func::FuncOp joint);

/// Emits an error if the joint function cannot be replaced by its halves: one
/// of their symbols is among those of the module, or an operation other than a
/// `func.call` refers to the joint function.
LogicalResult checkPartitionSymbols(func::FuncOp joint,
                                    const PartitionNames &names,
                                    SymbolTable &symbols,
                                    const SymbolUserMap &users);

struct PartitionHalves {
  func::FuncOp forward;
  func::FuncOp backward;
  /// The results of the forward behind so many are the values that it saves:
  /// the first arguments of the backward.
  unsigned numForwardOutputs = 0;
};

/// Halves that are erased with this, unless they are released.
struct OwnedHalves {
  OwningOpRef<func::FuncOp> forward;
  OwningOpRef<func::FuncOp> backward;
  unsigned numForwardOutputs = 0;

  PartitionHalves get() const {
    return {forward.get(), backward.get(), numForwardOutputs};
  }
  PartitionHalves release() {
    return {forward.release(), backward.release(), numForwardOutputs};
  }
};

/// Creates both halves behind the joint function, with those of its attributes
/// that hold for a half.
///
/// The forward takes all arguments but tangents and the backward's random
/// states, its own random states last, and returns the forward results and what
/// `split` saves; the backward takes what is saved, then the tangents, then its
/// random states, and returns the other results. A saved value carries the name
/// that `joint` knows it by on both sides. Every operation is cloned, in
/// program order, into the halves that compute it; one that only reads a static
/// dimension becomes a constant of the `arith` dialect, which must be loaded.
///
/// `split` is a partition of `joint`, with its saved values ascending; the
/// forward's and backward's names are free.
OwnedHalves splitFunction(const JointFunction &joint,
                          const partition::Split &split,
                          const PartitionNames &names);

/// Makes calls of the joint function, which are all of `users`, calls of the
/// forward and of the backward that takes what it saves, and erases the joint
/// function. One that nothing calls becomes the function that calls both. The
/// halves are private then.
void replaceJoint(func::FuncOp joint, ArrayRef<Operation *> users,
                  PartitionHalves halves);

/// The operations of both halves in one function, in front of the joint
/// function, which has its arguments and results. With `mayRename` no two
/// operations have one name (BodyInliner).
OwningOpRef<func::FuncOp> joinHalves(func::FuncOp joint, PartitionHalves halves,
                                     bool mayRename);

/// Halves, and all calls of each forward and backward that belong together.
struct CalledHalves {
  PartitionHalves halves;
  SmallVector<std::pair<func::CallOp, func::CallOp>> calls;
};

/// The halves that the module calls: the last results of a call of the forward
/// are the first operands of a call of the backward. That has an argument that
/// is a saved activation or a tangent, and the forward has none. In the order
/// of the calls. Linear in the operations.
std::vector<CalledHalves> findCalledHalves(ModuleOp module);

/// Verifies all halves that the module calls: that backwards take what their
/// forwards save. Emits an error for each that does not.
LogicalResult verifyPartitions(ModuleOp module);

/// The sizes that `value` is expected to have where its type has none, as
/// `commsched.size_hints` holds them. Null if it has all, or if one of them is
/// not known.
DenseI64ArrayAttr getSizeHints(Value value);

/// Puts what the first operation that uses a tangent, and those behind it,
/// depend on right before the first of them that needs it. Operations before it
/// that write memory stay in front, with what they depend on. A function of
/// several blocks, without such an operation, or with a forward in it, stays as
/// it is; with `emitRemarks`, a remark says what was done or why nothing was.
/// Emits an error when no problem can be made of the block; see
/// BlockProblem::create(). Returns whether anything moved. Linear.
FailureOr<bool> applyAutogradOrder(func::FuncOp function,
                                   bool emitRemarks = true);

/// Rewrites both halves of a partition, of one block each, such that saved
/// tensors of bf16 and of at least 1 MiB, inputs aside, are saved as f8E5M2
/// with a scale for each row, as commsched-quantize-activations does: the first
/// of them, up to `eighths` of their bytes. Returns how many there are. The
/// dialects `arith`, `linalg`, `math` and `tensor` must be loaded. Linear.
int64_t quantizeSavedValues(PartitionHalves halves, int32_t eighths,
                            bool emitRemarks);

/// Rewrites both halves, which have one block each, such that saved values
/// whose transfers computation hides (schedule::chooseHiddenTransfers(), with
/// the times of operations by `costs`) are saved on the host, within
/// `hostBytes`. Returns how many there are.
///
/// The forward offloads a value right behind its last use, waits where the
/// transfer is done, and returns a host tensor; the backward starts to reload
/// it as late as it can, and waits at its first use. Only tensors of static
/// size are sent that the forward computes and nothing else that it returns
/// shares memory with, and none of less than a 64th of the largest. Linear but
/// for sorting.
int64_t offloadSavedValues(PartitionHalves halves, OperationCosts &costs,
                           int64_t hostBytes);

/// Threads states through a joint function as long as it lives.
///
/// In front of every random compute whose policy is `must_recompute` it sets
///
///   %state = commsched.compute "rng.get_state"() {random, commsched.recompute
///       = "must_save"} : () -> tensor<16xi8>
///
/// which yields the generator's state (as many bytes as a counter-based one
/// has: a seed and an offset) and moves the generator on, as the operator would
/// have; the operator reads %state as its last operand and is no longer
/// `random`. It is then a function of its operands, as often as it is computed.
///
/// The destructor takes all of this back, so that a pass that fails afterwards
/// leaves no trace. Build the JointFunction in this object's life, and end that
/// or call keep() before the joint function is erased.
class RandomStates {
public:
  explicit RandomStates(func::FuncOp joint);
  ~RandomStates();
  RandomStates(const RandomStates &) = delete;
  RandomStates &operator=(const RandomStates &) = delete;

  /// Leaves the function as it is now.
  void keep() { threaded.clear(); }

private:
  /// The operations that read a state, in program order, and whether each was
  /// marked `random`: some operators are random by their names.
  SmallVector<std::pair<ComputeOp, bool>> threaded;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_SPLITFUNCTION_H
