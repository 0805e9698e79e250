//===- BlockProblem.h - Scheduling problem of a block -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bridge between IR and solvers: turns a block into a problem on dense
// indices, and an order of indices back into an order of operations.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_BLOCKPROBLEM_H
#define COMMSCHED_ANALYSIS_PROBLEM_BLOCKPROBLEM_H

#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/OperationPrice.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Schedule/Model/Problem.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// Adds the operations of a block to a problem, in their order: which node an
/// operation is, its kind and its stream.
class BlockNodes {
public:
  /// `problem` outlives this.
  explicit BlockNodes(schedule::Problem &problem) : problem(problem) {}

  /// Adds `op`, which takes `costNs` unless it is a wait for a collective that
  /// was added. `effect` is getCommunicationEffect() of `op`, or what
  /// getEffectInBlock() makes of it.
  schedule::NodeId add(Operation *op, CommunicationEffect effect,
                       int64_t costNs);

  /// Adds `wait` for the collective that `start`, which was added, has started
  /// in the iteration before.
  void addLateWait(Operation *wait, Operation *start) {
    nodeOf[wait] = problem.addWait(lookup(start));
  }

  /// The node of `op`, or noNode if it was not added.
  schedule::NodeId lookup(Operation *op) const {
    return nodeOf.lookup_or(op, schedule::noNode);
  }

  /// The key of each stream (getStreamKey()), in the order of first appearance.
  SmallVector<Attribute> takeStreams() { return std::move(streams); }

  /// By stream: its first collective.
  ArrayRef<Operation *> getStreamCollectives() const { return collectives; }

private:
  schedule::StreamId getStream(Operation *collective);
  void findStreamsIdle(Operation *op, schedule::NodeId node);

  schedule::Problem &problem;
  DenseMap<Operation *, schedule::NodeId> nodeOf;
  DenseMap<Attribute, schedule::StreamId> streamOf;
  SmallVector<Attribute> streams;
  SmallVector<Operation *> collectives;
  /// By stream: its starts since an operation that found it idle.
  SmallVector<SmallVector<schedule::NodeId>> starts;
};

/// getCommunicationEffect(), but for halves of pairs. The start of a collective
/// that is waited for elsewhere, as in a loop with `commsched.pipelined`,
/// blocks: the loop finds it ended. The wait for a collective that was started
/// elsewhere does nothing: whoever started it counts until it ends.
CommunicationEffect getEffectInBlock(Operation *op);

/// Whether the collective of `op`, a start or a wait, is in flight across the
/// boundary of its block: it is neither a whole pair in the block nor handed to
/// a loop of the block, or taken from one.
bool isInFlightAcrossBlock(Operation *op);

/// Whether the collectives of one stream keep the order of the program.
/// Transfers to and from the host need not, as no other rank takes part.
enum class StreamOrder {
  /// All of them do.
  Kept,
  /// Only sends and receives do, which may meet different operations on other
  /// ranks, and whatever `commsched.order` numbers. All ranks have to change
  /// the order of the others alike.
  Free,
};

/// The operations of a block, without its terminator, as nodes 0, 1, … in
/// program order. Dependences come from
///   - SSA values, those used in nested regions included (data),
///   - memory effects on values and their aliases, on the default resource, on
///     the random state and on unknown resources (memory). Tensors count where
///     an operation writes them in place. Values from outside of the block,
///     arguments of blocks and memref arguments without `commsched.role` may
///     all be the same memory; a call may write its arguments,
///   - the order of collectives on each stream as far as it is kept (see
///     StreamOrder), and `commsched.order` (order),
///   - operations with unknown communication, operations that hold collectives
///     in a region, and blocking collectives: no start, wait or other such
///     operation crosses them (barrier). The same holds for a start or a wait
///     whose other half is not in the block,
///   - the streams of collectives in a region or a callee, which the operation
///     that holds them finds idle (stream).
///
/// Buffers are the block's storages, and for each operation with regions one
/// for what is live in them (computeScratchBytes()). The wait of a collective
/// uses what the collective has in flight.
class BlockProblem {
public:
  /// What an operation takes.
  using CostFunction = function_ref<OperationPrice(Operation *)>;

  /// Builds and checks the problem. Emits an error when `commsched.order`
  /// contradicts the program order, or the costs or sizes do not add up within
  /// 64 bits. Unknown sizes count as 0; see getUnsized(). `scratch` is for
  /// computeScratchBytes(). Linear in the operations, operands and effects of
  /// the block.
  static FailureOr<BlockProblem>
  create(Block &block, CostFunction getCost,
         StreamOrder streamOrder = StreamOrder::Kept,
         ScratchBytes *scratch = nullptr);

  /// The same without prices.
  static FailureOr<BlockProblem>
  create(Block &block, StreamOrder streamOrder = StreamOrder::Kept);

  const schedule::Problem &getProblem() const { return problem; }

  /// The operation of a node.
  Operation *getOperation(schedule::NodeId node) const {
    return operations[node];
  }

  /// The value that a buffer was allocated for; see Storage::root. Null for
  /// what is live in the regions of the operation that makes the buffer.
  Value getBufferRoot(schedule::BufferId buffer) const {
    return bufferRoots[buffer];
  }

  /// The last operation that takes over a buffer; see
  /// StorageAnalysis::getTakenOver(). Null if there is none.
  Operation *getTaker(schedule::BufferId buffer) const {
    return takers.lookup(buffer);
  }

  /// The bytes of a buffer in the memory of the host, which take none of the
  /// device; 0 for all buffers that collectives and computation use.
  int64_t getHostBytes(schedule::BufferId buffer) const {
    return hostBytes[buffer];
  }

  /// The key of each stream (getStreamKey()), in the order of first appearance.
  ArrayRef<Attribute> getStreams() const { return streams; }

  /// What all operations take together.
  const OperationPrice &getPrice() const { return price; }

  /// The operations whose price is assumed, all or a part of it, in program
  /// order.
  ArrayRef<Operation *> getAssumed() const { return assumed; }

  /// The values whose storage has no known size and counts as 0 bytes, each
  /// storage once.
  ArrayRef<Value> getUnsized() const { return unsized; }

  /// The first start or wait whose other half is not in the block, or null. Its
  /// collective is in flight longer than the block says, so that neither times
  /// nor memory are those of the program.
  Operation *getHalfOfPair() const { return halfOfPair; }

  /// Puts the block's operations into `order`, which must be a legal order of
  /// the problem. Returns whether anything moved.
  bool apply(const schedule::Order &order) const;

private:
  friend class BlockProblemBuilder;

  Block *block = nullptr;
  schedule::Problem problem;
  SmallVector<Operation *> operations;
  SmallVector<Value> bufferRoots;
  DenseMap<schedule::BufferId, Operation *> takers;
  /// By buffer.
  std::vector<int64_t> hostBytes;
  SmallVector<Attribute> streams;
  OperationPrice price;
  SmallVector<Operation *> assumed;
  SmallVector<Value> unsized;
  Operation *halfOfPair = nullptr;
};

/// A fact that keeps a block from being simulated.
struct BlockObstacle {
  Location location;
  std::string reason;
};

/// Why `block` cannot be simulated: a collective that is in flight across its
/// boundary.
std::optional<BlockObstacle> getObstacle(const BlockProblem &block);

/// Why the size of `value`, one of BlockProblem::getUnsized(), is not known, as
/// the text of a remark.
std::string explainUnknownSize(Value value);

/// Checks that of two collectives of one block, both with `commsched.order`,
/// the one that starts `later` has the greater number; else emits an error at
/// it that points at the `earlier` one.
LogicalResult verifyCollectiveOrder(Operation *earlier, Operation *later);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_BLOCKPROBLEM_H
