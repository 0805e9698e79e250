//===- EqualGathers.cpp - Gathers with equal results ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Problem/Dependences.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// Finds for each operation an equal one.
class Equivalence {
public:
  /// The first operation that `op` is equal to, perhaps itself. Those that make
  /// what it uses come first.
  Operation *add(Operation *op);

private:
  Value getLeader(Value value) const;
  unsigned hash(Operation *op) const;
  bool areEqual(Operation *a, Operation *b) const;

  DenseMap<Operation *, Operation *> leaders;
  DenseMap<unsigned, SmallVector<Operation *, 1>> byHash;
};

/// The value that preparations compute another value from.
struct Source {
  /// The value that they start from; null for constants, or for several values.
  Value root;
  bool isUnique = true;
  /// The first that reads the root, and the first operation that writes in
  /// place what one of them makes; null if there is none.
  Operation *firstRead = nullptr;
  Operation *firstWrite = nullptr;
};

/// A gather that might be equal to others.
struct Gather {
  Operation *start;
  Operation *wait;
  /// The first gather that it is equal to.
  Operation *leader;
  Value parameter;
  /// The first operation that reads the parameter for it.
  Operation *firstRead;
  /// The operation that writes in place what it sends, before the wait, or what
  /// it delivers; null if there is none.
  Operation *writer;
};

/// Looks at one block.
class Finder {
public:
  Finder(Block &block, const FsdpAnalysis &fsdp);

  SmallVector<SmallVector<Operation *>> classify();

  SmallVector<Operation *> preparations;
  SmallVector<RewrittenGather> rewritten;

private:
  void collectPreparations(const FsdpAnalysis &fsdp);
  SmallVector<Value> getWatchedValues(const FsdpAnalysis &fsdp) const;
  Source findSource(Value value, Operation *user) const;
  Source findSource(Operation *preparation) const;
  void addGather(CollectiveOpInterface start, Value parameter);
  Operation *findWrite(Value value, Operation *from) const {
    return history->findWrite(value, from, &block.back());
  }
  Operation *findWriter(const Gather &earlier, const Gather &later) const;

  Block &block;
  SmallVector<CollectiveOpInterface> starts;
  std::optional<WriteHistory> history;
  /// By preparation.
  DenseMap<Operation *, Source> sources;
  Equivalence equivalence;
  SmallVector<Gather> gathers;
};

} // namespace

//===----------------------------------------------------------------------===//
// Equal operations
//===----------------------------------------------------------------------===//

static constexpr auto equivalenceFlags =
    OperationEquivalence::IgnoreLocations |
    OperationEquivalence::IgnoreDiscardableAttrs;

Value Equivalence::getLeader(Value value) const {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return value;
  Operation *leader = leaders.lookup(result.getOwner());
  return leader ? leader->getResult(result.getResultNumber()) : value;
}

unsigned Equivalence::hash(Operation *op) const {
  size_t hash = OperationEquivalence::computeHash(
      op, [&](Value value) { return hash_value(getLeader(value)); },
      OperationEquivalence::ignoreHashValue, equivalenceFlags);
  // The largest numbers are no keys.
  return static_cast<unsigned>(hash) / 2;
}

bool Equivalence::areEqual(Operation *a, Operation *b) const {
  // Values of regions.
  DenseMap<Value, Value> nested;
  return OperationEquivalence::isEquivalentTo(
      a, b,
      [&](Value of, Value other) {
        return success(getLeader(of) == getLeader(other) ||
                       nested.lookup(of) == other);
      },
      [&](Value of, Value other) { nested[of] = other; }, equivalenceFlags);
}

Operation *Equivalence::add(Operation *op) {
  SmallVector<Operation *, 1> &candidates = byHash[hash(op)];
  for (Operation *candidate : candidates)
    if (areEqual(candidate, op))
      return leaders[op] = candidate;
  candidates.push_back(op);
  return leaders[op] = op;
}

//===----------------------------------------------------------------------===//
// Sources of gathers
//===----------------------------------------------------------------------===//

static Operation *getEarlier(Operation *a, Operation *b) {
  if (!a || !b)
    return a ? a : b;
  return a->isBeforeInBlock(b) ? a : b;
}

Finder::Finder(Block &block, const FsdpAnalysis &fsdp) : block(block) {
  for (auto start : block.getOps<CollectiveOpInterface>())
    if (fsdp.getParameter(start) && start.getInFlightFuture() &&
        start.getSentValues().size() == 1 && start.getDestinations().empty() &&
        !isHalfOfPair(start) && start.getWait()->getNumResults() == 1)
      starts.push_back(start);
  // One gather is equal to none.
  if (starts.size() < 2)
    return;
  collectPreparations(fsdp);
  history.emplace(block, getWatchedValues(fsdp),
                  [](Operation *) { return false; });
  for (Operation *op : preparations) {
    sources[op] = findSource(op);
    equivalence.add(op);
  }
  for (CollectiveOpInterface start : starts)
    addGather(start, fsdp.getParameter(start));
  llvm::sort(gathers, [](const Gather &a, const Gather &b) {
    return a.wait->isBeforeInBlock(b.wait);
  });
}

/// The operations of the block from which nothing but operations without
/// effects lead to a gather.
void Finder::collectPreparations(const FsdpAnalysis &fsdp) {
  DenseSet<Operation *> seen;
  SmallVector<Operation *> open;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && op->getBlock() == &block &&
                                               seen.insert(op).second &&
                                               isMemoryEffectFree(op))
      open.push_back(op);
  };
  for (CollectiveOpInterface start : starts)
    llvm::for_each(start.getSentValues(), add);
  while (!open.empty()) {
    preparations.push_back(open.pop_back_val());
    visitReads(preparations.back(), add);
  }
  llvm::sort(preparations,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : preparations)
    sources.try_emplace(op);
}

/// The values whose writes matter.
SmallVector<Value> Finder::getWatchedValues(const FsdpAnalysis &fsdp) const {
  SmallVector<Value> values;
  for (Operation *op : preparations)
    llvm::copy_if(op->getResults(), std::back_inserter(values),
                  [](Value value) { return isa<ShapedType>(value.getType()); });
  for (CollectiveOpInterface start : starts) {
    values.push_back(fsdp.getParameter(start));
    values.push_back(start.getWait()->getResult(0));
  }
  return values;
}

/// Returns the source of `value`, which `user` uses.
Source Finder::findSource(Value value, Operation *user) const {
  if (auto it = sources.find(value.getDefiningOp()); it != sources.end())
    return it->second;
  if (!isa<ShapedType>(value.getType()) || matchPattern(value, m_Constant()))
    return {};
  return {value, true, user, nullptr};
}

Source Finder::findSource(Operation *preparation) const {
  Source joined;
  visitReads(preparation, [&](Value input) {
    Source source = findSource(input, preparation);
    if (joined.root && source.root && joined.root != source.root)
      joined.isUnique = false;
    joined.root = joined.root ? joined.root : source.root;
    joined.isUnique &= source.isUnique;
    joined.firstRead = getEarlier(joined.firstRead, source.firstRead);
    joined.firstWrite = getEarlier(joined.firstWrite, source.firstWrite);
  });
  for (Value result : preparation->getResults())
    if (isa<ShapedType>(result.getType()))
      joined.firstWrite =
          getEarlier(joined.firstWrite, findWrite(result, preparation));
  return joined;
}

void Finder::addGather(CollectiveOpInterface start, Value parameter) {
  Operation *wait = start.getWait();
  Source source = findSource(start.getSentValues().front(), start);
  if (!source.isUnique || source.root != parameter)
    return;
  Operation *writer = source.firstWrite;
  if (!writer || wait->isBeforeInBlock(writer))
    writer = findWrite(wait->getResult(0), wait);
  gathers.push_back({start, wait, equivalence.add(start), parameter,
                     source.firstRead, writer});
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// The write because of which two equal gathers deliver different values, or
/// null.
Operation *Finder::findWriter(const Gather &earlier,
                              const Gather &later) const {
  if (earlier.writer || later.writer)
    return earlier.writer ? earlier.writer : later.writer;
  return history->findWrite(later.parameter,
                            getEarlier(earlier.firstRead, later.firstRead),
                            later.wait);
}

SmallVector<SmallVector<Operation *>> Finder::classify() {
  SmallVector<SmallVector<Operation *>> classes;
  struct Open {
    const Gather *last;
    size_t classIndex;
  };
  // By leader.
  DenseMap<Operation *, Open> opened;
  for (const Gather &gather : gathers) {
    auto [it, isFirst] = opened.try_emplace(gather.leader, Open{&gather, 0});
    Open &open = it->second;
    if (!isFirst) {
      if (Operation *writer = findWriter(*open.last, gather)) {
        rewritten.push_back({gather.start, open.last->start, writer});
        // The last one may still serve others.
        if (gather.writer && !open.last->writer)
          continue;
      } else {
        classes[open.classIndex].push_back(gather.start);
        open.last = &gather;
        continue;
      }
    }
    open = {&gather, classes.size()};
    classes.push_back({gather.start});
  }
  llvm::erase_if(classes, [](ArrayRef<Operation *> members) {
    return members.size() == 1;
  });
  return classes;
}

EqualGathers::EqualGathers(Block &block, const FsdpAnalysis &fsdp) {
  Finder finder(block, fsdp);
  classes = finder.classify();
  rewritten = std::move(finder.rewritten);
  preparations = std::move(finder.preparations);
}
