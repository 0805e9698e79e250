//===- BlockScheduler.cpp - Schedules of a block within a budget ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BlockScheduler.h"
#include "CommSched/Schedule/Step/SmallerOrders.h"
#include "CommSched/Support/Unlimited.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Gain;
using schedule::NodeId;

FailureOr<std::unique_ptr<BlockScheduler>> BlockScheduler::create(
    func::FuncOp function, Block &block, const SchedulingOptions &options,
    DeclineFunction decline, std::shared_ptr<CostAnalysis> pricing) {
  if (!pricing) {
    FailureOr<std::shared_ptr<CostAnalysis>> own =
        CostAnalysis::create(function);
    if (failed(own))
      return failure();
    pricing = std::move(*own);
  }
  std::unique_ptr<BlockScheduler> result(
      new BlockScheduler(function, block, options, std::move(pricing)));
  FailureOr<bool> isRead =
      result->read(decline, /*known=*/nullptr, /*first=*/!options.isTrial);
  if (failed(isRead))
    return failure();
  if (!*isRead)
    result.reset();
  return result;
}

//===----------------------------------------------------------------------===//
// Orders to begin with
//===----------------------------------------------------------------------===//

// All that is known of a block, its buckets and its chunks, follows from the
// order that it is in. So the block itself is in the order that a search begins
// with while it runs, and in that of the program before and after.

/// Puts the operations into `order`, from whichever they are in.
void BlockScheduler::putInto(const schedule::Order &order) const {
  for (NodeId node : order)
    problem.getOperation(node)->remove();
  // Behind the last operation stands the terminator, or nothing.
  Block::iterator place = block.begin();
  for (NodeId node : order)
    block.getOperations().insert(place, problem.getOperation(node));
}

/// What reads the block in `order`; null if it cannot be scheduled.
FailureOr<std::unique_ptr<BlockSearch>>
BlockScheduler::readIn(const schedule::Order &order) const {
  std::unique_ptr<BlockSearch> search(
      new BlockSearch(function, block, options, pricing));
  putInto(order);
  FailureOr<bool> isRead = search->read([](Location, StringRef) {},
                                        /*known=*/nullptr, /*first=*/false);
  putInto(problem.getProblem().programOrder());
  if (failed(isRead))
    return failure();
  if (!*isRead)
    search.reset();
  return search;
}

/// Lists the orders to begin with, unless that is done.
LogicalResult BlockScheduler::findStarts() {
  if (!starts.empty())
    return success();
  const schedule::Problem &known = problem.getProblem();
  starts.push_back({known.programOrder(), nullptr});
  leastBytes = nearBytes = program.step.peakBytes;
  if (options.beginsWithProgram)
    return success();
  FailureOr<schedule::SmallerOrders> smaller =
      unwrap(schedule::findSmallerOrders(known));
  if (failed(smaller))
    return failure();
  leastBytes = smaller->leastBytes;
  nearBytes = smaller->nearBytes;
  auto add = [&](schedule::Order &order, bool isNear) -> LogicalResult {
    FailureOr<std::unique_ptr<BlockSearch>> search = readIn(order);
    if (failed(search))
      return failure();
    if (*search) {
      starts.push_back({std::move(order), std::move(*search)});
      starts.back().isNear = isNear;
    }
    return success();
  };
  for (schedule::Order &order : smaller->orders)
    if (failed(add(order, /*isNear=*/false)))
      return failure();
  for (schedule::Order &order : smaller->nearOrders)
    if (failed(add(order, /*isNear=*/true)))
      return failure();
  return success();
}

/// The best schedule that begins with `start`.
FailureOr<BlockSchedule> BlockScheduler::find(Start &start,
                                              int64_t limitBytes) {
  FailureOr<const schedule::StepSchedule *> unmerged =
      getOrScheduleUnmerged(start, limitBytes);
  if (failed(unmerged))
    return failure();
  if (!start.search) {
    FailureOr<BlockSchedule> found = BlockSearch::find(**unmerged, limitBytes);
    return failed(found) ? found : splitInOrder(std::move(*found), start);
  }
  putInto(start.order);
  FailureOr<BlockSchedule> found = start.search->find(**unmerged, limitBytes);
  putInto(problem.getProblem().programOrder());
  if (failed(found))
    return failure();
  found->start = start.search.get();
  return splitInOrder(std::move(*found), start);
}

/// The best way to split what a schedule without buckets leaves exposed in the
/// order that it has, or `found`, which begins with `start`. The search splits
/// the program in the order to begin with.
FailureOr<BlockSchedule> BlockScheduler::splitInOrder(BlockSchedule found,
                                                      const Start &start) {
  if (options.beginsWithProgram || found.split ||
      !getStartOf(found).mayGainBySplitting(found) ||
      (found.buckets && !found.rejectedSplit))
    return found;
  schedule::Order order;
  FailureOr<BlockSchedule> unmerged =
      found.buckets ? getStartOf(found).findUnmerged(found.limitBytes) : found;
  if (succeeded(unmerged))
    unmerged = getStartOf(found).improve(*unmerged);
  if (failed(unmerged))
    return failure();
  for (NodeId node : unmerged->blockOrder)
    order.push_back(start.order[node]);
  auto known = llvm::find_if(
      scheduled, [&](const Start &other) { return other.order == order; });
  if (known == scheduled.end()) {
    FailureOr<std::unique_ptr<BlockSearch>> search = readIn(order);
    if (failed(search))
      return failure();
    scheduled.push_back({order, std::move(*search)});
    known = std::prev(scheduled.end());
  }
  if (!known->search)
    return found;
  putInto(order);
  FailureOr<std::optional<BlockSchedule>> split =
      known->search->splitProgram(found.limitBytes);
  putInto(problem.getProblem().programOrder());
  if (failed(split))
    return failure();
  if (!*split || !isBetter((*split)->step.rank(found.limitBytes),
                           found.step.rank(found.limitBytes), Gain::Worthwhile))
    return found;
  (*split)->start = known->search.get();
  return std::move(**split);
}

bool BlockScheduler::begin(const BlockSchedule &schedule) const {
  if (!schedule.start)
    return false;
  keepBaselineBytes(function, block, program.step.peakBytes);
  for (const Start &start : llvm::concat<const Start>(starts, scheduled))
    if (start.search.get() == schedule.start)
      putInto(start.order);
  return true;
}

bool BlockScheduler::apply(const BlockSchedule &schedule) {
  bool isMoved = begin(schedule);
  return getStartOf(schedule).apply(schedule) || isMoved;
}

//===----------------------------------------------------------------------===//
// Budget steps
//===----------------------------------------------------------------------===//

// The step scheduler is a heuristic: for a larger limit it may find a longer
// step, or an equal one that takes more memory. So a block is scheduled without
// a limit, and for the fixed limits below what that takes, and the best of
// these schedules within the limit is taken. A larger limit then chooses from
// the same schedules and more.

/// Those of large blocks, where a search takes long.
static constexpr int32_t fewStepPercent[] = {0, 5, 10, 20, 50, 100};

/// In small blocks more of them, so many to the baseline, from the least peak
/// to twice the baseline.
static constexpr int64_t numSteps = 20;

FailureOr<SmallVector<int64_t>> BlockScheduler::listBudgetSteps() {
  if (failed(findStarts()))
    return failure();
  SmallVector<int64_t> limits = {isLarge() ? nearBytes : leastBytes};
  for (int32_t percent :
       isLarge() ? ArrayRef(fewStepPercent) : ArrayRef(budgetStepPercent)) {
    MemoryBudget budget;
    budget.fraction = percent / 100.0;
    limits.push_back(getLimitBytes(budget));
  }
  int64_t peakBytes = program.step.peakBytes;
  if (!isBody(function, block)) {
    // Its step is its peak.
  } else if (isSmall()) {
    for (int64_t bytes = leastBytes; bytes / 2 <= peakBytes;
         bytes += std::max<int64_t>(peakBytes / numSteps, 1))
      limits.push_back(bytes);
    // Where the program takes many times the least peak, these are few.
    for (int64_t bytes = leastBytes; bytes < peakBytes / 2;
         bytes += std::max<int64_t>(bytes / numSteps, 1))
      limits.push_back(bytes);
  } else {
    // Where its order takes much, those of the order that it could have.
    for (int32_t percent : fewStepPercent)
      if (int64_t bytes = nearBytes + nearBytes / 100 * percent;
          bytes < peakBytes)
        limits.push_back(bytes);
  }
  llvm::sort(limits);
  // The step of a block inside of another operation is its peak.
  limits.erase(llvm::unique(limits), limits.end());
  return limits;
}

/// What `known` has for a limit, once `make` has made it.
template <typename T, typename MakeFn>
static FailureOr<const T *> getOrMake(std::map<int64_t, T> &known,
                                      int64_t limitBytes, MakeFn make) {
  auto it = known.find(limitBytes);
  if (it == known.end()) {
    FailureOr<T> made = make();
    if (failed(made))
      return failure();
    it = known.emplace(limitBytes, std::move(*made)).first;
  }
  return &it->second;
}

/// scheduleUnmerged(), which is called once for each limit.
FailureOr<const schedule::StepSchedule *>
BlockScheduler::getOrScheduleUnmerged(Start &start, int64_t limitBytes) {
  return getOrMake(start.unmerged, limitBytes, [&] {
    return (start.search ? *start.search : *this).scheduleUnmerged(limitBytes);
  });
}

/// find(), which is called once for each limit.
FailureOr<const BlockSchedule *> BlockScheduler::getOrFind(Start &start,
                                                           int64_t limitBytes) {
  return getOrMake(start.schedules, limitBytes,
                   [&] { return find(start, limitBytes); });
}

/// improve() of what getOrFind() gives for `foundBytes`, or if that is worse
/// within `limitBytes`, what getOrFind() gives: what takes more than it was
/// found for becomes longer to take less.
FailureOr<const BlockSchedule *>
BlockScheduler::getOrImprove(Start &start, int64_t foundBytes,
                             int64_t limitBytes) {
  FailureOr<const BlockSchedule *> found = getOrFind(start, foundBytes);
  if (failed(found))
    return failure();
  FailureOr<const BlockSchedule *> improved =
      getOrMake(start.improved, foundBytes,
                [&] { return getStartOf(**found).improve(**found); });
  bool isWorse =
      succeeded(improved) && isBetter((*found)->step.rank(limitBytes),
                                      (*improved)->step.rank(limitBytes));
  return isWorse ? found : improved;
}

/// The number of operations up to which smaller budgets are considered: that
/// takes a few times as long as scheduling once.
static constexpr NodeId maxSteppedNodes = 1 << 16;

/// Whether a schedule that begins with `start`, without buckets and without a
/// limit, is so much longer than others that a search is not worth its time.
/// Those that replace the order of the program are compared with it later.
FailureOr<bool> BlockScheduler::isFar(Start &start) {
  int64_t leastNs = unlimited;
  for (Start &other : starts) {
    FailureOr<const schedule::StepSchedule *> unmerged =
        getOrScheduleUnmerged(other, unlimited);
    if (failed(unmerged))
      return failure();
    if (!other.isNear)
      leastNs = std::min(leastNs, (*unmerged)->stepNs);
  }
  return start.unmerged.at(unlimited).stepNs / 9 * 8 > leastNs;
}

/// Adds the schedules for `bytes`. In a small block, which has many budget
/// steps, they begin with the order of the program, with that of the least
/// peak, and with those whose schedules without buckets are better than all
/// before. In a large block, where a search takes long, they do not begin with
/// what isFar(), nor with what takes far too much where others fit. An order
/// with nearly the peak of the program has to be better in any block, and takes
/// its place in a large one.
LogicalResult
BlockScheduler::consider(int64_t bytes, int64_t limitBytes,
                         SmallVectorImpl<Considered> &considered) {
  std::optional<schedule::Rank> best;
  SmallVector<Start *> chosen;
  for (auto [index, start] : llvm::enumerate(starts)) {
    FailureOr<bool> isLeftOut = isSmall() ? false : isFar(start);
    if (failed(isLeftOut))
      return failure();
    if (*isLeftOut)
      continue;
    FailureOr<const schedule::StepSchedule *> unmerged =
        getOrScheduleUnmerged(start, bytes);
    if (failed(unmerged))
      return failure();
    schedule::Rank rank = (*unmerged)->rank(bytes);
    bool isBest = !best || isBetter(rank, *best, Gain::Worthwhile);
    if (isBest)
      best = rank;
    // One that was taken for less stays: its search has gone further.
    bool mayStay = start.isNear && !start.schedules.empty() &&
                   !isBetter(*best, rank, Gain::Worthwhile);
    if (!isBest && !mayStay && (start.isNear || (isSmall() && index > 1)))
      continue;
    bool isReplaced = start.isNear && !isSmall() && !chosen.empty() &&
                      chosen.front() == &starts.front();
    if (isReplaced)
      chosen.front() = &start;
    else
      chosen.push_back(&start);
  }
  if (!isSmall() && best && !best->isOver)
    llvm::erase_if(chosen, [&](const Start *start) {
      return start->unmerged.at(bytes).peakBytes / 9 * 8 > bytes;
    });
  for (Start *start : chosen) {
    FailureOr<const BlockSchedule *> schedule = getOrFind(*start, bytes);
    if (failed(schedule))
      return failure();
    considered.push_back({start, bytes, (*schedule)->step.rank(limitBytes)});
  }
  return success();
}

/// Whether `bytes` of a large block are nearly those of the shortest schedule,
/// but too few for what begins with `start`, or make it longer: then a search
/// finds nothing shorter than that.
FailureOr<bool> BlockScheduler::isNearlyAll(Start &start, int64_t bytes) {
  if (!isLarge() || shortestBytes - bytes > shortestBytes / 1000)
    return false;
  FailureOr<const schedule::StepSchedule *> most =
      getOrScheduleUnmerged(start, unlimited);
  if (failed(most))
    return failure();
  FailureOr<const schedule::StepSchedule *> within =
      getOrScheduleUnmerged(start, bytes);
  if (failed(within))
    return failure();
  return !(*within)->fits(bytes) ||
         schedule::isWorthTrying((*within)->stepNs - (*most)->stepNs,
                                 (*most)->stepNs);
}

bool BlockScheduler::isBefore(const Considered &a, const Considered &b) {
  return isBetter(a.rank, b.rank);
}

schedule::Rank BlockScheduler::getBest(ArrayRef<Considered> considered) {
  return llvm::min_element(considered, isBefore)->rank;
}

/// The schedules that are considered for `limitBytes`, in ascending order of
/// their limits.
FailureOr<SmallVector<BlockScheduler::Considered>>
BlockScheduler::considerAll(int64_t limitBytes) {
  SmallVector<Considered> all, highest;
  if (options.isQuick && !options.beginsWithProgram &&
      limitBytes < leastBytes) {
    // What other limits give hardly takes less.
    hasSearchedLimit = true;
    if (failed(consider(limitBytes, limitBytes, all)))
      return failure();
    return all;
  }
  if (failed(consider(unlimited, limitBytes, highest)))
    return failure();
  // Limits that the best schedule without a limit meets are all the same. All
  // others are looked at in ascending order, since a search begins with what
  // was found before: for a budget step it then is the same whatever the limit
  // is. So are those behind a schedule that nothing is much shorter than. A
  // quick search looks at budget steps last, and only if nothing else is that
  // short.
  const Considered first =
      *llvm::min_element(highest, [](const Considered &a, const Considered &b) {
        return std::tie(a.rank.ns, a.rank.bytes) <
               std::tie(b.rank.ns, b.rank.bytes);
      });
  schedule::Rank shortest = first.rank;
  if (!shortest.isOver) {
    // What is shorter still may take more.
    FailureOr<const BlockSchedule *> improved =
        getOrImprove(*first.start, unlimited, unlimited);
    if (failed(improved))
      return failure();
    shortest = (*improved)->step.rank(limitBytes);
  }
  shortestBytes = std::max(first.rank.bytes, shortest.bytes);
  int64_t belowBytes = std::min(limitBytes, shortestBytes);
  FailureOr<SmallVector<int64_t>> steps = listBudgetSteps();
  if (failed(steps))
    return failure();
  llvm::erase_if(*steps, [&](int64_t bytes) { return bytes >= belowBytes; });
  if (shortest.isOver) {
    steps->insert(options.isQuick ? steps->begin() : steps->end(), limitBytes);
    hasSearchedLimit = true;
    // What is over the limit anyway, within the least that is known.
    if (limitBytes < leastBytes)
      steps->push_back(leastBytes);
  }
  if (options.isQuick)
    std::swap(all, highest);
  for (int64_t bytes : *steps) {
    if (!all.empty()) {
      schedule::Rank best = getBest(all);
      FailureOr<bool> mayBeShorter = mayGain(best.ns);
      if (failed(mayBeShorter))
        return failure();
      if (!best.isOver && !*mayBeShorter)
        break;
    }
    FailureOr<bool> isLost =
        limitBytes < shortestBytes ? false : isNearlyAll(*first.start, bytes);
    if (failed(isLost))
      return failure();
    if (*isLost)
      break;
    if (failed(consider(bytes, limitBytes, all)))
      return failure();
  }
  llvm::append_range(all, highest);
  return all;
}

/// How much longer than the best a schedule may be to be improved, too: one
/// part in so many. In small blocks small steps are searched, which may gain
/// much.
static int64_t getImprovedPart(bool isSmall) { return isSmall ? 8 : 256; }
/// Returns those that are improved, the best first, each step with its bytes
/// once. In small blocks, a schedule is compared with those for limits up to
/// its own, so that no larger limit leaves it out.
SmallVector<BlockScheduler::Considered>
BlockScheduler::selectPromising(ArrayRef<Considered> considered) const {
  int64_t improvedPart = getImprovedPart(isSmall());
  schedule::Rank best = getBest(considered);
  SmallVector<Considered> selected;
  for (auto [index, each] : llvm::enumerate(considered)) {
    schedule::Rank known =
        isSmall() ? getBest(considered.take_front(index + 1)) : best;
    if (each.rank.isOver == best.isOver &&
        each.rank.ns - known.ns <= known.ns / improvedPart &&
        llvm::none_of(selected, [&](const Considered &other) {
          return other.rank.getKey() == each.rank.getKey();
        }))
      selected.push_back(each);
  }
  llvm::stable_sort(selected, isBefore);
  return selected;
}

/// Whether what is improved of a schedule may be better than `chosen`, by the
/// bound on the orders of its collectives.
FailureOr<bool> BlockScheduler::mayBecomeBetter(const Considered &considered,
                                                const BlockSchedule *chosen,
                                                int64_t limitBytes) {
  if (!chosen || !chosen->step.fits(limitBytes))
    return true;
  FailureOr<const BlockSchedule *> known =
      getOrFind(*considered.start, considered.limitBytes);
  if (failed(known))
    return failure();
  FailureOr<int64_t> boundNs = getStartOf(**known).computeLowerBoundNs(**known);
  if (failed(boundNs))
    return failure();
  return *boundNs <= chosen->step.stepNs;
}

FailureOr<BlockSchedule> BlockScheduler::schedule(int64_t limitBytes) {
  if (problem.getProblem().numNodes() > maxSteppedNodes) {
    hasSearchedLimit = true;
    FailureOr<BlockSchedule> found = BlockSearch::find(limitBytes);
    return failed(found) ? found : improve(*found);
  }
  if (failed(findStarts()))
    return failure();
  FailureOr<SmallVector<Considered>> considered = considerAll(limitBytes);
  if (failed(considered))
    return failure();
  const BlockSchedule *chosen = nullptr;
  for (const Considered &each : selectPromising(*considered)) {
    FailureOr<bool> mayBecome = mayBecomeBetter(each, chosen, limitBytes);
    if (failed(mayBecome))
      return failure();
    if (!*mayBecome)
      continue;
    FailureOr<const BlockSchedule *> improved =
        getOrImprove(*each.start, each.limitBytes, limitBytes);
    if (failed(improved))
      return failure();
    if (!chosen || isBetter((*improved)->step.rank(limitBytes),
                            chosen->step.rank(limitBytes)))
      chosen = *improved;
  }
  BlockSchedule result = *chosen;
  result.limitBytes = limitBytes;
  llvm::erase_if(*considered, [](const Considered &each) {
    return each.limitBytes != unlimited;
  });
  result.isLimited =
      considered->empty() || llvm::any_of(*considered, [](const auto &each) {
        return each.rank.isOver;
      });
  return result;
}

//===----------------------------------------------------------------------===//
// Budgets of reserved memory
//===----------------------------------------------------------------------===//

/// The best schedule for which the allocator reserves `limitBytes` at most, of
/// those that lower limits of live bytes give.
FailureOr<BlockSchedule> BlockScheduler::scheduleReserved(int64_t limitBytes) {
  constexpr int32_t numAttempts = 4;
  int64_t liveLimitBytes = limitBytes;
  FailureOr<int64_t> programBytes = computeReservedBytes(program);
  if (failed(programBytes))
    return failure();
  // If nothing reserves less, the program stays as it is.
  BlockSchedule best = program;
  best.limitBytes = limitBytes;
  best.reserved = {*programBytes, limitBytes};
  for (int32_t attempt = 0; attempt < numAttempts; ++attempt) {
    FailureOr<BlockSchedule> next = schedule(liveLimitBytes);
    if (failed(next))
      return failure();
    FailureOr<int64_t> bytes = computeReservedBytes(*next);
    if (failed(bytes))
      return failure();
    next->reserved = {*bytes, limitBytes};
    next->isLimited |= attempt > 0 || !next->fits();
    if (next->fits())
      return next;
    // Below that limit no schedule is known.
    bool isLeast = !next->step.fits(liveLimitBytes);
    liveLimitBytes =
        std::min(liveLimitBytes, next->step.peakBytes) - (*bytes - limitBytes);
    if (*bytes < best.reserved->bytes)
      best = std::move(*next);
    if (isLeast)
      break;
  }
  return best;
}

FailureOr<BlockSchedule> BlockScheduler::scheduleWithinBudget() {
  int64_t limitBytes = getLimitBytes(options.budget);
  // What the allocator holds for the operations around a block is not known.
  if (!options.budgetAllocator || !isBody(function, block))
    return schedule(limitBytes);
  return scheduleReserved(limitBytes);
}
