//===- InlinedCalls.h - Bodies of functions in place of calls ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's inliner, with what schedules and profiles ask of names: they differ,
// and lead back to the function that an operation came from.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEP_INLINEDCALLS_H
#define COMMSCHED_LIB_TRANSFORMS_STEP_INLINEDCALLS_H

#include "CommSched/Analysis/Costs/Callees.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::commsched {

/// Whether `function` has a body of one block that a `func.return` ends.
bool hasLoneBlock(func::FuncOp function);

/// Names of one kind that differ between parts.
class PartNames {
public:
  /// A name that no part may take.
  void reserve(StringRef name) { taken.insert(name); }

  /// The names that come next are those of another part.
  void beginPart(StringRef partPrefix);

  /// The name that `name` has in the whole.
  StringRef get(StringRef name);

private:
  std::string choose(StringRef name) const;

  std::string prefix;
  /// Of earlier parts.
  llvm::StringSet<> taken;
  /// Of this part.
  llvm::StringMap<std::string> renamings;
};

/// Replaces calls in one function by the operations of what they call.
///
/// Where an operation has a `commsched.name` that is taken, the prefix of the
/// call and a dot come in front of it, and a number behind it if that is taken,
/// too; likewise the name of what is in chunks (`commsched.chunk`). Locations
/// are kept, and so are the names by which a profile knows the operations.
class BodyInliner : public InlinerInterface {
public:
  /// The names of the operations of `function` are taken.
  explicit BodyInliner(func::FuncOp function);

  /// Operations keep the names that they have, whether others have them or not:
  /// for functions that are only measured.
  explicit BodyInliner(MLIRContext *context)
      : InlinerInterface(context), mayRename(false) {}

  /// Replaces `call`, whose callee hasLoneBlock(), and calls `visit` for each
  /// call that takes its place. Linear in the operations of the callee.
  void inlineCall(func::CallOp call, func::FuncOp callee, StringRef prefix,
                  function_ref<void(func::CallOp)> visit = {});

  // Operations move between functions of one module.
  using InlinerInterface::isLegalToInline;
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  void
  processInlinedBlocks(iterator_range<Region::iterator> inlinedBlocks) final;
  using InlinerInterface::handleTerminator;
  void handleTerminator(Operation *op, ValueRange replaced) const final;

private:
  void rename(Operation *op);

  bool mayRename = true;
  PartNames names;
  PartNames chunks;
  /// Of the call that is being replaced.
  StringAttr graph;
  function_ref<void(func::CallOp)> visitCall;
};

/// Lets collectives of a block that come from several callees, whose order is
/// fixed in each, follow each other in the order of the block.
void renumberCollectives(func::FuncOp function);

/// Replaces the calls in `step` by what they call, and calls in that, where the
/// callee hasLoneBlock(). Arguments of the step that no call before took get
/// from a callee what the step does not say of them. Calls `explainKept` for
/// each call that stays, with its callee and the reason; functions that call
/// themselves do, so that a second run replaces no more. Returns the functions
/// whose operations are in the step now. Of the calls that the step has
/// itself, only those that `isTaken` are replaced. Linear in the operations.
SmallVector<func::FuncOp> inlineCalls(
    func::FuncOp step, const SymbolTable &symbols, const Callees &callees,
    function_ref<void(func::CallOp, func::FuncOp, StringRef)> explainKept,
    function_ref<bool(func::CallOp)> isTaken = [](func::CallOp) {
      return true;
    });

/// A copy of `step` behind it, with the operations of its parts. Linear in the
/// operations.
OwningOpRef<func::FuncOp> mergeCopy(func::FuncOp step,
                                    const SymbolTable &symbols,
                                    const Callees &callees);

/// Replaces `loop` by `count` iterations, whose counters `getCounter` returns.
/// Names (`commsched.name`) end with the iteration. For loops whose bounds are
/// no constants, too, which loopUnrollFull() of MLIR does not take. Linear in
/// the result.
void unrollFully(scf::ForOp loop, int64_t count,
                 function_ref<Value(int64_t)> getCounter);

/// The same of a loop of at least one iteration, without the condition that
/// ends it.
void unrollFully(scf::WhileOp loop, int64_t count);

/// The function that hasLoneBlock() and of which `call` makes a part of a step;
/// null if there is none.
func::FuncOp getPart(func::CallOp call, const SymbolTable &symbols);

/// Erases those of `parts` that are private and that nothing refers to any
/// more. Linear in the operations of the module.
void eraseUnused(ArrayRef<func::FuncOp> parts, SymbolTable &symbols);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEP_INLINEDCALLS_H
