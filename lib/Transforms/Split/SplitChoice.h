//===- SplitChoice.h - Choice of what to split ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the regions of a block that are split, and into how many chunks. The
// gain is predicted without changing the IR: regions of equal signature are one
// class, for each of which one region alone is simulated with each number of
// chunks; the best numbers make a few programs, which are sketched as a whole.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SPLIT_SPLITCHOICE_H
#define COMMSCHED_LIB_TRANSFORMS_SPLIT_SPLITCHOICE_H

#include "CommSched/Analysis/Split/SplitSpecs.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "CommSched/Transforms/PassOptionEnums.h"

#include "../Trial.h"
#include <map>

namespace mlir::commsched {

/// The options of commsched-schedule on splitting.
struct SplittingOptions {
  ScheduleSplit split = ScheduleSplit::Auto;
  /// The only kind of regions, if given.
  std::optional<SplitExtent> extent;
  /// From 2 to 8.
  int32_t maxChunks = 8;
  /// Whether reductions keep every element at its place of a message.
  bool isBitwise = false;
};

/// Why a collective is not split.
struct SplitObstacle {
  /// A clause.
  std::string text;
  /// Where the operation is that the text is about, if it is not the collective
  /// itself.
  std::optional<Location> place;
};

/// A way to split the collectives of a block, without common members.
struct SplitChoice {
  /// A region that is split.
  struct Region {
    /// Its number in the block.
    int32_t region;
    int32_t chunks;

    bool operator==(const Region &other) const {
      return region == other.region && chunks == other.chunks;
    }
  };

  /// How the regions were chosen, as text.
  std::string rule;
  /// By ascending numbers.
  std::vector<Region> regions;
  /// The program, and an order of it.
  std::optional<schedule::SplitProblem> program;
  schedule::Order order;
  /// What the sketch of it takes.
  int64_t stepNs = 0;
  int64_t peakBytes = 0;
};

class SplitChooser {
public:
  /// What one region alone takes, in nanoseconds: whole, and in the number of
  /// chunks in which it takes least.
  struct Verdict {
    int32_t chunks = 0;
    int64_t wholeNs = 0;
    int64_t splitNs = 0;
    /// Why no number of chunks is possible, or none is shorter; empty if one
    /// is.
    std::string obstacle;

    /// By how much it takes less, by number of chunks, from 2.
    SmallVector<int64_t, 8> gainsNs;

    int64_t gainNs() const { return chunks == 0 ? 0 : wholeNs - splitNs; }
    int64_t gainNs(int32_t inChunks) const {
      size_t index = inChunks - 2;
      return index < gainsNs.size() ? gainsNs[index] : 0;
    }
  };

  /// All of them have to live on, and the block has to stay as it is. Linear in
  /// the operations.
  SplitChooser(Block &block, const BlockProblem &problem, OperationCosts &costs,
               const SplittingOptions &options);

  /// The region with that number.
  const SplitRegion &getRegion(int32_t number) const {
    return *regions[number];
  }

  /// The choices that are worth a schedule, without equal ones; none if no
  /// region gains alone. One is the choice with the best sketch within
  /// `stepOptions.limitBytes`, or of those over it the one that needs least. In
  /// the latter case, the next splits fewer regions and is within the limit, if
  /// such a one is found. With ScheduleSplit::Sums, what is chosen without sums
  /// comes first.
  ///
  /// `exposedNs` says for each node of the problem how long it is exposed
  /// without splitting: only regions with an exposed collective are considered.
  /// The same choice for the same arguments. Near linear in the operations.
  std::vector<SplitChoice>
  choose(ArrayRef<int64_t> exposedNs,
         const schedule::StepSchedulerOptions &stepOptions);

  /// What is known about the start of a collective: why splitting does not
  /// shorten its regions. None if it may.
  std::optional<SplitObstacle> explain(Operation *start);

  /// The operation that `start` would be split with, were it not split with
  /// another collective by `choice`; none if there is none.
  std::optional<SplitObstacle> findShared(Operation *start,
                                          const SplitChoice &choice);

  /// The verdict on a region; those of equal signature have the same.
  const Verdict &judge(const SplitRegion &region);

private:
  struct Candidate {
    int32_t region;
    int32_t chunks;
    /// How long its collectives are exposed, and how much of that it hides.
    int64_t exposedNs;
    int64_t gainNs;
  };

  bool isConsidered(const SplitRegion &region) const;
  Verdict makeVerdict(const SplitRegion &region);
  std::string explainLoss(const SplitRegion &region, int32_t chunks) const;
  /// With sums, regions reach further.
  const SplitRegions &getReachingRegions() const {
    return summed ? *summed : plain;
  }
  std::optional<SplitObstacle> explain(const SplitRegions::Seed &seed);
  std::vector<Candidate> findCandidates(ArrayRef<int64_t> exposedNs,
                                        size_t numRegions);
  enum class Family : uint8_t { Nearest, InTwoChunks, Other };
  struct Combination {
    std::string rule;
    Family family = Family::Other;
    /// Whether none of its family gains more.
    bool isFirst = false;
    std::vector<SplitChoice::Region> regions;
    /// What the regions gain alone, as far as they are exposed.
    int64_t gainNs = 0;
  };
  Combination combine(ArrayRef<Candidate> candidates,
                      std::optional<SplitExtent> extent, int32_t mostChunks,
                      int32_t leastChunks);
  std::vector<Combination> findCombinations(ArrayRef<Candidate> candidates);
  void chooseAmong(ArrayRef<int64_t> exposedNs, size_t numRegions,
                   const schedule::StepSchedulerOptions &stepOptions,
                   std::vector<SplitChoice> &choices);
  std::vector<SplitChoice::Region>
  keepBestHalf(std::vector<SplitChoice::Region> chosen);
  std::optional<SplitChoice>
  sketchFewer(const SplitChoice &choice,
              const schedule::StepSchedulerOptions &stepOptions);
  std::optional<SplitChoice>
  sketch(std::vector<SplitChoice::Region> chosen, StringRef rule,
         const schedule::StepSchedulerOptions &stepOptions);

  const BlockProblem &problem;
  OperationCosts &costs;
  const SplittingOptions &options;
  SplitRegions plain;
  /// With ScheduleSplit::Sums.
  std::optional<SplitRegions> summed;
  /// Those of `plain`, and behind them those of `summed` that have sums.
  std::vector<const SplitRegion *> regions;
  SplitSpecs specs;
  std::map<unsigned, Verdict> verdicts;
  /// By member of the regions of a choice: the first collective of its region.
  DenseMap<Operation *, Operation *> taken;
  const SplitChoice *takenFor = nullptr;
  /// How many operations sketches of single regions may still run through.
  int64_t effort;
};

/// A block with split regions, as a trial: the split program is scheduled as it
/// will be, and dropped if that does not pay.
class SplitProgram {
public:
  /// Splits a copy of `block`, a block of `function`, in the order of `choice`.
  /// No value of the block is used outside of it. `chooser` made the choice for
  /// `problem`.
  SplitProgram(func::FuncOp function, Block &block, const BlockProblem &problem,
               const SplitChooser &chooser, SplitChoice choice,
               OperationCosts &costs);

  const SplitChoice &getChoice() const { return choice; }

  /// The operation that `original` is in the split block; null for a member of
  /// a region.
  Operation *getCopy(Operation *original) const {
    return copyOf.lookup(original);
  }

  /// The split block.
  Block &getBlock() { return trial.getBlock(); }
  /// Puts the split operations into the block.
  void adopt() { trial.adopt(); }

private:
  struct Part;

  void order(const BlockProblem &problem, ArrayRef<Part> parts);

  Trial trial;
  SplitChoice choice;
  DenseMap<Operation *, Operation *> copyOf;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SPLIT_SPLITCHOICE_H
