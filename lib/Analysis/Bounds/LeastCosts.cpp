//===- LeastCosts.cpp - Least costs of rewritten operations ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LeastCosts.h"

#include "CommSched/Analysis/Bucketing/Mergeability.h"
#include "CommSched/Analysis/Costs/ChunkCosts.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Schedule/Graphs/ChainPlaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveQuery;
using schedule::DivisibleRegion;
using schedule::NodeId;

//===----------------------------------------------------------------------===//
// Regions that may be split
//===----------------------------------------------------------------------===//

/// The largest number of chunks in which commsched-schedule splits a region of
/// that length; 1 if it does not.
static int32_t getMostChunks(int64_t length) {
  constexpr int32_t mostChunks = 8;
  for (int32_t chunks = mostChunks; chunks > 1; --chunks)
    if (length % chunks == 0)
      return chunks;
  return 1;
}

std::vector<DivisibleRegion>
mlir::commsched::findDivisibleRegions(Block &block) {
  if (!getBlockSplitObstacle(block).empty() || !hasLargeComputation(block))
    return {};
  std::vector<DivisibleRegion> divisible;
  SplitRegionOptions options;
  options.membersOnly = true;
  SplitRegions regions(block, options);
  for (const SplitRegion &region : regions.getRegions()) {
    int32_t chunks = getMostChunks(region.length);
    if (chunks == 1)
      continue;
    DivisibleRegion &added = divisible.emplace_back();
    added.mostChunks = chunks;
    for (const SplitMember &member : region.members)
      added.members.push_back(member.index);
  }
  return divisible;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

namespace {

/// A collective that may be merged or split.
struct Sharer {
  NodeId node;
  CollectiveOpInterface op;
  /// None if a bucket of it has no known time.
  std::optional<CollectiveQuery> query;
  /// What the model gives for it, and what it takes.
  double estimatedNs = 0;
  double takenNs = 0;
  /// The most bytes of a launch that carries it.
  int64_t mostBytes = 0;
  /// Its share of such a launch.
  double leastNs = 0;
};

/// Collectives that may share launches.
using Sharers = SmallVector<Sharer, 1>;

class LeastCosts {
public:
  LeastCosts(const BlockProblem &problem, OperationCosts &costs,
             std::vector<int64_t> costsNs, ArrayRef<DivisibleRegion> regions,
             Freedom freedom);

  std::vector<int64_t> take() { return std::move(leastNs); }

private:
  void addCollectives(BucketMode mode);
  void addDivisible();
  Sharer makeSharer(NodeId node, CollectiveOpInterface op);
  void lower(NodeId node, double ns);
  void setMostBytes(MutableArrayRef<Sharer> sharers) const;
  void share(MutableArrayRef<Sharer> sharers);
  double getNsPerByte(ArrayRef<Sharer> sharers, int64_t mostBytes) const;
  void lowerCast(Operation *cast);
  void lowerFused(Operation *op, ArrayRef<Value> inputs, int64_t kernels);
  bool mayFuse(Operation *op) const;
  void lowerAround(CollectiveOpInterface collective);

  const BlockProblem &problem;
  OperationCosts &costs;
  std::vector<int64_t> leastNs;
  Freedom freedom;
  /// By node: 1 where it is never split.
  std::vector<int32_t> mostChunks;
  DenseMap<Operation *, NodeId> nodes;
  DenseSet<Operation *> fusedReaders;
  schedule::ChainPlaces places;
};

} // namespace

/// Whether the time of `op` depends on what is fused around it.
static bool dependsOnFusion(Operation *op) {
  if (getPinnedRuntimeNs(op))
    return op->hasAttr(assumedFusionAttrName);
  switch (getFusionClass(op)) {
  case OperatorClass::Pointwise:
  case OperatorClass::DataMovement:
  case OperatorClass::Reduction:
  case OperatorClass::Concatenation:
    return true;
  default:
    return false;
  }
}

LeastCosts::LeastCosts(const BlockProblem &problem, OperationCosts &costs,
                       std::vector<int64_t> costsNs,
                       ArrayRef<DivisibleRegion> regions, Freedom freedom)
    : problem(problem), costs(costs), leastNs(std::move(costsNs)),
      freedom(freedom), mostChunks(leastNs.size(), 1),
      places(findChainPlaces(problem.getProblem())) {
  for (const DivisibleRegion &region : regions)
    for (NodeId member : region.members)
      mostChunks[member] = std::max(mostChunks[member], region.mostChunks);
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
    nodes[problem.getOperation(node)] = node;
  // What leaves a loop meets other operations.
  if (freedom.isFused && freedom.isPipelined)
    for (auto [op, node] : nodes)
      if (dependsOnFusion(op))
        leastNs[node] = 0;
  addCollectives(BucketMode::Copy);
  addCollectives(BucketMode::Coalesced);
  addDivisible();
}

Sharer LeastCosts::makeSharer(NodeId node, CollectiveOpInterface op) {
  Sharer sharer{node, op, costs.getQuery(op)};
  auto own = dyn_cast<CostOpInterface>(op.getOperation());
  // What a bucket says of itself is not known before there is one.
  if (own && own.getKnownRuntimeNs())
    sharer.query.reset();
  if (!sharer.query)
    return sharer;
  int64_t estimate = costs.estimateCollective(*sharer.query).timeNs;
  sharer.mostBytes = sharer.query->bytes;
  sharer.estimatedNs = static_cast<double>(estimate);
  sharer.takenNs =
      static_cast<double>(costs.findKnownNs(op).value_or(estimate));
  return sharer;
}

/// Sets how many bytes a launch of each sharer may carry at most: its own and
/// those of all others that are not known to depend on it, or it on them.
void LeastCosts::setMostBytes(MutableArrayRef<Sharer> sharers) const {
  // By the last member of the chain before a sharer, and by the first one
  // behind it: the bytes up to there.
  std::map<int32_t, int64_t> bytesByLast, bytesByNext;
  int64_t total = freedom.isPipelined ? unlimited : 0;
  auto getBytes = [](const Sharer &sharer) {
    return sharer.query ? sharer.query->bytes : 0;
  };
  for (const Sharer &sharer : sharers) {
    total = saturatingAdd(total, getBytes(sharer));
    bytesByLast[places.last[sharer.node]] += getBytes(sharer);
    bytesByNext[places.next[sharer.node]] += getBytes(sharer);
  }
  if (total == unlimited) {
    for (Sharer &sharer : sharers)
      sharer.mostBytes = total;
    return;
  }
  auto addUp = [](std::map<int32_t, int64_t> &bytes) {
    int64_t sum = 0;
    for (auto &[place, value] : bytes)
      value = sum += value;
  };
  addUp(bytesByLast);
  addUp(bytesByNext);
  for (Sharer &sharer : sharers) {
    int32_t last = places.last[sharer.node], next = places.next[sharer.node];
    // Of those that end before the chain goes on to this one.
    auto above = bytesByNext.upper_bound(last);
    int64_t before =
        above == bytesByNext.begin() ? 0 : std::prev(above)->second;
    auto from = bytesByLast.lower_bound(next);
    int64_t after =
        total - (from == bytesByLast.begin() ? 0 : std::prev(from)->second);
    // On the chain it is before and behind itself.
    int64_t own = next <= last ? getBytes(sharer) : 0;
    sharer.mostBytes = total - (before - own) - (after - own);
  }
}

/// What no more bytes than `mostBytes` take per byte at least, in one launch of
/// any of the sharers or several. 0 if that is not known.
double LeastCosts::getNsPerByte(ArrayRef<Sharer> sharers,
                                int64_t mostBytes) const {
  double least = std::numeric_limits<double>::infinity();
  std::optional<CollectiveQuery> last;
  for (const Sharer &sharer : sharers) {
    CollectiveQuery query = *sharer.query;
    query.bytes = mostBytes;
    query.tensors = 1;
    // Nearly always all sharers ask the same.
    if (last && last->kind == query.kind && last->ranks == query.ranks &&
        last->ranksPerNode == query.ranksPerNode &&
        last->implementation == query.implementation)
      continue;
    last = query;
    least = std::min(least, costs.getCollectiveCost().getShareableNs(query) /
                                static_cast<double>(mostBytes));
  }
  return least;
}

/// Lowers the cost of a collective to `ns`, if it is not that low.
void LeastCosts::lower(NodeId node, double ns) {
  // Each launch may gain half of a nanosecond by rounding.
  double exact = ns - 0.5 * mostChunks[node];
  leastNs[node] = std::min(
      leastNs[node], static_cast<int64_t>(std::floor(std::max(exact, 0.0))));
}

/// Lowers the costs of `sharers` so that those of any of them together are at
/// most what a bucket of them takes (estimateBucket()), and that of each at
/// most what its chunks take.
///
/// Sharer i, of b_i bytes, takes e_i by the model, and travels with no more
/// bytes than cost r_i a byte at least. So a bucket, whose bytes b are no more
/// than that for any of its members, takes T(b) >= r_i * b for each of them,
/// and no less than the sum of r_i * b_i. Where members take k_i instead of
/// e_i, which is pinned or was measured, the bucket takes T(b) * K / E, for the
/// sums K of k_i and E of e_i. That is no less than the sum over the members of
///   - r_i * b_i * min k_j / e_j: K / E is a mean of these ratios; and of
///   - k_i * min r_j * b_j / e_j: the sum of r_i * b_i is so many times E.
/// Either will do if all sharers have the same; the larger in sum is taken.
void LeastCosts::share(MutableArrayRef<Sharer> sharers) {
  bool isKnown = llvm::all_of(sharers, [](const Sharer &sharer) {
    return sharer.query && sharer.query->bytes > 0 && sharer.estimatedNs > 0;
  });
  if (!isKnown) {
    for (const Sharer &sharer : sharers)
      lower(sharer.node, 0);
    return;
  }
  double leastRatio = std::numeric_limits<double>::infinity();
  double leastUse = std::numeric_limits<double>::infinity();
  double sumModelNs = 0, sumTakenNs = 0;
  for (Sharer &sharer : sharers) {
    sharer.leastNs = getNsPerByte(sharers, sharer.mostBytes) *
                     static_cast<double>(sharer.query->bytes);
    leastRatio = std::min(leastRatio, sharer.takenNs / sharer.estimatedNs);
    leastUse = std::min(leastUse, sharer.leastNs / sharer.estimatedNs);
    sumModelNs += sharer.leastNs;
    sumTakenNs += sharer.takenNs;
  }
  bool isByModel = sumModelNs * leastRatio >= sumTakenNs * leastUse;
  for (const Sharer &sharer : sharers)
    lower(sharer.node,
          isByModel ? sharer.leastNs * leastRatio : sharer.takenNs * leastUse);
}

/// Lowers the cost of a cast that a copy-in may absorb to its share of that:
/// the time of the bytes that it reads and writes.
void LeastCosts::lowerCast(Operation *cast) {
  std::optional<int64_t> bytes = getOperandAndResultBytes(cast);
  double ns = bytes ? cost::computeMemoryNs(costs.getTarget(), *bytes) : 0;
  int64_t &least = leastNs[nodes.at(cast)];
  least = std::min(least, static_cast<int64_t>(ns));
}

/// Lowers the cost of `op` to that of `kernels` that write its results and read
/// `inputs`.
void LeastCosts::lowerFused(Operation *op, ArrayRef<Value> inputs,
                            int64_t kernels) {
  int64_t bytes = getStaticBytes(op->getResultTypes()).value_or(0);
  for (Value input : inputs)
    bytes =
        saturatingAdd(bytes, getStaticBytes(getSizedType(input)).value_or(0));
  int64_t ns = cost::computeTimeNs(costs.getTarget(), /*flops=*/0,
                                   cost::ElementKind::F32, bytes, kernels);
  int64_t &least = leastNs[nodes.at(op)];
  least = std::min(least, ns);
}

bool LeastCosts::mayFuse(Operation *op) const {
  return op && nodes.contains(op) && dependsOnFusion(op);
}

/// Lowers what copies of a bucket of `collective` change if they are fused. A
/// copy-in computes what is sent on the way. Then, what reads that computes it
/// as well. What reads a result reads it once, however often it uses it.
void LeastCosts::lowerAround(CollectiveOpInterface collective) {
  SmallVector<Operation *> readers;
  for (Value value : collective->getOperands()) {
    Operation *sent = value.getDefiningOp();
    while (sent && sent->getNumOperands() != 0 &&
           getFusionClass(sent) == OperatorClass::View)
      sent = sent->getOperand(0).getDefiningOp();
    if (!mayFuse(sent))
      continue;
    lowerFused(sent, {}, /*kernels=*/0);
    llvm::append_range(readers, sent->getUsers());
  }
  while (!readers.empty()) {
    Operation *reader = readers.pop_back_val();
    if (!mayFuse(reader) || !fusedReaders.insert(reader).second)
      continue;
    if (reader->hasAttr(fusedAttrName))
      llvm::append_range(readers, reader->getUsers());
    lowerFused(reader, {}, /*kernels=*/1);
  }
  for (Operation *wait : collective->getUsers())
    for (Operation *reader : wait->getUsers())
      if (mayFuse(reader)) {
        llvm::SmallSetVector<Value, 4> inputs(reader->operand_begin(),
                                              reader->operand_end());
        lowerFused(reader, inputs.getArrayRef(), /*kernels=*/1);
      }
}

void LeastCosts::addCollectives(BucketMode mode) {
  llvm::MapVector<Attribute, Sharers> sharersOf;
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
    if (auto op = dyn_cast<CollectiveOpInterface>(problem.getOperation(node));
        op && !getUnmergeableReason(op, mode))
      sharersOf[getMergeKey(op, mode, /*multiDtype=*/true)].push_back(
          makeSharer(node, op));
  for (auto &[key, sharers] : sharersOf) {
    setMostBytes(sharers);
    llvm::erase_if(sharers, [](const Sharer &sharer) {
      return sharer.query && sharer.mostBytes == sharer.query->bytes;
    });
    if (sharers.size() < (freedom.isPipelined ? 1 : 2))
      continue;
    share(sharers);
    for (const Sharer &sharer : sharers) {
      for (Operation *cast : getAbsorbedCasts(sharer.op, mode))
        lowerCast(cast);
      if (freedom.isFused && mode == BucketMode::Copy)
        lowerAround(sharer.op);
    }
  }
}

void LeastCosts::addDivisible() {
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node) {
    Operation *op = problem.getOperation(node);
    if (mostChunks[node] == 1 || isa<WaitOpInterface>(op))
      continue;
    if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      Sharer alone = makeSharer(node, collective);
      share(alone);
    } else {
      leastNs[node] =
          getLeastNsInChunks(costs, op, leastNs[node], mostChunks[node]);
    }
  }
}

std::vector<int64_t> mlir::commsched::getLeastCosts(
    const BlockProblem &problem, OperationCosts &costs,
    std::vector<int64_t> costsNs, ArrayRef<DivisibleRegion> regions,
    Freedom freedom) {
  return LeastCosts(problem, costs, std::move(costsNs), regions, freedom)
      .take();
}
