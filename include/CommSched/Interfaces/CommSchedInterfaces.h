//===- CommSchedInterfaces.h - Interfaces of operations ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op interfaces that the analyses and passes of CommSched use. A dialect
// takes part by implementing them, or through external models.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_INTERFACES_COMMSCHEDINTERFACES_H
#define COMMSCHED_INTERFACES_COMMSCHEDINTERFACES_H

#include "CommSched/Interfaces/SplitRule.h"
#include "CommSched/Support/CollectiveKind.h"
#include "CommSched/Support/OperatorClass.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

#include "CommSched/Interfaces/CommSchedEnums.h.inc"

namespace mlir::commsched {

/// Begins an error at `op`, with a note at the other place that it is about.
inline InFlightDiagnostic emitOpErrorWithNote(Operation *op, Location other,
                                              const Twine &note) {
  InFlightDiagnostic diag = op->emitOpError();
  diag.attachNote(other) << note;
  return diag;
}

/// A process group as the cost model and the streams see it.
struct ProcessGroup {
  /// Ranks in the group, at least 1.
  int64_t size;
  /// The number of the group's ranks that share a node, in [1, size].
  int64_t ranksPerNode;
};

/// The most of `ranks` that share one node, where each node has `ranksPerNode`
/// consecutive ranks, at least 1; 0 without ranks.
int64_t countRanksOnOneNode(ArrayRef<int64_t> ranks, int64_t ranksPerNode);

/// The resource on which communication has its effects. The effect's symbol
/// names the group, so that two groups are two resources.
struct CommunicationResource
    : public SideEffects::Resource::Base<CommunicationResource> {
  StringRef getName() final { return "commsched.communication"; }
};

/// The state of a random-number generator: keeps random operators in order.
struct RandomStateResource
    : public SideEffects::Resource::Base<RandomStateResource> {
  StringRef getName() final { return "commsched.random_state"; }
};

/// The program on the host: keeps what is exchanged with it in order, as
/// callbacks, which do not reach other devices.
struct HostResource : public SideEffects::Resource::Base<HostResource> {
  StringRef getName() final { return "commsched.host"; }
};

/// How an operation uses its regions.
enum class RegionUse : uint8_t {
  /// Not at all, or in a way that is not known.
  Unknown,
  /// For each element, as the combiner of a reduction.
  Element,
  /// Each of them once.
  Once,
  /// One of them, which is chosen when the operation runs.
  Branch,
  /// All of them in each iteration.
  Loop,
};

/// The types of a dialect that stand for tensors without being ShapedTypes.
class TensorTypeDialectInterface
    : public DialectInterface::Base<TensorTypeDialectInterface> {
public:
  TensorTypeDialectInterface(Dialect *dialect) : Base(dialect) {}

  /// The shape and element type of a value of `type`, which belongs to the
  /// dialect; null if it is no tensor. Threads may call it at the same time.
  virtual ShapedType getTensorType(Type type) const = 0;
};

/// `type` if it is a ShapedType, or what it stands for in its dialect
/// (TensorTypeDialectInterface); null if it is no tensor.
ShapedType getTensorType(Type type);

/// Bytes of a value of `type`: tensors by their static shape (elements are
/// padded to whole bytes), 0 for types without storage (tokens, futures,
/// indices and scalars); none when a dimension is dynamic.
std::optional<int64_t> getStaticBytes(Type type);

/// The sum over `types`, or none when one of them is not static or the sum
/// does not fit in 64 bits.
std::optional<int64_t> getStaticBytes(TypeRange types);

/// Gives the dynamic sizes of values, for costs and memory only:
///  - on an operation, those of all dynamic dimensions of its results, in
///    order; on a collective with a future, those of what it delivers, which
///    are the wait's as well;
///  - on an argument of a function, those of its dynamic dimensions.
inline constexpr StringLiteral sizeHintsAttrName = "commsched.size_hints";

/// On a collective: the name of the implementation that carries it out, one of
/// those that the target lists. Without it, the implementation is NCCL.
inline constexpr StringLiteral implementationAttrName =
    "commsched.implementation";

/// The number of dynamic dimensions of `types`.
int64_t countDynamicDims(TypeRange types);

/// The type of `value`, with its size hints in the place of dynamic sizes. An
/// argument that a loop carries has those of the loop's result. Without hints,
/// or if they are too few, it is the type as it is.
Type getSizedType(Value value);
SmallVector<Type> getSizedTypes(ValueRange values);

/// The same for what `collective` delivers.
SmallVector<Type> getSizedDeliveredTypes(Operation *collective);

/// The whole number that a constant holds, one or the same in all elements;
/// none if an int64_t cannot.
std::optional<int64_t> getWholeNumber(Attribute constant);

/// Bytes of all operands and results of `op`, by getSizedType(); none when one
/// is not known.
std::optional<int64_t> getOperandAndResultBytes(Operation *op);

/// Bytes of `values` by getSizedType(), each counted `times` times; none when
/// one is not known or the sum does not fit.
std::optional<int64_t> getMultipleOfBytes(ValueRange values, int64_t times);

/// Bytes that a slice or a gather moves: it reads as much of the first operand
/// as the results hold, and all other operands whole.
std::optional<int64_t> getSelectionBytes(Operation *op);

/// The elements of a value of `type`, 0 if it is no tensor; none when a
/// dimension is dynamic. A double, as products of such counts exceed 2^63 in
/// large programs, and costs need only their leading digits.
std::optional<double> getElementCount(Type type);
/// The same by getSizedType().
std::optional<double> getElementCount(Value value);

namespace detail {
Attribute getDefaultBucketKey(Operation *collective);
Type getDefaultComputeType(Operation *op);
bool isExpensiveByDefault(Operation *op);
Operation *getStart(Value future);
Operation *getWait(Value future);
LogicalResult verifyCollective(Operation *op);
LogicalResult verifyWait(Operation *op);
} // namespace detail

} // namespace mlir::commsched

#include "CommSched/Interfaces/CommSchedInterfaces.h.inc"

namespace mlir::commsched {

/// The name that `commsched.implementation` gives a collective; null where it
/// is NCCL as it decides.
StringAttr getImplementation(Operation *collective);

/// Identifies the in-order stream on which a collective runs: its group, and
/// its implementation unless that is NCCL as it decides.
Attribute getStreamKey(CollectiveOpInterface collective);

// A future is consumed exactly once, by a wait in its own block. Only the
// constructs of the steady state hand futures over the boundary of a block:
// functions with `commsched.steady_state`, by their arguments and their
// terminator, and loops with `commsched.pipelined`, by what they carry.

/// On a function: it is the prologue, the steady state or the epilogue of a
/// step that repeats.
inline constexpr StringLiteral steadyStateAttrName = "commsched.steady_state";

/// On a loop: iterations overlap.
inline constexpr StringLiteral pipelinedAttrName = "commsched.pipelined";

/// Whether futures may be arguments of the blocks of `op`, and operands of
/// their terminators.
bool isSteadyStateConstruct(Operation *op);

/// Whether `value` is an argument of a construct of the steady state, or the
/// result of a pipelined loop: the collective, if it is one in flight, was
/// started elsewhere.
bool isCarriedValue(Value value);

/// Checks that the carried value `future` is consumed exactly once. Errors name
/// the argument or the result.
LogicalResult verifyCarriedFuture(Value future);

/// Whether `op` is a start whose wait is not in its block, or a wait whose
/// start is not.
bool isHalfOfPair(Operation *op);

} // namespace mlir::commsched

#endif // COMMSCHED_INTERFACES_COMMSCHEDINTERFACES_H
