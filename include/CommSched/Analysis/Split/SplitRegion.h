//===- SplitRegion.h - Regions to compute in chunks -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives together with the computation around them that divides into the
// same chunks, so that one chunk is communicated while another is computed.
// This analysis only reads the block.
//
// The search starts from every axis of every collective. Where an operand or a
// result is divided, the operations that compute or read the value are divided
// alike, through waits, views, products and further collectives, up to
// operations without a rule for it (SplitOpInterface). A region has no member
// that depends on another one through an operation outside of it, nor through a
// value that a member needs whole: the search divides what it finds into
// *stages* at such places.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_SPLIT_SPLITREGION_H
#define COMMSCHED_ANALYSIS_SPLIT_SPLITREGION_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Interfaces/SplitRule.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <string>
#include <vector>

namespace mlir::commsched {

/// How far a region reaches from a collective.
enum class SplitExtent {
  /// From a gather forward, from a scatter backward, from other collectives
  /// both ways, to the first large computations, which belong to the region as
  /// the free views directly behind them do.
  Nearest,
  /// As far as the rules go.
  Widest,
};

/// An operation of a region, and the axis that is divided.
struct SplitMember {
  Operation *op;
  /// Its place in the block.
  int32_t index;
  /// Of a wait, those of its start.
  unsigned axisIndex;
  SplitAxis axis;
  int64_t blocks;

  bool isWait() const { return isa<WaitOpInterface>(op); }
  /// The start of a collective with a future.
  bool isStart() const {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective && collective.getInFlightFuture();
  }
  /// How an operand is divided; none if every chunk needs it whole. The future
  /// of a wait, which has a chunk for each chunk, has none either.
  std::optional<ValueSplit> getOperandSplit(unsigned operand) const {
    return isWait() ? std::nullopt
                    : commsched::getOperandSplit(axis, operand, blocks);
  }
  /// How a result is divided; none for partial sums and for futures.
  std::optional<ValueSplit> getResultSplit(unsigned result) const {
    return isStart() ? std::nullopt
                     : commsched::getResultSplit(axis, result, blocks);
  }
  bool isSum() const { return axis.kind == SplitAxisKind::Sum; }
};

/// A value that members read in chunks and that the region does not give in
/// these chunks.
struct SplitEntry {
  Value value;
  ValueSplit split;
  /// Whether a chunk is a copy; otherwise it is a view.
  bool isCopied;
  /// The operands that are read so, in the order of the members.
  struct Use {
    /// Its number among the members.
    int32_t member;
    unsigned operand;
  };
  SmallVector<Use, 2> uses;
};

/// How the chunks of a value become the whole.
enum class SplitExitKind {
  /// By a concatenation, or by a sum.
  Joined,
  /// Every chunk is written into its part of the whole.
  Written,
  /// The value is a view of another exit, which is Written or Viewed: the whole
  /// is the same view of that one's whole.
  Viewed,
};

/// A value of the region that is needed whole, by operations outside of it, by
/// members, or because another exit is a view of it.
struct SplitExit {
  Value value;
  /// None: the chunks are partial sums, to be added.
  std::optional<ValueSplit> split;
  SplitExitKind kind = SplitExitKind::Joined;
};

/// An operation at which a region ends, though a value that it reads or gives
/// is divided.
struct SplitStop {
  Operation *op;
  /// The member whose operand or result it would be divided for.
  Operation *member;
  /// What is said about `op`, such as "has no rule for splitting".
  std::string reason;
  /// Whether `op` could be divided in the same way, but is not in the region.
  bool isDivisible = false;
};

struct SplitRegion {
  /// In program order. A start and its wait are two.
  std::vector<SplitMember> members;
  /// The starts among the members, in program order.
  SmallVector<Operation *, 2> collectives;
  std::vector<SplitEntry> entries;
  /// In the order of the members that give them.
  std::vector<SplitExit> exits;
  SplitExtent extent;
  /// Whether it has no member besides those of SplitExtent::Nearest either.
  bool isNearestAndWidest = false;
  /// What a number of chunks has to divide.
  int64_t length;
  /// Whether chunks of a member are partial sums: then the results are not the
  /// same bit for bit.
  bool hasSums = false;
  /// How many members are large computations.
  int32_t numLarge = 0;
  /// The values of the block, behind views, that operations write in place;
  /// all regions of a block share them.
  std::shared_ptr<const DenseSet<Value>> written;
  /// The number of ranks of a ring: chunk c is what the rank that is c behind
  /// this one gives the gather, so that the offsets of chunks in values depend
  /// on the rank. 0: every rank has the same chunks.
  int64_t ringSize = 0;
  /// Equal for regions of one block whose operations, types, groups, pinned
  /// times and structure are equal: SplitRegionOptions::firstSignature, and
  /// those that follow it, in the order of appearance.
  unsigned signature;
};

struct SplitRegionOptions {
  /// Whether axes that are sums are divided as well. Not in rings: each rank
  /// would add in another order.
  bool allowSums = false;
  /// The first of the signatures.
  unsigned firstSignature = 0;
  /// Whether the regions are those of rings: each has one gather, whose chunks
  /// are the shards of the ranks, and no other collective.
  bool rings = false;
  /// Whether only members and length of regions are asked for: entries, exits,
  /// signatures and stops are left out.
  bool membersOnly = false;
};

/// The axis of the ranks in what the gather `op` delivers: it has a place in
/// the result and none in the operand. None if `op` does not become a ring.
std::optional<SplitAxis> getRingAxis(Operation *op);

/// Whether `axis` is one that getRingAxis() returns.
inline bool isRingAxis(Operation *op, const SplitAxis &axis) {
  return isa<CollectiveOpInterface>(op) && axis.operands.empty();
}

/// Why the collective `op` does not become a ring, as the end of a sentence
/// about it; none if it does.
std::optional<std::string> getRingObstacle(Operation *op);

/// Whether an operation of the block is what a region needs, in any order of
/// the block: a product, or what else is expensive, that divides.
bool hasLargeComputation(Block &block);

/// The regions of a block. Linear in its operations and operands, but for
/// sorting, with at most a fixed number of axes considered for each operation.
class SplitRegions {
public:
  explicit SplitRegions(Block &block, const SplitRegionOptions &options = {});

  /// In the order of their first collectives, nearest before widest. An
  /// operation may be a member of several.
  ArrayRef<SplitRegion> getRegions() const { return regions; }

  /// A collective of the block and its regions.
  struct Seed {
    Operation *start;
    /// Numbers of regions, at most one for each axis and extent. Those with the
    /// most large computations come first, then the first axis.
    SmallVector<int32_t, 2> nearest;
    SmallVector<int32_t, 2> widest;
    /// Where the search for each nearest region ended first; why there is none,
    /// if there is none.
    SmallVector<SplitStop, 1> stops;
  };
  /// In program order: collectives with a future.
  ArrayRef<Seed> getSeeds() const { return seeds; }
  /// That of the collective `start`; null if it has no future. In constant
  /// time.
  const Seed *findSeed(Operation *start) const {
    auto it = seedOf.find(start);
    return it == seedOf.end() ? nullptr : &seeds[it->second];
  }

  /// getSplitStops() for one of the regions, with the options of the search.
  /// The reason why an operation that could be divided is not in the region is
  /// that it is in another one, that it is beyond the nearest large
  /// computation, or that dividing it gains nothing.
  std::vector<SplitStop> getStops(const SplitRegion &region,
                                  size_t limit) const;

private:
  SplitRegionOptions options;
  /// By operation: the first region of each extent that it is a member of.
  DenseMap<Operation *, int32_t> nearestOf;
  DenseMap<Operation *, int32_t> widestOf;
  std::vector<SplitRegion> regions;
  std::vector<Seed> seeds;
  DenseMap<Operation *, size_t> seedOf;
};

/// Where `region` ends: the operations that read its exits or compute its
/// entries, and the reason why each is not divided. At most `limit` of them, in
/// the order of exits and then of entries. Linear in the region and in what
/// reads its values.
std::vector<SplitStop> getSplitStops(const SplitRegion &region,
                                     const SplitRegionOptions &options = {},
                                     size_t limit = 8);

/// A member of `region` whose length `count` does not divide; null if `count`
/// divides all.
const SplitMember *findUndivided(const SplitRegion &region, int64_t count);

/// Why `op` cannot be divided at all, as the end of a sentence about it; none
/// if it has a rule.
std::optional<std::string> getUnsplittableReason(Operation *op);

/// Why nothing in `block` is split, whatever it gains; empty if it may be.
std::string getBlockSplitObstacle(Block &block);

/// Whether `op` is a computation that can hide communication: one that is
/// expensive (CostOpInterface), or a product, which adds up over an axis of two
/// operands.
bool isLargeComputation(Operation *op, const SplitRule &rule);

/// Whether a chunk of `value` has to be copied to be an operand of `user`: it
/// is in several pieces, and only a `commsched.compute` takes these, or a
/// collective sends it, or a view of it, and it is not contiguous.
bool isSliceCopied(Value value, ValueSplit split, Operation *user);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_SPLIT_SPLITREGION_H
