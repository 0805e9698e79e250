//===- MergingDescent.h - Descent for one limit -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The coordinate descent of MergingSearch for one limit: MergingDescent.cpp
// says what is tried, and MergingSketch.cpp sketches it.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_MERGINGDESCENT_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_MERGINGDESCENT_H

#include "MergingSearch.h"

#include "CommSched/Support/Unlimited.h"

namespace mlir::commsched {

/// The search for one limit.
///
/// Where fewer sketches are asked for than there are threads, the others make
/// those that are likely to be asked for next. What is asked for, and so what
/// is found, does not depend on the number of threads.
class MergingSearch::Descent {
public:
  Descent(MergingSearch &search, const schedule::Order &unmerged,
          const schedule::StepSchedulerOptions &stepOptions, int64_t boundNs);

  LogicalResult run();

  /// The best ones, the best first, then the one of the fewest collectives
  /// among those that are nearly as good, and those that were kept.
  SmallVector<Candidate> takeBest(size_t count) const;

private:
  schedule::Rank rank(size_t sketch) const {
    return search.sketches[sketch].candidate.step.rank(stepOptions.limitBytes);
  }
  const Rules &getBestRules() const { return search.sketches[*best].rules; }
  /// Whether no sketch may be made any more, or none is worth it.
  bool isDone() const {
    return numLeft == 0 ||
           (!rank(*best).isOver &&
            !schedule::isWorthTrying(rank(*best).ns - boundNs, rank(*best).ns));
  }
  /// Whether the best one is better than `before` was, and would be worth a
  /// change if all sketches that are left gained as much.
  bool hasImproved(std::optional<size_t> before) const {
    if (best == before || !before || rank(*before).isOver)
      return best != before;
    return rank(*before).ns - rank(*best).ns >
           schedule::getLeastGainNs(rank(*best).ns) /
               static_cast<int64_t>(numLeft + 1);
  }
  bool isLimited() const { return stepOptions.limitBytes != unlimited; }
  bool isLarge() const { return unmerged.size() >= 4096; }
  /// How to change the rule of a kind.
  struct Change {
    enum class What { Copies, Rule, Room, Sizes };
    What what;
    size_t kind;
    /// Sizes: of these parts.
    size_t first = 0, length = 0;
  };

  static size_t countSearched(const MergingSearch &search);
  void offer(size_t sketch);
  bool isHopeless(const BucketChoice &choice) const;
  bool isSketched(const BucketChoice &choice) const;
  Result<schedule::StepSchedule> schedule(BucketChoice &choice) const;
  LogicalResult addLikely(size_t count,
                          SmallVectorImpl<BucketChoice *> &chosen);
  LogicalResult sketchAhead(ArrayRef<BucketChoice *> asked);
  LogicalResult sketch(ArrayRef<Rules> tried);
  bool wasSketchedSince(size_t numSeen, const Rules &rules) const;
  std::vector<PlanRule> listUniform() const;
  Rules applyToParameters(const PlanRule &rule) const;
  Rules applyToKind(size_t kind, const PlanRule &rule) const;
  LogicalResult bisectSize();
  static bool move(PlanRule &rule, const Change &change, int32_t direction);
  std::vector<Rules> listChanged(const Change &change) const;
  LogicalResult vary(const Change &change);
  LogicalResult tryFirst(size_t count, ArrayRef<Change> changes);
  SmallVector<Change> listChanges(size_t length) const;
  LogicalResult varySizesOfAll();
  std::vector<Rules> listOtherRules(size_t kind) const;
  void keepSimple();

  MergingSearch &search;
  const schedule::Order &unmerged;
  const schedule::StepSchedulerOptions &stepOptions;
  int64_t boundNs;
  /// How many sketches may still be made.
  size_t numLeft;
  /// Indices of sketches: those that were looked at for this limit, and the
  /// best one of them.
  std::vector<size_t> seen;
  std::optional<size_t> best;
  /// Those that are taken beside the best ones: in large programs, those whose
  /// sizes cannot be varied for the better.
  std::vector<size_t> kept;
  /// What is tried next, unless the best one changes.
  ArrayRef<Change> next;
  /// Schedules within the limit that were not asked for yet.
  DenseMap<const BucketChoice *, schedule::StepSchedule> ahead;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_MERGINGDESCENT_H
