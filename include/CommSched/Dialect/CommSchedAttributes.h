//===- CommSchedAttributes.h - Names of discardable attributes --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The discardable attributes that operations and arguments of any dialect may
// carry, and readers for those that passes ask for. The dialect verifies them.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDATTRIBUTES_H
#define COMMSCHED_DIALECT_COMMSCHEDATTRIBUTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <optional>
#include <string>

namespace llvm::json {
class OStream;
} // namespace llvm::json

namespace mlir::commsched {

inline constexpr llvm::StringLiteral nameAttrName = "commsched.name";
/// On an operation that a pass made of others: see setOrigin().
inline constexpr llvm::StringLiteral originAttrName = "commsched.origin";
inline constexpr llvm::StringLiteral moduleAttrName = "commsched.module";
inline constexpr llvm::StringLiteral runtimeNsAttrName = "commsched.runtime_ns";
inline constexpr llvm::StringLiteral orderAttrName = "commsched.order";
/// On a module: the measured profile that its costs are taken from.
inline constexpr llvm::StringLiteral profileAttrName = "commsched.profile";
/// On an operation: what was measured of it; on a collective by implementation.
inline constexpr llvm::StringLiteral measuredNsAttrName =
    "commsched.measured_ns";
/// On an operation or function: the graph, and on an operation the name in it,
/// under which a profile knows the operation, where a pass has changed them.
inline constexpr llvm::StringLiteral graphAttrName = "commsched.graph";
inline constexpr llvm::StringLiteral graphNameAttrName = "commsched.graph_name";
inline constexpr llvm::StringLiteral partitionAttrName = "commsched.partition";
inline constexpr llvm::StringLiteral recomputeAttrName = "commsched.recompute";
inline constexpr llvm::StringLiteral compileWithAttrName =
    "commsched.compile_with";
/// On a loop: how often its body runs, for costs only, where its bounds do not
/// say.
inline constexpr llvm::StringLiteral tripCountAttrName = "commsched.trip_count";
/// The same on a part of a loop of which nothing says how often it runs.
inline constexpr llvm::StringLiteral assumedTripCountAttrName =
    "commsched.assumed_trip_count";
inline constexpr llvm::StringLiteral roleAttrName = "commsched.role";
/// The callee of the `commsched.compute` that yields the state of a random
/// number generator. An operator that is given a state, that or an argument
/// that isRngState(), draws the same numbers whenever it is computed.
inline constexpr llvm::StringLiteral getStateCallee = "rng.get_state";

inline constexpr llvm::StringLiteral freeableAttrName = "commsched.freeable";
inline constexpr llvm::StringLiteral reorderInfoAttrName =
    "commsched.reorder_info";
inline constexpr llvm::StringLiteral baselinePeakBytesAttrName =
    "commsched.baseline_peak_bytes";
inline constexpr llvm::StringLiteral fsdpAttrName = "commsched.fsdp";

/// On a call: all that the callee does is to compute results in storage of
/// their own.
inline constexpr llvm::StringLiteral pureAttrName = "commsched.pure";

/// On a call, while passes run on the caller: what the callee takes, does and
/// holds. See CommSched/Analysis/Problem/CalleeSummary.h.
inline constexpr llvm::StringLiteral calleeAttrName = "commsched.callee";
inline constexpr llvm::StringLiteral calleePriceKey = "price";
inline constexpr llvm::StringLiteral calleeEffectsKey = "effects";
inline constexpr llvm::StringLiteral calleeStreamsKey = "streams";
inline constexpr llvm::StringLiteral calleeBytesKey = "inner_bytes";
inline constexpr llvm::StringLiteral calleeAliasesKey = "aliases";
inline constexpr llvm::StringLiteral noEffects = "none";
inline constexpr llvm::StringLiteral onlyCommunicates = "communication";

/// On an operation: what reads its results computes them on the way, so that
/// they take no storage. The number of the operand whose storage has to live
/// until then.
inline constexpr llvm::StringLiteral fusedAttrName = "commsched.fused";

/// On an operation: commsched-assume-fusion has written what it takes, and
/// whether it is fused.
inline constexpr llvm::StringLiteral assumedFusionAttrName =
    "commsched.assumed_fusion";

/// On a module: whoever makes the buckets of its plans copies with a kernel for
/// each tensor, and casts before it packs, or what it has packed. On a copy of
/// such a bucket: by how many kernels it is carried out.
inline constexpr llvm::StringLiteral separateCopiesAttrName =
    "commsched.separate_copies";
inline constexpr llvm::StringLiteral kernelsAttrName = "commsched.kernels";

/// On a module: whoever makes the buckets of its plans has no launch of several
/// tensors. What would be one is packed into one tensor, and each tensor is cut
/// out of what is delivered by a kernel of its own.
inline constexpr llvm::StringLiteral packedLaunchesAttrName =
    "commsched.packed_launches";

/// On an operation: it computes one of several chunks, or cuts or joins them.
/// See ChunkInfo.
inline constexpr llvm::StringLiteral chunkAttrName = "commsched.chunk";

/// On a `commsched.group`: the library that transports its messages, such as
/// the value gloo.
inline constexpr llvm::StringLiteral backendAttrName = "commsched.backend";
inline constexpr llvm::StringLiteral glooBackend = "gloo";

/// On an operation: the number of the region of activation checkpointing that
/// its `commsched.recompute` belongs to.
inline constexpr llvm::StringLiteral recomputeRegionAttrName =
    "commsched.recompute_region";

/// On a joint function: how many of its results, the first ones, are the
/// forward's.
inline constexpr llvm::StringLiteral numForwardOutputsAttrName =
    "commsched.num_forward_outputs";

/// On a joint function: the names of the values that its forward has to save.
inline constexpr llvm::StringLiteral savedValuesAttrName =
    "commsched.saved_values";

/// The role of an argument that holds a parameter, or this rank's shard of it.
inline constexpr llvm::StringLiteral parameterRole = "parameter";

/// The roles of the arguments of a joint function besides parameters.
inline constexpr llvm::StringLiteral inputRole = "input";
inline constexpr llvm::StringLiteral tangentRole = "tangent";

/// The roles of arguments that hold the state of a random number generator, or
/// a part of it such as a seed: anybody's, the forward's, the backward's. A
/// joint function hands the last to its backward alone. The forward's is saved
/// if the backward reads it.
inline constexpr llvm::StringLiteral rngStateRole = "rng_state";
inline constexpr llvm::StringLiteral forwardRngStateRole = "fwd_rng_state";
inline constexpr llvm::StringLiteral backwardRngStateRole = "bwd_rng_state";

/// The role of an argument whose storage may be freed after its last use even
/// without `commsched.freeable`.
inline constexpr llvm::StringLiteral savedActivationRole = "saved_activation";

/// The role of a memref argument that FSDP grows to use it, and frees after: it
/// has no storage where nothing uses it.
inline constexpr llvm::StringLiteral unshardedParamRole = "unsharded_param";

/// The role of an argument of a function; empty for any other value, and for an
/// argument without one. Where the name of an argument with the role
/// "rng_state" says which half's it is (getNamedRngState()), that half's role.
StringRef getRole(Value value);
StringRef getRole(FunctionOpInterface function, unsigned argument);

/// Whether a function may free or overwrite the storage of an argument after
/// its last use: the argument is marked `commsched.freeable`, a result replaces
/// it in the next repetition (`commsched.carried`), or it is a saved value.
bool isFreeable(FunctionOpInterface function, unsigned argument);

/// Whether `role` is one of the three of random states.
bool isRngState(StringRef role);

/// The role of the random state that is called `name`. Names follow
/// torch/_functorch/partitioners.py: one with `bwd_seed`, `bwd_base_offset` or
/// `bwd_rng_state` in it is the backward's, and one with `fwd_` in place of
/// `bwd_` the forward's; any other, and one with both, says nothing.
StringRef getNamedRngState(StringRef name);

/// Whether the module that `op` is in has `commsched.separate_copies`, or
/// `commsched.packed_launches`.
bool hasSeparateCopies(Operation *op);
bool hasPackedLaunches(Operation *op);

/// By how many kernels `op` is carried out: one, unless it says so.
int64_t getNumKernels(Operation *op);

/// The pinned cost of `op` in nanoseconds, if it has one.
std::optional<int64_t> getPinnedRuntimeNs(Operation *op);

/// The graph that `op` was measured in or may be: `commsched.graph` of `op` or
/// of its function, else the name of the function; empty outside of one.
StringRef getGraph(Operation *op);

/// The operand that `commsched.fused` names; null for an operation without it.
Value getFusedOperand(Operation *op);

/// The place of `op` in a fixed order of collectives, if it has one.
std::optional<int64_t> getCollectiveOrder(Operation *op);

/// The peak of live bytes that a function started from, if it says one.
std::optional<int64_t> getBaselinePeakBytes(Operation *function);

/// The moves of one collective or wait by an iterative pass: the dictionary
/// `commsched.reorder_info`, whose keys are these members in snake case.
struct ReorderInfo {
  /// The duration of the collective.
  int64_t commNs = 0;
  /// The computation between its start and its wait, afterwards.
  int64_t computeNs = 0;
  /// Communication without the computation that hides it; negative when there
  /// is more computation than needed.
  int64_t exposedBeforeNs = 0;
  int64_t exposedAfterNs = 0;
  /// How many operations, or groups of them, it passed.
  int64_t moves = 0;
  /// How many operations moved along with it.
  int64_t grouped = 0;
  /// Why it did not move further.
  std::string limitingFactor;
  /// The pass that writes this.
  std::string pass;
  /// The operations that it passed, each as `+NAME`, and the computation in its
  /// window with its time, as `+NAME[NS]`, up to the end of the window:
  /// `->W[NAME]` walking from the start, `->C[NAME]` walking back from the
  /// wait. The first ones, and how many more there are; empty and not in the
  /// dictionary if there are none.
  std::string movesInfo;
  std::string overlapInfo;
};

/// The operation's `commsched.reorder_info`, if it has one.
std::optional<ReorderInfo> getReorderInfo(Operation *op);

/// Sets the operation's `commsched.reorder_info`, in place of an earlier one.
void setReorderInfo(Operation *op, const ReorderInfo &info);

/// Prints the entries of the dictionary as those of an object.
void printReorderInfo(const ReorderInfo &info, llvm::json::OStream &stream);

/// The operation's `commsched.name`; empty when it has none.
StringRef getStableName(Operation *op);

/// Says by `commsched.origin` what `op` was made of: an element for each of
/// `members`, which may be several operations whose work is one now, the main
/// one first. An element is the name of an operation, or an array of names;
/// members without a name have none. Where a member stands for others already,
/// these are named.
void setOriginOfParts(Operation *op,
                      ArrayRef<SmallVector<Operation *, 2>> members);

/// As setOriginOfParts(), of members that are one operation each.
void setOrigin(Operation *op, ArrayRef<Operation *> members);

/// The operation's `commsched.origin`, an element after the other; empty when
/// it has none.
SmallVector<SmallVector<StringRef, 2>> getOrigin(Operation *op);

/// Of a function, on its memory budget: by how many bytes its last schedule
/// misses it, what of a budget in bytes is not the function's, whether its
/// callers have a budget, and until that is checked, which options help.
inline constexpr llvm::StringLiteral overBudgetBytesAttrName =
    "commsched.over_budget_bytes";
inline constexpr llvm::StringLiteral besideBytesAttrName =
    "commsched.beside_bytes";
inline constexpr llvm::StringLiteral perDeviceAttrName = "commsched.per_device";
inline constexpr llvm::StringLiteral budgetRemediesAttrName =
    "commsched.budget_remedies";

/// The bytes that `function` has the attribute for, if it has it.
std::optional<int64_t> getOverBudgetBytes(Operation *function);
std::optional<int64_t> getBesideBytes(Operation *function);

/// What `function` has the attribute for, or an empty string.
llvm::StringRef getBudgetRemedies(Operation *function);

/// What an operation with `commsched.chunk` does.
enum class ChunkPart {
  /// Computes one of the chunks of an operation. No key `part`.
  Chunk,
  /// Cuts a chunk out of a value: `part = "slice"`.
  Slice,
  /// Puts all chunks of a value together: `part = "whole"`.
  Whole,
  /// Moves a shard of a gather that is a ring from one rank to the next, waits
  /// for that, or is the local shard: `part = "ring"`.
  Ring,
};

/// The entries of the dictionary.
struct ChunkInfo {
  /// `of`: the name of what is in chunks. Chunks of one operation of a block,
  /// and no others, have the same.
  StringAttr of;
  /// `count`: the number of chunks, at least 2.
  int64_t count = 0;
  ChunkPart part = ChunkPart::Chunk;
  /// `index`: the number of the chunk, below `count`. A Whole has none.
  std::optional<int64_t> index;
  /// `axis`, `blocks`: the axis in the operation's rule and the blocks that it
  /// consists of (AxisSplit). Only a Chunk has them; its wait has those of the
  /// collective.
  std::optional<int64_t> axis;
  std::optional<int64_t> blocks;
};

/// The operation's `commsched.chunk`, if it has one.
std::optional<ChunkInfo> getChunkInfo(Operation *op);

/// Sets `commsched.chunk`.
void setChunkInfo(Operation *op, const ChunkInfo &info);

/// Verifies the value of `commsched.chunk` on `op`.
LogicalResult verifyChunkAttribute(Operation *op, Attribute attr);

/// On an argument: the number of the result of its function that the next
/// repetition takes in its place. A training step is a function that repeats.
inline constexpr llvm::StringLiteral carriedAttrName = "commsched.carried";

/// The result that feeds an argument in the next repetition, if one does.
std::optional<unsigned> getCarriedResult(FunctionOpInterface function,
                                         unsigned argument);

/// Sets the result that feeds an argument in the next repetition.
void setCarriedResult(FunctionOpInterface function, unsigned argument,
                      unsigned result);

/// The attributes, perhaps none, of an argument in a function that does not
/// repeat: whoever calls it hands over what a repetition would.
DictionaryAttr dropCarried(DictionaryAttr attrs);

/// Verifies the `commsched.carried` of an argument but for other arguments that
/// take the same result.
LogicalResult verifyCarried(Operation *op, unsigned argument, Attribute attr);

/// Makes the verifier of symbol tables check that `func.func` carries no result
/// into two arguments.
void registerStepVerifier(MLIRContext &context);

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_COMMSCHEDATTRIBUTES_H
