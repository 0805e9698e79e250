//===- SavedValues.h - Choice of saved values -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The 0/1 knapsack problem: selects among the values that could be saved those
// that avoid the most recomputation within a number of bytes.
//
// Chooses the values that the forward saves: those of eager execution, or the
// fewest within a memory budget. After `default_partition` and
// `choose_saved_values_set` of PyTorch 2.13 (torch/_functorch/partitioners.py).
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_SAVEDVALUES_H
#define COMMSCHED_PARTITION_SAVEDVALUES_H

#include "CommSched/Partition/MinCut.h"

#include <cstdint>
#include <vector>

namespace mlir::commsched::partition {

struct KnapsackItem {
  /// Not negative.
  int64_t bytes = 0;
  /// The recomputation that saving it avoids, in any unit; not negative. The
  /// sum over all items must fit in an int64_t.
  int64_t gain = 0;
};

/// The items to save, ascending: never more than `capacityBytes` in all, and
/// none without a gain.
///
/// By dynamic programming over sizes in steps of a ten-thousandth of the
/// capacity (exact if the capacity is that many bytes or fewer), rounded up, so
/// that what is chosen fits for certain. Of either half of the items one row is
/// kept at a time: the choice is found by divide and conquer over the items
/// (Hirschberg, "A linear space algorithm for computing maximal common
/// subsequences", 1975). O(items × steps) time, O(items + steps) memory. Of
/// choices with equal gain, one with the fewest steps is chosen, and of those,
/// halving the items that have a size, a gain and would fit again and again,
/// the one with the fewest steps in the later half.
///
/// If the longest run of items with the most gain per byte that fits gains more
/// than that, since there are many small items that rounding makes large, it is
/// chosen instead. Either way a larger capacity never gains less.
std::vector<int32_t> solveKnapsack(const std::vector<KnapsackItem> &items,
                                   int64_t capacityBytes);

/// Items to save as above, by taking the items with the most gain per byte
/// first, equal ones in the given order, and leaving out each that no longer
/// fits. O(n log n).
std::vector<int32_t>
solveKnapsackGreedily(const std::vector<KnapsackItem> &items,
                      int64_t capacityBytes);

//===----------------------------------------------------------------------===//
// Saved values
//===----------------------------------------------------------------------===//

// Replacements for saved values that take no more memory: a view is replaced by
// its storage, once for all views of it, and a tensor of which the backward
// reads only the sizes by these. The backward stays the same but for views that
// it takes again.

/// Returns the values to save in place of `split.saved`, ascending. Another
/// `split()` computes the halves for these values.
///
/// A view is replaced by the value that it and the views below it show, if that
/// is an argument or computed by the forward, and not by the backward as well:
/// there the views are at hand without being saved. A view that cannot be
/// repeated, since it is pinned, kept in the forward, to be saved itself, or
/// depends on more than the backward has, is what is saved. O(nodes +
/// operands).
std::vector<NodeId> getSavedStorages(const JointGraph &graph,
                                     const Split &split);

/// Returns the values to save in place of `split.saved`, ascending. A value of
/// which the backward reads only dimensions is replaced by the results of the
/// operations that read these, if the forward can compute it. O(nodes + users).
std::vector<NodeId> getSavedDimensions(const JointGraph &graph,
                                       const Split &split);

/// The partition that saves the storages and the dimensions that `halves` saves
/// values for; `halves` itself if it does so already. Linear.
PartitionResult<Split> saveStorages(const JointGraph &graph, Split halves,
                                    bool allowCollectives);

/// The partition that saves the storages and the dimensions of `saved`: split()
/// and then saveStorages().
PartitionResult<Split> splitAtStorages(const JointGraph &graph,
                                       const std::vector<NodeId> &saved,
                                       bool allowCollectives);

/// The partition that saves every value of the forward that the backward uses,
/// but for constants and what has to be computed again. The forward has what
/// its results need and what the user says belongs there.
PartitionResult<Split> splitAsEager(const JointGraph &graph,
                                    const Classification &classes);

enum class KnapsackSolver : uint8_t { DynamicProgramming, Greedy };

struct SavedValuesOptions {
  CutOptions cut;
  /// Starts from the bans that hold for a small budget.
  bool aggressiveRecomputation = false;
  KnapsackSolver solver = KnapsackSolver::DynamicProgramming;
};

/// Partitions of one graph, from that which computes least again to that which
/// saves least: a fixed list, whatever the budget.
///
/// Rung 0 is the minimum cut under all bans; rung 1 lifts those that only help
/// speed, rung 2 also computes operations again that are not known to be cheap.
/// For each further rung a knapsack chooses, among the operations that are
/// still banned, which to save within a fraction of rung 0's bytes: 99.9 %,
/// 99.8 %, …, 0 %. Their cost is what computing them again takes.
class SavedValuesLadder {
public:
  static constexpr int32_t numSteps = 1000;
  static constexpr int32_t firstKnapsack = 3;

  /// The graph and its classes must outlive the ladder. Conflict: rung 0 has
  /// one.
  static PartitionResult<SavedValuesLadder>
  create(const JointGraph &graph, const Classification &classes,
         const SavedValuesOptions &options);

  static constexpr int32_t size() { return firstKnapsack + numSteps; }

  /// Whether the rung is the same as the one before it, as the knapsack has
  /// room for everything.
  bool isRepetition(int32_t rung) const {
    return rung >= firstKnapsack && getCapacity(rung) >= candidateBytes;
  }

  /// A rung's partition. All but rung 0 are solved anew.
  PartitionResult<Split> solve(int32_t rung) const;

  /// The bytes that rung 0 saves, without the storages of arguments.
  int64_t getMostBytes() const { return mostBytes; }

private:
  SavedValuesLadder(const JointGraph &graph, const Classification &classes,
                    const SavedValuesOptions &options)
      : graph(&graph), classes(&classes), options(options) {}

  /// An operation that a budget may let go, and what saving its values means.
  struct Candidate {
    NodeId node;
    KnapsackItem item;
  };

  CutOptions getCutOptions(int32_t rung) const;
  int64_t getCapacity(int32_t rung) const;
  PartitionResult<Split> solveCut(const CutOptions &cut,
                                  const std::vector<BanReason> &bans) const;
  void findCandidates();
  std::vector<BanReason> banWithin(int64_t capacityBytes) const;

  const JointGraph *graph;
  const Classification *classes;
  SavedValuesOptions options;
  /// Rung 0, and what it saves.
  Split first;
  int64_t mostBytes = 0;
  /// Of rung 2, and what the knapsacks choose from: the largest first, for of
  /// operations that are equally worth it these go first.
  std::vector<BanReason> aggressiveBans;
  std::vector<Candidate> candidates;
  int64_t candidateBytes = 0;
};

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_SAVEDVALUES_H
