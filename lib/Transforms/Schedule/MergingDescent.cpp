//===- MergingDescent.cpp - Search for ways to merge for one limit --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergingDescent.h"

#include "llvm/ADT/Sequence.h"

#include <array>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The sizes of buckets that are tried, in percent of what saturates a group or
/// of all that may travel together.
static constexpr int32_t sizePercents[] = {0, 1, 3, 6, 12, 25, 50, 100, 200};

/// The parts of the memory left that a bucket may have; 0: any.
static constexpr int32_t roomPercents[] = {0, 100, 50, 25, 12};

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

/// Moves the room or the buckets of some parts to the neighboring value in the
/// direction -1 or 1. False if there is nothing to move.
bool MergingSearch::Descent::move(PlanRule &rule, const Change &change,
                                  int32_t direction) {
  if (rule.kind != PlanRule::Kind::Bytes)
    return false;
  if (change.what == Change::What::Room) {
    std::optional<int32_t> next =
        getNeighbor(roomPercents, rule.roomPercent, direction);
    rule.roomPercent = next.value_or(rule.roomPercent);
    return next.has_value();
  }
  bool isMoved = false;
  for (int32_t &percent :
       MutableArrayRef(rule.percents).slice(change.first, change.length))
    if (std::optional<int32_t> next = getNextSize(percent, direction > 0)) {
      percent = *next;
      isMoved = true;
    }
  return isMoved;
}

/// What a change makes of the best rules.
std::vector<MergingSearch::Rules>
MergingSearch::Descent::listChanged(const Change &change) const {
  if (change.what == Change::What::Rule)
    return listOtherRules(change.kind);
  std::vector<Rules> changed;
  for (int32_t direction : {-1, 1}) {
    Rules rules = getBestRules();
    PlanRule &rule = rules[change.kind];
    if (change.what == Change::What::Copies) {
      rule.isCoalesced = !rule.isCoalesced;
      return {rules};
    }
    if (move(rule, change, direction))
      changed.push_back(std::move(rules));
  }
  return changed;
}

/// Changes the rule of a kind in one direction or the other, whichever is
/// better, while that makes it better still. Passes over what is known already.
LogicalResult MergingSearch::Descent::vary(const Change &change) {
  std::optional<size_t> before = best;
  std::array<Rules, 2> paths = {getBestRules(), getBestRules()};
  SmallVector<size_t> open = {0, 1};
  while (!isDone()) {
    llvm::erase_if(open, [&](size_t path) {
      return !move(paths[path][change.kind], change, path == 0 ? -1 : 1);
    });
    if (open.empty())
      break;
    size_t numSeen = seen.size();
    auto tried = llvm::map_to_vector(
        open, [&](size_t path) -> const Rules & { return paths[path]; });
    if (failed(sketch(tried)))
      return failure();
    bool isImproved = hasImproved(before);
    before = best;
    llvm::erase_if(open, [&](size_t path) {
      return isImproved ? paths[path] != getBestRules()
                        : wasSketchedSince(numSeen, paths[path]);
    });
  }
  return success();
}

/// Tries the first `count` changes one after the other, each of the best rules.
LogicalResult MergingSearch::Descent::tryFirst(size_t count,
                                               ArrayRef<Change> changes) {
  for (size_t index = 0; index < count && !isDone(); ++index) {
    const Change &change = changes[index];
    next = changes.drop_front(index + 1);
    bool isMove =
        change.what == Change::What::Room || change.what == Change::What::Sizes;
    if (failed(isMove ? vary(change) : sketch(listChanged(change))))
      return failure();
  }
  next = {};
  return success();
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

/// The changes of parts of that length of all kinds, and if that is all of
/// them, of what the buckets of a kind share.
SmallVector<MergingSearch::Descent::Change>
MergingSearch::Descent::listChanges(size_t length) const {
  using What = Change::What;
  SmallVector<Change> changes;
  for (auto [kind, collectives] : llvm::enumerate(search.mergeable.kinds)) {
    if (collectives.collectives.mergeable.size() < 2)
      continue;
    if (length == numPlanParts) {
      changes.push_back({What::Copies, kind});
      // In smaller programs refinement reaches what other rules would.
      if (isLarge())
        changes.push_back({What::Rule, kind});
      if (isLimited())
        changes.push_back({What::Room, kind});
    }
    for (size_t first = 0; first < numPlanParts; first += length)
      changes.push_back({What::Sizes, kind, first, length});
  }
  return changes;
}

/// Varies the sizes of ever smaller parts while that is better: at least those
/// of a whole kind and of its halves.
LogicalResult MergingSearch::Descent::varySizesOfAll() {
  for (size_t length = numPlanParts; length > 0; length /= 2) {
    std::optional<size_t> before = best;
    bool isWhole = length == numPlanParts;
    SmallVector<Change> changes = listChanges(length);
    size_t count = changes.size();
    if (isWhole)
      llvm::append_range(changes, listChanges(length / 2));
    if (failed(tryFirst(count, changes)))
      return failure();
    if (!hasImproved(before) && !isWhole)
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
    SmallVector<Change> changes;
    for (size_t kind = 0; kind < search.mergeable.kinds.size(); ++kind)
      changes.push_back({Change::What::Rule, kind});
    if (failed(tryFirst(changes.size(), changes)))
      return failure();
  } while (hasImproved(before) && !isDone());
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
