//===- MergingDescent.cpp - Search for ways to merge for one limit --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergingSearch.h"

#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Support/Unlimited.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/Debug.h"

#include <array>

#define DEBUG_TYPE "commsched-schedule"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Bucket;
using schedule::BucketedProblem;
using schedule::completeOrder;
using schedule::NodeId;
using schedule::noNode;
using schedule::Order;
using schedule::Problem;
using schedule::StepSchedule;
using schedule::StepSchedulerOptions;

//===----------------------------------------------------------------------===//
// Sketches
//===----------------------------------------------------------------------===//

/// An order of the merged program with what is not merged in that order of the
/// program, as far as buckets allow.
static Order orderLike(const BucketedProblem &merged, const Order &unmerged) {
  Order wanted;
  for (NodeId original : unmerged)
    if (NodeId node = merged.nodeOf(original);
        node != noNode && merged.originalOf(node) == original)
      wanted.push_back(node);
  return completeOrder(merged.getProblem(), wanted);
}

/// Traces a schedule of a merged program.
static void
traceCandidate([[maybe_unused]] StringRef what,
               [[maybe_unused]] const MergingSearch::Candidate &candidate,
               [[maybe_unused]] int64_t limitBytes) {
  LLVM_DEBUG({
    const StepSchedule &step = candidate.step;
    llvm::dbgs() << DEBUG_TYPE ": " << what << " of merging "
                 << candidate.choice->rule << ": step " << step.stepNs
                 << " ns, peak " << step.peakBytes << " bytes"
                 << (step.fits(limitBytes) ? "\n" : ", too many\n");
  });
}

//===----------------------------------------------------------------------===//
// Descent
//===----------------------------------------------------------------------===//

/// The sizes of buckets that are tried, in percent of what saturates a group or
/// of all that may travel together.
static constexpr int32_t sizePercents[] = {0, 1, 3, 6, 12, 25, 50, 100, 200};

/// The parts of the memory left that a bucket may have; 0: any.
static constexpr int32_t roomPercents[] = {0, 100, 50, 25, 12};

/// The most operations of all sketches for one limit together. A number of
/// operations and not of seconds, so that all ranks make the same buckets.
static constexpr size_t maxSketchedNodes = 1 << 19;
static constexpr size_t leastSketches = 8;

/// The search for one limit.
class MergingSearch::Descent {
public:
  Descent(MergingSearch &search, const Order &unmerged,
          const StepSchedulerOptions &stepOptions, int64_t boundNs)
      : search(search), unmerged(unmerged), stepOptions(stepOptions),
        boundNs(boundNs),
        numLeft(std::max(leastSketches,
                         maxSketchedNodes /
                             std::max<size_t>(countSearched(search), 1))) {}

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
  bool isLimited() const { return stepOptions.limitBytes != unlimited; }
  /// In smaller programs refinement reaches what other rules would, and more.
  bool isLarge() const { return unmerged.size() >= 4096; }
  static size_t countSearched(const MergingSearch &search);
  void offer(size_t sketch);
  bool isHopeless(const BucketChoice &choice) const;
  LogicalResult sketch(ArrayRef<Rules> tried);
  bool wasSketchedSince(size_t numSeen, const Rules &rules) const;
  std::vector<PlanRule> listUniform() const;
  Rules applyToParameters(const PlanRule &rule) const;
  Rules applyToKind(size_t kind, const PlanRule &rule) const;
  LogicalResult vary(size_t kind,
                     function_ref<bool(PlanRule &, int32_t)> change);
  LogicalResult varySizes(size_t kind, size_t first, size_t length);
  LogicalResult bisectSize();
  LogicalResult varyKind(size_t kind);
  LogicalResult varyParts(size_t length);
  LogicalResult varySizesOfAll();
  std::vector<Rules> listOtherRules(size_t kind) const;
  void keepSimple();

  MergingSearch &search;
  const Order &unmerged;
  const StepSchedulerOptions &stepOptions;
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
};

void MergingSearch::Descent::offer(size_t sketch) {
  seen.push_back(sketch);
  if (!best || schedule::isBetter(rank(sketch), rank(*best)))
    best = sketch;
}

/// Whether what is known of a way says that a sketch will not be the best: one
/// was made for this limit; one for a higher limit is within this one, or takes
/// longer than the best; or one for a limit that is nearly as high takes much
/// longer than the best, or in a large program, more than both limits.
bool MergingSearch::Descent::isHopeless(const BucketChoice &choice) const {
  return llvm::any_of(search.sketches, [&](const Sketch &sketch) {
    const StepSchedule &step = sketch.candidate.step;
    if (sketch.candidate.choice != &choice)
      return false;
    if (sketch.limitBytes < stepOptions.limitBytes)
      return best && !rank(*best).isOver &&
             sketch.limitBytes >= stepOptions.limitBytes / 16 * 15 &&
             (step.fits(sketch.limitBytes)
                  ? step.stepNs >= rank(*best).ns / 16 * 17
                  : isLarge() && !step.fits(stepOptions.limitBytes));
    return sketch.limitBytes == stepOptions.limitBytes ||
           step.fits(stepOptions.limitBytes) ||
           (best && !rank(*best).isOver && step.stepNs >= rank(*best).ns);
  });
}

/// How many operations of a program make a difference to its schedule.
size_t MergingSearch::Descent::countSearched(const MergingSearch &search) {
  const Problem &problem = search.problem.getProblem();
  return leaveOutFree(problem, problem.programOrder()).size();
}

/// Sketches the ways from which something may be expected.
LogicalResult MergingSearch::Descent::sketch(ArrayRef<Rules> tried) {
  FailureOr<SmallVector<BucketChoice *>> choices =
      search.getOrFormChoices(tried);
  if (failed(choices))
    return failure();
  SmallVector<Sketch> added;
  SmallVector<BucketChoice *> chosen;
  for (auto [rules, choice] : llvm::zip_equal(tried, *choices)) {
    if (!choice || llvm::is_contained(chosen, choice) || isHopeless(*choice) ||
        added.size() == numLeft)
      continue;
    added.push_back({rules, {choice, {}}, stepOptions.limitBytes});
    chosen.push_back(choice);
  }
  numLeft -= added.size();
  auto schedule = [&](size_t index) -> LogicalResult {
    BucketChoice &choice = *chosen[index];
    if (!choice.merged)
      if (Status status = search.chooser.merge(choice); !status)
        return reportNoOrder(search.function, status.error());
    Result<StepSchedule> step =
        scheduleMerged(choice, orderLike(*choice.merged, unmerged),
                       schedule::sketchStepInOrders, stepOptions);
    if (!step)
      return emitError(search.function.getLoc(), "cannot be scheduled: ")
             << step.error();
    added[index].candidate.step = std::move(*step);
    return success();
  };
  if (failed(failableParallelForEachN(search.function.getContext(), 0,
                                      added.size(), schedule)))
    return failure();
  for (Sketch &sketch : added) {
    traceCandidate("sketch", sketch.candidate, stepOptions.limitBytes);
    search.sketches.push_back(std::move(sketch));
    offer(search.sketches.size() - 1);
  }
  return success();
}

/// Whether `rules` were sketched behind the first `numSeen`.
bool MergingSearch::Descent::wasSketchedSince(size_t numSeen,
                                              const Rules &rules) const {
  return llvm::any_of(ArrayRef(seen).drop_front(numSeen), [&](size_t index) {
    return search.sketches[index].rules == rules;
  });
}

/// The one that is `distance` steps away from `value`; none if there is none.
static std::optional<int32_t> getNeighbor(ArrayRef<int32_t> values,
                                          int32_t value, int32_t distance) {
  const int32_t *next = llvm::find(values, value) + distance;
  if (next < values.begin() || next >= values.end())
    return std::nullopt;
  return *next;
}

/// The size beside `percent` in that direction; none if there is none.
static std::optional<int32_t> getNextSize(int32_t percent, bool isUp) {
  const int32_t *next = isUp ? llvm::upper_bound(sizePercents, percent)
                             : llvm::lower_bound(sizePercents, percent);
  if (next == (isUp ? std::end(sizePercents) : std::begin(sizePercents)))
    return std::nullopt;
  return isUp ? *next : next[-1];
}

/// Changes the rule of a kind in the direction -1 or 1, whichever is better,
/// while that makes it better still. Passes over what is known already.
/// `change` returns false if there is nothing to change. Both directions are
/// sketched at once, on two processors.
LogicalResult
MergingSearch::Descent::vary(size_t kind,
                             function_ref<bool(PlanRule &, int32_t)> change) {
  if (isDone())
    return success();
  std::optional<size_t> before = best;
  std::array<Rules, 2> paths = {getBestRules(), getBestRules()};
  SmallVector<size_t> open = {0, 1};
  while (!isDone()) {
    llvm::erase_if(open, [&](size_t path) {
      return !change(paths[path][kind], path == 0 ? -1 : 1);
    });
    if (open.empty())
      break;
    size_t numSeen = seen.size();
    auto tried = llvm::map_to_vector(
        open, [&](size_t path) -> const Rules & { return paths[path]; });
    if (failed(sketch(tried)))
      return failure();
    bool isImproved = best != before;
    before = best;
    llvm::erase_if(open, [&](size_t path) {
      return isImproved ? paths[path] != getBestRules()
                        : wasSketchedSince(numSeen, paths[path]);
    });
  }
  return success();
}

/// Moves the buckets of some parts of a kind to neighboring sizes.
LogicalResult MergingSearch::Descent::varySizes(size_t kind, size_t first,
                                                size_t length) {
  return vary(kind, [&](PlanRule &rule, int32_t direction) {
    bool isMoved = false;
    for (int32_t &percent : MutableArrayRef(rule.percents).slice(first, length))
      if (std::optional<int32_t> next = getNextSize(percent, direction > 0)) {
        percent = *next;
        isMoved = true;
      }
    return isMoved && rule.kind == PlanRule::Kind::Bytes;
  });
}

/// Changes what all buckets of a kind share.
LogicalResult MergingSearch::Descent::varyKind(size_t kind) {
  if (isDone())
    return success();
  Rules rules = getBestRules();
  rules[kind].isCoalesced = !rules[kind].isCoalesced;
  if (failed(sketch(rules)))
    return failure();
  if (isLarge() && failed(sketch(listOtherRules(kind))))
    return failure();
  auto move = [&](PlanRule &rule, int32_t direction) {
    std::optional<int32_t> next =
        getNeighbor(roomPercents, rule.roomPercent, direction);
    rule.roomPercent = next.value_or(rule.roomPercent);
    return next && rule.kind == PlanRule::Kind::Bytes;
  };
  if (isLimited() && failed(vary(kind, move)))
    return failure();
  return varySizes(kind, 0, numPlanParts);
}

/// Tries the sizes halfway to those beside the one that is best for all kinds,
/// where too few sketches are left to vary each kind. Where layers repeat, a
/// bucket should hold what one of them sends.
LogicalResult MergingSearch::Descent::bisectSize() {
  Rules rules = getBestRules();
  const PlanRule rule = rules.front();
  if (numLeft > 2 * rules.size() || rule.kind != PlanRule::Kind::Bytes ||
      !llvm::all_equal(rules) || !llvm::all_equal(rule.percents))
    return success();
  int32_t percent = rule.percents.front();
  std::vector<Rules> tried;
  for (bool isUp : {true, false}) {
    std::optional<int32_t> next = getNextSize(percent, isUp);
    if (!next)
      continue;
    for (PlanRule &each : rules)
      each.percents.fill((percent + *next) / 2);
    tried.push_back(rules);
  }
  return sketch(tried);
}

/// Rules that are the same for all kinds.
std::vector<PlanRule> MergingSearch::Descent::listUniform() const {
  // In large blocks not all of them are tried.
  std::vector<PlanRule> rules;
  for (int32_t percent : {25, 100})
    rules.push_back(PlanRule::bySize(percent));
  for (int32_t blocks : {1, 0, 2})
    rules.push_back(PlanRule::byModules(blocks));
  for (int32_t percent : {50, 12, 6, 3, 200, 1})
    rules.push_back(PlanRule::bySize(percent));
  if (!isLimited())
    return rules;
  for (int32_t roomPercent : {50, 25, 12}) {
    rules.push_back(PlanRule::bySize(100));
    rules.back().roomPercent = roomPercent;
  }
  size_t numCopied = rules.size();
  for (size_t index = 0; index < numCopied; ++index) {
    rules.push_back(rules[index]);
    rules.back().isCoalesced = true;
  }
  return rules;
}

/// A rule for the gathers and reductions of sharded parameters, where all
/// others travel alone.
MergingSearch::Rules
MergingSearch::Descent::applyToParameters(const PlanRule &rule) const {
  Rules rules;
  for (const MergeableKind &kind : search.mergeable.kinds)
    rules.push_back(kind.options.grouping == BucketGrouping::Size
                        ? PlanRule::bySize(0)
                        : rule);
  return rules;
}

/// A rule for one kind, where all others travel alone.
MergingSearch::Rules
MergingSearch::Descent::applyToKind(size_t kind, const PlanRule &rule) const {
  Rules rules(search.mergeable.kinds.size(), PlanRule::bySize(0));
  rules[kind] = rule;
  return rules;
}

/// Varies parts of that length of all kinds, or what a kind shares.
LogicalResult MergingSearch::Descent::varyParts(size_t length) {
  for (auto [kind, collectives] : llvm::enumerate(search.mergeable.kinds)) {
    if (collectives.collectives.mergeable.size() < 2)
      continue;
    if (length == numPlanParts) {
      if (failed(varyKind(kind)))
        return failure();
      continue;
    }
    for (size_t first = 0; first < numPlanParts; first += length)
      if (failed(varySizes(kind, first, length)))
        return failure();
  }
  return success();
}

/// Varies the sizes of ever smaller parts while that is better.
LogicalResult MergingSearch::Descent::varySizesOfAll() {
  for (size_t length = numPlanParts; length > 0; length /= 2) {
    std::optional<size_t> before = best;
    if (failed(varyParts(length)))
      return failure();
    if (best == before && length < numPlanParts)
      break;
  }
  return success();
}

/// Other rules for a kind, which the steps from size to size do not reach.
std::vector<MergingSearch::Rules>
MergingSearch::Descent::listOtherRules(size_t kind) const {
  std::vector<Rules> others;
  for (PlanRule rule :
       {PlanRule::byModules(1), PlanRule::byModules(0), PlanRule::bySize(25)}) {
    Rules &rules = others.emplace_back(getBestRules());
    rule.isCoalesced = rules[kind].isCoalesced;
    rules[kind] = rule;
  }
  return others;
}

/// Keeps what merges everything by one rule, as others do. A sketch says little
/// about small programs.
void MergingSearch::Descent::keepSimple() {
  for (size_t index : seen) {
    ArrayRef<PlanRule> rules = search.sketches[index].rules;
    if (llvm::all_equal(rules) && !rules.front().isCoalesced &&
        rules.front().roomPercent == 0)
      kept.push_back(index);
  }
}

LogicalResult MergingSearch::Descent::run() {
  for (size_t index = 0; index < search.sketches.size(); ++index)
    if (search.sketches[index].candidate.step.fits(stepOptions.limitBytes))
      offer(index);
  std::vector<Rules> simple;
  std::vector<PlanRule> uniform = listUniform();
  for (const PlanRule &rule : uniform)
    simple.emplace_back(search.mergeable.kinds.size(), rule);
  for (const PlanRule &rule : uniform)
    if (rule.kind == PlanRule::Kind::Modules)
      simple.push_back(applyToParameters(rule));
  for (size_t kind = 0; kind < search.mergeable.kinds.size(); ++kind)
    for (int32_t percent : {25, 12})
      simple.push_back(applyToKind(kind, PlanRule::bySize(percent)));
  if (failed(sketch(simple)))
    return failure();
  if (!best)
    return success();
  if (!isLarge())
    keepSimple();
  if (failed(bisectSize()))
    return failure();
  std::optional<size_t> before;
  do {
    if (failed(varySizesOfAll()))
      return failure();
    if (!isLarge())
      break;
    kept.push_back(*best);
    before = best;
    for (size_t kind = 0; kind < search.mergeable.kinds.size() && !isDone();
         ++kind)
      if (failed(sketch(listOtherRules(kind))))
        return failure();
  } while (best != before && !isDone());
  return success();
}

/// Whether two ways make the same program, also if one allows more modes.
static bool makeSameProgram(const BucketChoice &a, const BucketChoice &b) {
  auto isSame = [&](size_t index) {
    return a.bucketing.buckets[index].starts ==
               b.bucketing.buckets[index].starts &&
           a.prices[index].mode == b.prices[index].mode;
  };
  return a.prices.size() == b.prices.size() &&
         llvm::all_of(llvm::seq(a.prices.size()), isSame);
}

/// How many collectives the buckets of a way save.
static size_t countSaved(const BucketChoice &choice) {
  size_t numSaved = 0;
  for (const Bucket &bucket : choice.bucketing.buckets)
    numSaved += bucket.starts.size() - 1;
  return numSaved;
}

SmallVector<MergingSearch::Candidate>
MergingSearch::Descent::takeBest(size_t count) const {
  std::vector<size_t> sorted = seen;
  llvm::stable_sort(sorted, [&](size_t a, size_t b) {
    return schedule::isBetter(rank(a), rank(b));
  });
  SmallVector<Candidate> result;
  auto add = [&](size_t index) {
    const Candidate &candidate = search.sketches[index].candidate;
    if (llvm::none_of(result, [&](const Candidate &other) {
          return makeSameProgram(*other.choice, *candidate.choice);
        }))
      result.push_back(candidate);
  };
  for (size_t index : sorted)
    if (result.size() < count)
      add(index);
  // A sketch says less than a schedule about what is nearly equal. Fewer
  // collectives leave a schedule more freedom.
  std::optional<size_t> fewest;
  auto getSaved = [&](size_t index) {
    return countSaved(*search.sketches[index].candidate.choice);
  };
  for (size_t index : sorted)
    if (!rank(index).isOver && rank(index).ns / 200 * 199 <= rank(*best).ns &&
        (!fewest || getSaved(index) > getSaved(*fewest)))
      fewest = index;
  if (fewest)
    add(*fewest);
  for (size_t index : kept)
    add(index);
  return result;
}

FailureOr<SmallVector<MergingSearch::Candidate>>
MergingSearch::findPromising(const Order &unmerged,
                             const StepSchedulerOptions &stepOptions,
                             int64_t boundNs, size_t count) {
  if (mergeable.hasBucket)
    return SmallVector<Candidate>();
  Descent descent(*this, unmerged, stepOptions, boundNs);
  if (failed(sortByUse(unmerged, stepOptions.limitBytes)) ||
      failed(descent.run()))
    return failure();
  return descent.takeBest(count);
}

#undef DEBUG_TYPE
