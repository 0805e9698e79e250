//===- LoopProblem.cpp - Cyclic problem of a loop -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Cyclic/LoopProblem.h"

#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Returns how many iterations later than the next a value is used at most,
/// since arguments are yielded as others. None, after a call of `decline`, if
/// they are passed in a circle, or if futures are, whose waits then belong to
/// different iterations.
static std::optional<unsigned>
countPassing(scf::ForOp loop, LoopProblem::DeclineFunction decline) {
  unsigned longest = 0;
  for (auto [place, value] : llvm::enumerate(loop.getYieldedValues())) {
    unsigned passing = 0;
    Value own = loop.getRegionIterArg(place);
    while (value != own) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || !loop.getTiedLoopInit(argument))
        break;
      if (++passing > loop.getNumRegionIterArgs() ||
          isa<FutureType>(value.getType())) {
        decline(loop.getBody()->getTerminator()->getLoc(),
                "yields an argument of its body as another one, which belongs "
                "to no iteration that is known");
        return std::nullopt;
      }
      own = value;
      value = loop.getTiedLoopYieldedValue(argument)->get();
    }
    longest = std::max(longest, passing);
  }
  return longest;
}

/// Returns whether no collective of the body has a number in the order of its
/// block, which holds those of several iterations where they overlap; else
/// calls `decline`.
static bool hasFreeOrder(scf::ForOp loop,
                         LoopProblem::DeclineFunction decline) {
  for (Operation &op : *loop.getBody())
    if (getCollectiveOrder(&op)) {
      decline(op.getLoc(), "has a fixed place in the order of collectives, "
                           "which iterations that overlap do not keep");
      return false;
    }
  return true;
}

/// Returns a loop directly behind `loop`, whose body is `count` copies of that
/// of `loop`.
static scf::ForOp cloneCopies(scf::ForOp loop, unsigned count) {
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  auto copies = cast<scf::ForOp>(builder.clone(*loop));
  Block *body = copies.getBody();
  Operation *terminator = body->getTerminator();
  SmallVector<Operation *> first = llvm::map_to_vector(
      body->without_terminator(), [](Operation &op) { return &op; });
  SmallVector<Value> arguments(copies.getRegionIterArgs()),
      yielded(terminator->getOperands()), current = yielded;
  builder.setInsertionPoint(terminator);
  for (unsigned copy = 1; copy < count; ++copy) {
    IRMapping mapping;
    mapping.map(arguments, current);
    for (Operation *op : first)
      builder.clone(*op, mapping);
    current = llvm::map_to_vector(
        yielded, [&](Value value) { return mapping.lookupOrDefault(value); });
  }
  terminator->setOperands(current);
  return copies;
}

namespace {

/// Reads the problem of one iteration from that of several.
class IterationReader {
public:
  /// The iteration that is read is the first of two copies. Where collectives
  /// are in flight from one iteration to the next, it is the second of five:
  /// its waits are in the third, and what depends on those up to the fourth.
  /// What passes through further iterations reaches as many copies more.
  static unsigned getNumCopies(bool hasFlights, unsigned passing) {
    return (hasFlights ? 5 : 2) + passing;
  }

  /// `block` is the problem of the copies, the body of a loop. `isLate` says of
  /// each operation of an iteration whether it is a wait for a collective of
  /// the iteration before.
  IterationReader(Block *copies, const BlockProblem &block,
                  ArrayRef<bool> isLate)
      : copies(copies), block(block), all(block.getProblem()), isLate(isLate),
        first(llvm::is_contained(isLate, true) ? 1 : 0) {
    for (NodeId copied = 0; copied < all.numNodes(); ++copied)
      places[block.getOperation(copied)] = copied;
    for (bool late : {false, true})
      for (NodeId op = 0; op < numOps(); ++op)
        if (isLate[op] == late)
          operations.push_back(op);
    nodes.resize(operations.size());
    for (auto [node, op] : llvm::enumerate(operations))
      nodes[op] = static_cast<NodeId>(node);
  }

  CyclicProblem read() {
    Problem body;
    addNodes(body);
    std::vector<CarriedDependence> carried;
    for (NodeId op : operations)
      addDependences(op, body, carried);
    std::vector<CarriedUse> carriedUses;
    addBuffers(body, carriedUses);
    body.finalize();
    CyclicProblem result(std::move(body));
    for (const CarriedDependence &edge : carried)
      result.addDependence(edge.from, edge.to, edge.kind, edge.distance);
    for (const CarriedUse &use : carriedUses)
      result.addUse(use.buffer, use.node, use.distance);
    return result;
  }

  CyclicOrder readOrder() const {
    CyclicOrder order;
    order.order = nodes;
    for (NodeId op : operations)
      order.stages.push_back(isLate[op]);
    return order;
  }

  /// By buffer of the problem that was read: its value in `body`, that of the
  /// loop.
  SmallVector<Value> listRoots(Block &body) const {
    SmallVector<Operation *> ops = llvm::map_to_vector(
        body.without_terminator(), [](Operation &op) { return &op; });
    return llvm::map_to_vector(roots, [&](Value root) -> Value {
      if (auto result = dyn_cast_if_present<OpResult>(root))
        if (auto place = places.find(result.getOwner()); place != places.end())
          return ops[place->second % numOps()]->getResult(
              result.getResultNumber());
      auto argument = dyn_cast_if_present<BlockArgument>(root);
      if (argument && argument.getOwner() == copies)
        return body.getArgument(argument.getArgNumber());
      return root;
    });
  }

  /// By node: the place in the body of the loop.
  ArrayRef<NodeId> getOperations() const { return operations; }

private:
  /// A node of an iteration, counted from the one that is read.
  struct Place {
    int32_t iteration;
    NodeId node;
  };

  NodeId numOps() const { return static_cast<NodeId>(isLate.size()); }

  Place locate(NodeId copied) const {
    NodeId op = copied % numOps();
    return {copied / numOps() - first - isLate[op], nodes[op]};
  }
  /// The copy of an operation that belongs to the iteration that is read.
  NodeId getCopy(NodeId op) const {
    return (first + isLate[op]) * numOps() + op;
  }

  void addNodes(Problem &body) {
    for (NodeId op : operations) {
      NodeId copied = getCopy(op);
      if (all.kind(copied) == NodeKind::Wait) {
        body.addWait(locate(all.startOf(copied)).node);
        continue;
      }
      NodeId node = body.addNode(all.kind(copied), all.costNs(copied),
                                 all.stream(copied));
      if (all.isExpensive(copied))
        body.setExpensive(node);
    }
  }

  void addDependences(NodeId op, Problem &body,
                      std::vector<CarriedDependence> &carried) {
    NodeId from = getCopy(op);
    for (DependenceEnd end : all.successors(from)) {
      Place to = locate(end.node);
      bool isWait =
          all.startOf(end.node) == from && end.kind == DependenceKind::Data;
      // The collectives of the last copies have no waits.
      if (isWait || isInFlightAcrossBlock(block.getOperation(end.node)))
        continue;
      if (to.iteration == 0)
        body.addDependence(nodes[op], to.node, end.kind);
      else
        carried.push_back({nodes[op], to.node, end.kind, to.iteration});
    }
  }

  /// Whether the buffer is the one of a carried value before the first copy,
  /// and another one is there in the last.
  bool isReplaced(BufferId id) const {
    auto argument = dyn_cast_if_present<BlockArgument>(block.getBufferRoot(id));
    if (!argument || argument.getOwner() != copies)
      return false;
    ArrayView<NodeId> users = all.users(id);
    return std::none_of(users.begin(), users.end(), [&](NodeId user) {
      return user >= all.numNodes() - numOps();
    });
  }

  void addBuffers(Problem &body, std::vector<CarriedUse> &carriedUses) {
    for (BufferId id = 0; id < all.numBuffers(); ++id) {
      const Buffer &buffer = all.buffer(id);
      bool isOuter = buffer.producer == noNode;
      if (isOuter ? isReplaced(id) : locate(buffer.producer).iteration != 0)
        continue;
      BufferId added = body.addBuffer(
          buffer.bytes, isOuter ? noNode : locate(buffer.producer).node,
          buffer.freed && !isOuter);
      roots.push_back(block.getBufferRoot(id));
      for (NodeId user : all.users(id)) {
        Place place = locate(user);
        if (place.iteration == 0)
          body.addUse(added, place.node);
        else if (!isOuter)
          carriedUses.push_back({added, place.node, place.iteration});
      }
    }
  }

  Block *copies;
  const BlockProblem &block;
  const Problem &all;
  ArrayRef<bool> isLate;
  /// The copy that is read.
  int32_t first;
  /// By node: the operation; by operation: its node.
  std::vector<NodeId> operations;
  std::vector<NodeId> nodes;
  /// By operation of the copies: its node.
  DenseMap<Operation *, NodeId> places;
  /// By buffer that was added: the value in the copies.
  SmallVector<Value> roots;
};

} // namespace

/// What the first iteration of `copies` takes as known. The others, whose
/// operations follow its own, take the same.
static std::vector<Assumption> listFirstAssumptions(const BlockProblem &copies,
                                                    size_t numOps,
                                                    OperationCosts &costs) {
  std::vector<Assumption> assumptions;
  llvm::SmallPtrSet<Operation *, 16> first = {nullptr};
  for (size_t node = 0; node < numOps; ++node)
    first.insert(copies.getOperation(static_cast<NodeId>(node)));
  for (Operation *op : copies.getAssumed())
    if (first.contains(op))
      assumptions.push_back(assumeTime(op, costs));
  for (Value value : copies.getUnsized())
    if (first.contains(value.getDefiningOp()))
      assumptions.push_back(assumeSize(value));
  return assumptions;
}

FailureOr<std::optional<LoopProblem>>
LoopProblem::create(scf::ForOp loop, OperationCosts &costs,
                    DeclineFunction decline) {
  using Outcome = std::optional<LoopProblem>;
  std::optional<unsigned> passing = countPassing(loop, decline);
  if (!passing || !hasFreeOrder(loop, decline))
    return Outcome();
  SmallVector<Operation *> body = llvm::map_to_vector(
      loop.getBody()->without_terminator(), [](Operation &op) { return &op; });
  SmallVector<bool> isLate = llvm::map_to_vector(body, [](Operation *op) {
    return isa<WaitOpInterface>(op) && isInFlightAcrossBlock(op);
  });
  bool hasFlights = llvm::is_contained(isLate, true);
  scf::ForOp copies =
      cloneCopies(loop, IterationReader::getNumCopies(hasFlights, *passing));
  llvm::scope_exit erase([&] { copies.erase(); });
  FailureOr<BlockProblem> block = priceBlock(*copies.getBody(), costs);
  if (failed(block))
    return failure();
  // Of five copies, the first and the last have halves of pairs.
  if (std::optional<BlockObstacle> obstacle =
          hasFlights ? std::nullopt : getObstacle(*block)) {
    decline(obstacle->location, obstacle->reason);
    return Outcome();
  }
  IterationReader reader(copies.getBody(), *block, isLate);
  LoopProblem result(reader.read());
  result.programOrder = reader.readOrder();
  result.bufferRoots = reader.listRoots(*loop.getBody());
  if (loop.getContext()->getRemarkEngine())
    result.assumptions = listFirstAssumptions(*block, body.size(), costs);
  if (Status status = result.problem.check(); !status)
    return emitError(loop.getLoc())
           << "cannot be scheduled: " << status.error();
  for (NodeId op : reader.getOperations())
    result.operations.push_back(body[op]);
  result.streams.assign(block->getStreams().begin(), block->getStreams().end());
  return Outcome(std::move(result));
}

FailureOr<GroupContention>
mlir::commsched::computeContention(const LoopProblem &problem,
                                   const cost::Target &target) {
  ScanningSymbolTables symbolTables;
  return computeContention(
      getStreamCollectives(
          problem.getProblem().body(),
          [&](NodeId node) { return problem.getOperation(node); }),
      target, symbolTables);
}

std::string mlir::commsched::describeBound(const LoopProblem &problem,
                                           const PeriodBound &bound) {
  switch (bound.kind) {
  case PeriodBoundKind::Computation:
    return "the computation";
  case PeriodBoundKind::Stream:
    return "the collectives of " +
           llvm::to_string(problem.getStreams()[bound.stream]);
  case PeriodBoundKind::Circle:
    break;
  }
  // A long circle is named by its beginning.
  constexpr size_t maxNamed = 8;
  std::string text = "the circle of ";
  for (auto [place, node] : llvm::enumerate(bound.circle)) {
    if (place == maxNamed) {
      text += " and " + std::to_string(bound.circle.size() - place) + " more";
      break;
    }
    text += (place ? ", " : "") + describe(problem.getOperation(node));
  }
  if (bound.circleDistance > 1)
    text += " over " + std::to_string(bound.circleDistance) + " repetitions";
  return text;
}
