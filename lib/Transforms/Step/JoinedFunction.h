//===- JoinedFunction.h - Several functions in one --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates functions whose body is the operations of several functions, one
// after the other, or a part of those of one. The functions stay as they are.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEP_JOINEDFUNCTION_H
#define COMMSCHED_LIB_TRANSFORMS_STEP_JOINEDFUNCTION_H

#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "InlinedCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace mlir::commsched {

/// An argument or a result of one of the functions that are joined.
struct JoinedPort {
  /// The index of the function.
  unsigned part = 0;
  unsigned index = 0;
};

/// What one argument of a function becomes.
struct JoinedOperand {
  /// An argument of the joined function, or none.
  std::optional<unsigned> argument;
  /// Else this result of an earlier function.
  JoinedPort result;
};

/// How functions become one.
struct FunctionJoin {
  /// Each has one block, which a `func.return` ends.
  SmallVector<func::FuncOp> parts;
  /// By function: what comes in front of names that are taken.
  SmallVector<std::string> prefixes;
  /// By function and argument: what it becomes, of the same type.
  SmallVector<SmallVector<JoinedOperand>> operands;
  /// By argument of the joined function: where its type and attributes are
  /// from.
  SmallVector<JoinedPort> arguments;
  /// The results of the joined function.
  SmallVector<JoinedPort> results;
};

/// Emits an error at the module, with a note at the symbol, if the module has
/// the symbol `name`, which `option` of `pass` gives, and it is none of the
/// functions `replaced`.
LogicalResult checkNewSymbol(ModuleOp module, StringRef name,
                             ArrayRef<func::FuncOp> replaced, const Pass &pass,
                             const llvm::cl::Option &option);

/// The function that `option` of `pass` names, with or without `@`. Emits an
/// error if there is none with a body.
FailureOr<func::FuncOp> findNamedFunction(ModuleOp module, StringRef name,
                                          const Pass &pass,
                                          const llvm::cl::Option &option);

/// An argument or a result of a function that is created.
struct FunctionPort {
  /// What it is in the function that it is from.
  Value value;
  /// May be null.
  DictionaryAttr attrs;
};

/// The attributes of a function but those that link it to others, or say
/// something of its whole body, its results or its memory: what holds for a
/// part of it, too.
NamedAttrList dropWholeAttributes(NamedAttrList attrs);

/// Creates the function `name`, which is in no module yet, with these arguments
/// and results, and an empty block. `mapping` then leads to its arguments.
func::FuncOp createFunction(Location location, StringRef name,
                            ArrayRef<FunctionPort> arguments,
                            ArrayRef<FunctionPort> results, IRMapping &mapping);

/// Creates the function `name`, which is in no module yet, with the visibility
/// of the first part. The body is the operations of the parts in their order.
/// Arguments and results keep their attributes, but for dropCarried(). The
/// function gets the attributes that hold for all parts alike, but none that
/// links functions or says something of the whole body. Names are those of
/// BodyInliner. Linear in the operations.
func::FuncOp joinFunctions(const FunctionJoin &join, StringRef name);

//===----------------------------------------------------------------------===//
// The halves of a backward: those operations that compute the gradients of
// inputs, and the others, which compute the gradients of weights and run behind
// all of these
//===----------------------------------------------------------------------===//

/// What the two halves of a backward compute.
struct BackwardSplit {
  /// By result of the backward: whether it is a gradient of an input.
  llvm::BitVector isInputGradient;
  /// The operations of the half of the inputs. What any of them depends on is
  /// among them, and so is the wait of each start.
  llvm::DenseSet<Operation *> ofInputs;
  /// Those of them that the half of the weights repeats, since they take no
  /// time: views and constants.
  llvm::DenseSet<Operation *> repeated;
  /// What the half of the weights takes from that of the inputs: arguments,
  /// then results of operations, both in their order.
  SmallVector<Value> handed;
  /// The arguments of the backward that the half of the inputs takes.
  llvm::BitVector inputArguments;
  /// Those that the half of the weights takes from whoever feeds the backward.
  llvm::BitVector weightArguments;
};

/// Splits `function`, a lone block, for the results that are gradients of
/// inputs. Fails with an error where the operations contradict each other, and
/// returns an obstacle where the halves would differ from the whole. Linear in
/// the operations, operands and dependences.
FailureOr<std::optional<BlockObstacle>>
splitBackward(func::FuncOp function, const llvm::BitVector &isInputGradient,
              BackwardSplit &split);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEP_JOINEDFUNCTION_H
