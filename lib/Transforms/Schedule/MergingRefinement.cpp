//===- MergingRefinement.cpp - Local search among buckets -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergingSearch.h"

#include "CommSched/Schedule/Model/Simulator.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/DenseSet.h"

#include <array>
#include <limits>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The most operations of all sketches of one refinement together; and of one
/// that begins with what a refinement for another limit has made.
static constexpr size_t maxRefinedNodes = 1 << 19;
static constexpr size_t maxRefinedAgainNodes = 1 << 17;

/// A round in which fewer than one change in so many can be sketched is left
/// out: chance would choose.
static constexpr size_t leastSketchedPart = 8;

/// How many changes that are better alone may gain nothing together with others
/// before no further ones are tried.
static constexpr size_t maxHindered = 4;

namespace {

/// Buckets that are replaced by others of the same collectives. A bucket of one
/// member stands for a collective that travels alone.
struct Move {
  SmallVector<Bucket, 2> taken, given;
  /// For how long what is taken is exposed, in nanoseconds.
  int64_t exposedNs = 0;

  /// Identifies it.
  std::vector<int32_t> getKey() const {
    std::vector<int32_t> key;
    for (const Bucket &unit : llvm::concat<const Bucket>(taken, given)) {
      key.push_back(unit.key);
      key.push_back(static_cast<int32_t>(unit.starts.size()));
      llvm::append_range(key, unit.starts);
    }
    return key;
  }
};

} // namespace

/// Changes the buckets of a schedule for one limit while that makes it better.
class MergingSearch::Refinement {
public:
  Refinement(MergingSearch &search, Candidate start,
             const StepSchedulerOptions &stepOptions)
      : search(search), best(std::move(start)), stepOptions(stepOptions),
        numLeft((best.isRefined ? maxRefinedAgainNodes : maxRefinedNodes) /
                std::max<size_t>(search.problem.getProblem().numNodes(), 1)) {}

  FailureOr<Candidate> run();

private:
  /// A changed choice with a sketch.
  struct Trial {
    ArrayRef<const Move *> changes;
    std::vector<Bucket> units;
    BucketChoice choice;
    StepSchedule step;
  };

  /// Of schedules that are equally good, the one with fewer collectives is
  /// better: two changes together may gain what neither does alone.
  auto getKey(const StepSchedule &step, size_t numUnits) const {
    return std::make_pair(step.rank(stepOptions.limitBytes).getKey(), numUnits);
  }
  auto getKey(const Trial &trial) const {
    return getKey(trial.step, trial.units.size());
  }
  auto getBefore() const {
    return [this](const Trial &a, const Trial &b) {
      return getKey(a) < getKey(b);
    };
  }
  void readLines();
  void readUnits();
  bool mayToggle(const Bucket &unit) const {
    return unit.starts.size() > 1 && lineModes[unit.key / 2].size() > 1;
  }
  Bucket makeUnit(ArrayRef<NodeId> starts, int32_t key) const;
  bool gathersTwice(const Bucket &unit) const;
  void addMove(ArrayRef<Bucket> taken, ArrayRef<Bucket> given);
  void addMoves(ArrayRef<Bucket> line);
  LogicalResult listMoves();
  std::optional<Trial> prepare(std::vector<Bucket> changed,
                               ArrayRef<const Move *> changes) const;
  LogicalResult sketch(std::vector<Trial> &trials);
  FailureOr<Trial> combine(Trial chosen, ArrayRef<const Move *> others);
  FailureOr<bool> improveBy(ArrayRef<const Move *> tried);
  FailureOr<bool> improve();

  MergingSearch &search;
  Candidate best;
  const StepSchedulerOptions &stepOptions;
  /// How many sketches may still be made.
  size_t numLeft;
  /// The collectives of one line may travel together. By line: how.
  std::vector<ArrayRef<BucketMode>> lineModes;
  /// A collective, its line, and its place among all.
  struct Member {
    const MergeableCollective *collective;
    int32_t line;
    int32_t place;
  };
  /// By start.
  DenseMap<NodeId, Member> members;
  /// All collectives, in the buckets of the best one. The key of a unit is
  /// twice its line, plus 1 if its members travel without copies although they
  /// could be copied.
  std::vector<Bucket> units;
  std::vector<Move> moves;
  /// The changes that were not better when they were tried last: they are tried
  /// again where no other change is better.
  WorseChanges worse;
  /// Which moves are listed: those that let a launch gather a parameter twice
  /// come last, since what they join is hard to divide again.
  enum class Twice { No, Only, Too } twice = Twice::No;
};

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

void MergingSearch::Refinement::readLines() {
  for (const MergeableKind &kind : search.mergeable.kinds) {
    DenseMap<Attribute, size_t> known;
    for (const MergeableCollective &collective : kind.collectives.mergeable) {
      auto [it, isNew] = known.try_emplace(collective.key, lineModes.size());
      if (isNew)
        lineModes.push_back(collective.modes);
      members[collective.node] = {&collective, static_cast<int32_t>(it->second),
                                  static_cast<int32_t>(members.size())};
    }
  }
}

Bucket MergingSearch::Refinement::makeUnit(ArrayRef<NodeId> starts,
                                           int32_t key) const {
  Bucket unit;
  unit.key = key;
  unit.starts.assign(starts.begin(), starts.end());
  llvm::sort(unit.starts);
  for (NodeId start : starts)
    unit.bytes += members.at(start).collective->bytes;
  return unit;
}

/// Reads the units from the buckets of the best one.
void MergingSearch::Refinement::readUnits() {
  DenseSet<NodeId> seen;
  const BucketChoice &choice = *best.choice;
  for (const Bucket &bucket : choice.bucketing.buckets) {
    int32_t line = members.at(bucket.starts.front()).line;
    bool isCopied = lineModes[line].size() == 1 ||
                    llvm::is_contained(choice.candidates.modes[bucket.key],
                                       BucketMode::Copy);
    units.push_back(makeUnit(bucket.starts, 2 * line + !isCopied));
    seen.insert(bucket.starts.begin(), bucket.starts.end());
  }
  for (const MergeableKind &kind : search.mergeable.kinds)
    for (const MergeableCollective &collective : kind.collectives.mergeable)
      if (!seen.contains(collective.node))
        units.push_back(
            makeUnit(collective.node, 2 * members.at(collective.node).line));
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// Whether one launch would gather a parameter twice, for example for the
/// forward and for the backward.
bool MergingSearch::Refinement::gathersTwice(const Bucket &unit) const {
  DenseSet<Value> gathered;
  return llvm::any_of(unit.starts, [&](NodeId start) {
    Value parameter = members.at(start).collective->parameter;
    return parameter && !gathered.insert(parameter).second;
  });
}

void MergingSearch::Refinement::addMove(ArrayRef<Bucket> taken,
                                        ArrayRef<Bucket> given) {
  bool isTwice = llvm::any_of(
      given, [&](const Bucket &unit) { return gathersTwice(unit); });
  if (twice == (isTwice ? Twice::No : Twice::Only))
    return;
  Move &move = moves.emplace_back();
  llvm::append_range(move.taken, taken);
  llvm::append_range(move.given, given);
}

/// Adds the changes of the units of one line, which are in order of use.
void MergingSearch::Refinement::addMoves(ArrayRef<Bucket> line) {
  auto getPlace = [&](NodeId start) { return members.at(start).place; };
  auto sorted = [&](const Bucket &unit) {
    std::vector<NodeId> starts = unit.starts;
    llvm::sort(starts,
               [&](NodeId a, NodeId b) { return getPlace(a) < getPlace(b); });
    return starts;
  };
  auto join = [&](const Bucket &a, const Bucket &b) {
    std::vector<NodeId> starts = a.starts;
    llvm::append_range(starts, b.starts);
    for (int32_t other : {0, 1}) {
      Bucket both = makeUnit(starts, (b.bytes > a.bytes ? b : a).key ^ other);
      if (other == 0 || mayToggle(both))
        addMove({a, b}, both);
    }
  };
  // The first `count` of `starts`, and the rest.
  auto divide = [&](ArrayRef<NodeId> starts, size_t count, int32_t first,
                    int32_t second) {
    return std::array{makeUnit(starts.take_front(count), first),
                      makeUnit(starts.drop_front(count), second)};
  };
  for (size_t index = 0; index < line.size(); ++index) {
    const Bucket &unit = line[index];
    if (mayToggle(unit))
      addMove(unit, makeUnit(unit.starts, unit.key ^ 1));
    if (unit.starts.size() > 1)
      addMove(unit,
              divide(sorted(unit), unit.starts.size() / 2, unit.key, unit.key));
    if (index + 1 == line.size())
      break;
    const Bucket &next = line[index + 1];
    join(unit, next);
    // Small ones around a large one, which does not travel with them.
    if (index + 2 < line.size())
      join(unit, line[index + 2]);
    std::vector<NodeId> both = sorted(unit);
    size_t count = both.size();
    llvm::append_range(both, sorted(next));
    if (count > 1)
      addMove({unit, next}, divide(both, count - 1, unit.key, next.key));
    if (both.size() > count + 1)
      addMove({unit, next}, divide(both, count + 1, unit.key, next.key));
  }
  // What comes first and last, such as an embedding and a head.
  if (line.size() > 3)
    join(line.front(), line.back());
}

/// Lists the changes of all lines, those of what is exposed most first.
LogicalResult MergingSearch::Refinement::listMoves() {
  const BucketedProblem &merged = *best.choice->merged;
  Result<Timeline> timeline =
      simulate(merged.getProblem(), best.step.order, stepOptions.contention);
  if (!timeline)
    return emitError(search.function.getLoc(), "cannot be scheduled: ")
           << timeline.error();
  moves.clear();
  auto getPlace = [&](const Bucket &unit) {
    int32_t first = std::numeric_limits<int32_t>::max();
    for (NodeId start : unit.starts)
      first = std::min(first, members.at(start).place);
    return first;
  };
  llvm::sort(units, [&](const Bucket &a, const Bucket &b) {
    return getPlace(a) < getPlace(b);
  });
  std::vector<std::vector<Bucket>> byLine(lineModes.size());
  for (const Bucket &unit : units)
    byLine[unit.key / 2].push_back(unit);
  for (const std::vector<Bucket> &line : byLine)
    addMoves(line);
  for (Move &move : moves)
    for (const Bucket &unit : move.taken)
      move.exposedNs += timeline->exposedNs[merged.nodeOf(unit.starts.front())];
  llvm::stable_sort(moves, [](const Move &a, const Move &b) {
    return a.exposedNs > b.exposedNs;
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// The choice of the units `changed` after those of `changes` whose units are
/// there; none if no change is left.
std::optional<MergingSearch::Refinement::Trial>
MergingSearch::Refinement::prepare(std::vector<Bucket> changed,
                                   ArrayRef<const Move *> changes) const {
  bool isChanged = false;
  for (const Move *move : changes) {
    auto isTaken = [&](const Bucket &unit) {
      return llvm::any_of(move->taken, [&](const Bucket &taken) {
        return taken.starts == unit.starts && taken.key == unit.key;
      });
    };
    if (static_cast<size_t>(llvm::count_if(changed, isTaken)) !=
        move->taken.size())
      continue;
    llvm::erase_if(changed, isTaken);
    llvm::append_range(changed, move->given);
    isChanged = true;
  }
  if (!isChanged)
    return std::nullopt;
  Trial trial = {changes, std::move(changed), {}, {}};
  BucketChoice &choice = trial.choice;
  StringRef suffix = ", changed where that is shorter";
  choice.rule = best.choice->rule;
  if (!StringRef(choice.rule).ends_with(suffix))
    choice.rule += suffix;
  for (ArrayRef<BucketMode> modes : lineModes) {
    choice.candidates.modes.emplace_back(modes);
    choice.candidates.modes.push_back({BucketMode::Coalesced});
  }
  llvm::copy_if(trial.units, std::back_inserter(choice.bucketing.buckets),
                [](const Bucket &unit) { return unit.starts.size() > 1; });
  if (choice.bucketing.buckets.empty())
    return std::nullopt;
  llvm::sort(choice.bucketing.buckets, [](const Bucket &a, const Bucket &b) {
    return a.starts.front() < b.starts.front();
  });
  search.chooser.price(choice);
  return trial;
}

/// Sketches the trials, each from the order of the best one. Leaves out those
/// of which a path of dependences joins what is merged.
LogicalResult MergingSearch::Refinement::sketch(std::vector<Trial> &trials) {
  numLeft -= std::min(numLeft, trials.size());
  // What takes as long may have fewer collectives.
  int64_t knownNs = best.step.fits(stepOptions.limitBytes)
                        ? saturatingAdd(best.step.stepNs, 1)
                        : unlimited;
  auto sketchOne = [&](Trial &trial) -> LogicalResult {
    if (!search.chooser.merge(trial.choice))
      return success();
    Result<StepSchedule> step = scheduleMerged(
        trial.choice,
        schedule::adaptOrder(best.step.order, *best.choice->merged,
                             *trial.choice.merged),
        [&](const Problem &problem, const StepSchedulerOptions &with) {
          return schedule::sketchStepInOrders(problem, with, knownNs);
        },
        stepOptions);
    if (!step)
      return emitError(search.function.getLoc(), "cannot be scheduled: ")
             << step.error();
    trial.step = std::move(*step);
    return success();
  };
  if (failed(failableParallelForEach(search.function.getContext(), trials,
                                     sketchOne)))
    return failure();
  llvm::erase_if(trials,
                 [](const Trial &trial) { return !trial.choice.merged; });
  return success();
}

/// Adds others of the changes that are better alone, the best first: as many as
/// make it better together, of the first, the first two, four and so on.
FailureOr<MergingSearch::Refinement::Trial>
MergingSearch::Refinement::combine(Trial chosen,
                                   ArrayRef<const Move *> others) {
  size_t numHindered = 0;
  while (!others.empty() && numHindered < maxHindered && numLeft > 0) {
    std::vector<Trial> trials;
    for (size_t count = 1, last = 0; last < others.size();
         last = count, count = std::min(2 * count, others.size()))
      if (std::optional<Trial> trial =
              prepare(chosen.units, others.take_front(count)))
        trials.push_back(std::move(*trial));
    if (failed(sketch(trials)))
      return failure();
    auto better = llvm::min_element(trials, getBefore());
    if (better != trials.end() && getKey(*better) < getKey(chosen)) {
      others = others.drop_front(better->changes.size());
      chosen = std::move(*better);
    } else {
      others = others.drop_front();
      ++numHindered;
    }
  }
  return chosen;
}

/// Tries each of the changes, and takes the best and those that are better with
/// it, if there is one.
FailureOr<bool>
MergingSearch::Refinement::improveBy(ArrayRef<const Move *> tried) {
  if (tried.size() / leastSketchedPart > numLeft)
    return false;
  std::vector<Trial> trials;
  for (size_t index = 0; index < tried.size() && trials.size() < numLeft;
       ++index)
    if (std::optional<Trial> trial = prepare(units, tried.slice(index, 1)))
      trials.push_back(std::move(*trial));
  if (failed(sketch(trials)))
    return failure();
  llvm::erase_if(trials, [&](const Trial &trial) {
    std::vector<int32_t> change = trial.changes.front()->getKey();
    if (getKey(trial) < getKey(best.step, units.size())) {
      worse.erase(change);
      return false;
    }
    worse[std::move(change)] = !trial.step.fits(stepOptions.limitBytes);
    return true;
  });
  if (trials.empty())
    return false;
  llvm::stable_sort(trials, getBefore());
  SmallVector<const Move *> others;
  for (const Trial &trial : ArrayRef(trials).drop_front())
    others.push_back(trial.changes.front());
  FailureOr<Trial> chosen = combine(std::move(trials.front()), others);
  if (failed(chosen))
    return failure();
  units = std::move(chosen->units);
  best.choice = &search.choices.emplace_back(std::move(chosen->choice));
  best.step = std::move(chosen->step);
  return true;
}

/// Makes the best one better by changes that are not known to be worse, or if
/// there is none, by the others.
FailureOr<bool> MergingSearch::Refinement::improve() {
  if (failed(listMoves()))
    return failure();
  SmallVector<const Move *> open, known;
  for (const Move &move : moves)
    (worse.count(move.getKey()) == 0 ? open : known).push_back(&move);
  FailureOr<bool> isImproved = improveBy(open);
  return failed(isImproved) || *isImproved ? isImproved : improveBy(known);
}

FailureOr<MergingSearch::Candidate> MergingSearch::Refinement::run() {
  readLines();
  readUnits();
  // What took too much may be within this limit.
  if (auto known = search.worseChanges.find(best.choice);
      known != search.worseChanges.end())
    for (const auto &[change, isOver] : known->second)
      if (!isOver)
        worse.try_emplace(change, false);
  while (numLeft > 0) {
    FailureOr<bool> isImproved = improve();
    if (failed(isImproved))
      return failure();
    if (*isImproved ? twice == Twice::Only : twice == Twice::No)
      twice = *isImproved ? Twice::Too : Twice::Only;
    else if (!*isImproved)
      break;
  }
  search.worseChanges[best.choice] = std::move(worse);
  return std::move(best);
}

std::optional<MergingSearch::Candidate>
MergingSearch::startUnmerged(const StepSchedule &step) {
  Result<BucketedProblem> merged = BucketedProblem::create(
      problem.getProblem(), {}, {}, schedule::BucketBuffers::Kept);
  if (mergeable.hasBucket || !merged)
    return std::nullopt;
  BucketChoice &choice = choices.emplace_back();
  choice.rule = "nothing at first";
  choice.merged = std::move(*merged);
  Candidate start = {&choice, step};
  for (NodeId &node : start.step.order)
    node = choice.merged->nodeOf(node);
  return start;
}

FailureOr<MergingSearch::Candidate>
MergingSearch::refine(Candidate start,
                      const StepSchedulerOptions &stepOptions) {
  const BucketChoice *startChoice = start.choice;
  FailureOr<Candidate> refined =
      Refinement(*this, std::move(start), stepOptions).run();
  if (failed(refined) || refined->choice == startChoice)
    return refined;
  refined->isRefined = true;
  // Searches for higher limits begin with it, too.
  auto known = llvm::find_if(sketches, [&](const Sketch &sketch) {
    return sketch.candidate.choice == startChoice;
  });
  if (known != sketches.end())
    sketches.push_back({known->rules, *refined, stepOptions.limitBytes});
  return refined;
}
