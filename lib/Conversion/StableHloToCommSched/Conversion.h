//===- Conversion.h - From StableHLO to starts and waits --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of the conversion. All collectives of the module are read before
// the first one is replaced, so that a program with an error does not change.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_STABLEHLOTOCOMMSCHED_CONVERSION_H
#define COMMSCHED_LIB_CONVERSION_STABLEHLOTOCOMMSCHED_CONVERSION_H

#include "Groups.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::commsched::stablehlo {

/// A collective of StableHLO, and what was read of it.
struct Collective {
  explicit Collective(Operation *op, Operation *asyncStart = nullptr,
                      Operation *asyncDone = nullptr)
      : op(op), asyncStart(asyncStart), asyncDone(asyncDone) {}

  /// The collective itself.
  Operation *op;
  /// The pair around it; null if it is blocking.
  Operation *asyncStart;
  Operation *asyncDone;

  /// The operation that replaces it is one of `commsched` of this kind.
  CollectiveKind kind = CollectiveKind::AllGather;
  /// What the numbers in its groups or pairs are.
  DeviceIds ids = DeviceIds::Replicas;
  DeviceGroup *group = nullptr;
  /// Of all_gather, reduce_scatter and, for the split, all_to_all.
  int64_t dim = 0;
  /// Of all_to_all.
  int64_t concatDim = 0;
  Reducer reducer = {ReductionKind::Sum};
  /// Whether the operands are converted to the element types of the results.
  bool isPromoted = false;
  /// Of collective_permute.
  DenseIntElementsAttr pairs;
  /// An all_to_all whose parts are known at run time.
  bool isRagged = false;

  /// The operation that sends.
  Operation *getStart() const { return asyncStart ? asyncStart : op; }
};

/// An operation that communicates, or might, and blocks in its place.
struct Kept {
  Operation *op;
  std::string reason;
};

/// What the steps share.
struct Context {
  Context(ModuleOp module, int64_t ranksPerNode, bool isStrict);

  ModuleOp module;
  DeviceGroups groups;
  /// Whether what has no form in `commsched` is an error.
  bool isStrict;
  /// What has none.
  SmallVector<Kept> kept;
  /// Handles that were read before.
  llvm::DenseMap<Attribute, std::optional<ChannelHandle>> channelHandles;
};

/// How a collective was read.
enum class Reading {
  /// It has a form in `commsched`.
  Complete,
  /// It has none, and blocks in its place.
  Kept,
  /// An error was emitted.
  Failed,
};

/// Notes that `op` stays in its place, where it blocks. An error if the context
/// is strict.
Reading keep(Operation *op, const Twine &reason, Context &context);

/// Emits the remark `CollectiveKept`, with reason and price, for each operation
/// that stays. Failure, with an error, if the module's target is malformed.
LogicalResult remarkOnKept(Context &context);

/// The kind of the collective `op`; none if it is not a collective.
std::optional<CollectiveKind> getCollectiveKind(Operation *op);

// ReadCollectives.cpp

/// Reads what does not depend on other collectives: kind, dimensions and the
/// meaning of ids. Extends `evidence` by it.
Reading readAlone(Collective &collective, DeviceEvidence &evidence,
                  Context &context);

/// Reads the rest: groups, types and regions of `collective.op`.
Reading readCollective(Collective &collective, Context &context);

// ReadGroups.cpp

/// Reads the channel of `collective.op`, whose kind is known, and what its ids
/// are.
Reading readIds(Collective &collective, Context &context);

/// Extends `evidence` by the ids of `collective`, which `readIds` read. Its
/// types are those of `factor` devices; 0 if they do not say.
void addEvidence(const Collective &collective, int64_t factor,
                 DeviceEvidence &evidence, Context &context);

/// Reads groups and pairs into `group` and `pairs`.
Reading readGroup(Collective &collective, int64_t factor, Context &context);

// MeshAxes.cpp

/// Whether `groups` names axes of a mesh.
bool isMeshAxes(Attribute groups);

/// The matrix of devices that `groups`, axes of a mesh, stands for. Null, and
/// the reason, if it is not understood.
DenseIntElementsAttr expandMeshAxes(Attribute groups, ModuleOp module,
                                    std::string &reason);

// Collect.cpp

/// Finds the collectives of the module that have a form in `commsched`, in the
/// order of the text.
FailureOr<SmallVector<Collective>> collectCollectives(Context &context);

// InlineLoops.cpp

/// Inlines calls of private functions of one block in `stablehlo.while`, and in
/// what was inlined. Functions that nothing calls any more are erased. Linear
/// in the result.
void inlineCallsInLoops(ModuleOp module, SymbolTable &symbols);

// Outline.cpp

/// Moves the body of each `sdy.manual_computation` that is the closest one
/// around one of `collectives` into a private function.
void outlineManualComputations(ArrayRef<Collective> collectives,
                               SymbolTable &symbols);

// ReplaceCollectives.cpp

/// Replaces each collective by a start and a wait.
void replaceCollectives(MutableArrayRef<Collective> collectives,
                        Context &context, SymbolTable &symbols);

// Annotate.cpp

/// Adds `commsched.pure` to calls whose callees only compute.
void annotatePureCalls(ModuleOp module, SymbolTable &symbols);

/// Adds `commsched.freeable` to arguments that the caller donates, and to those
/// of an outlined function that get one of these which nothing else uses.
void annotateFreeableArguments(ModuleOp module, SymbolTable &symbols);

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_STABLEHLOTOCOMMSCHED_CONVERSION_H
