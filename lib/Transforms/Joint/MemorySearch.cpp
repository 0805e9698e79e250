//===- MemorySearch.cpp - Search of a step that fits ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MemorySearch.h"
#include "CommSched/Support/Unlimited.h"
#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::Split;

FailureOr<OwnedHalves>
mlir::commsched::createHalves(const JointFunction &working, const Split &split,
                              OperationCosts &costs,
                              const HalvesOptions &options) {
  OwnedHalves halves = splitFunction(working, split, options.names);
  if (options.mimicsAutograd &&
      failed(applyAutogradOrder(*halves.backward,
                                /*emitRemarks=*/!options.isTrial)))
    return failure();
  if (options.treatment.quantizedEighths > 0)
    quantizeSavedValues(halves.get(), options.treatment.quantizedEighths,
                        /*emitRemarks=*/!options.isTrial);
  if (options.treatment.offloads)
    offloadSavedValues(halves.get(), costs, options.hostBytes);
  return halves;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

std::string PartitionTrial::getOrigin() const {
  std::string text = partition->origin;
  if (treatment.quantizedEighths == 8)
    text += ", in 8 bits";
  else if (treatment.quantizedEighths > 0)
    text += ", " + std::to_string(treatment.quantizedEighths) + "/8 in 8 bits";
  return text + (treatment.offloads ? ", with transfers" : "");
}

/// The ways to save that are tried. Of small functions, a part of the values is
/// not in 8 bits alone.
SmallVector<Treatment> MemorySearch::listTreatments() const {
  SmallVector<int32_t> eighths = {0};
  if (options.mayQuantize && !list.isSmall())
    eighths.append({2, 4, 6});
  if (options.mayQuantize)
    eighths.push_back(8);
  SmallVector<Treatment> treatments;
  for (int32_t quantizedEighths : eighths) {
    treatments.push_back({/*offloads=*/false, quantizedEighths});
    if (options.hostBytes > 0)
      treatments.push_back({/*offloads=*/true, quantizedEighths});
  }
  return treatments;
}

/// The halves of a partition as they are scheduled.
FailureOr<OwnedHalves>
MemorySearch::makeHalves(const ListedPartition &partition,
                         Treatment treatment) {
  FailureOr<OwnedHalves> halves =
      createHalves(working, partition.split, costs,
                   {getPartitionNames(working.getFunction()), /*isTrial=*/true,
                    treatment, options.hostBytes, options.mimicsAutograd});
  if (failed(halves) || failed(prepare(halves->get())))
    return failure();
  return halves;
}

/// Measures a partition as it is before it is scheduled, unless that is done.
FailureOr<const PartitionTrial *>
MemorySearch::measure(const ListedPartition &partition, Treatment treatment) {
  auto [it, isNew] = trials.try_emplace({partition.split.saved, treatment});
  PartitionTrial &trial = it->second;
  if (!isNew)
    return &trial;
  trial.partition = &partition;
  trial.treatment = treatment;
  FailureOr<OwnedHalves> halves = makeHalves(partition, treatment);
  if (failed(halves))
    return failure();
  FailureOr<PairCosts> pair =
      computePairCosts(working.getFunction(), halves->get(), costs);
  if (failed(pair))
    return failure();
  trial.costs = *pair;
  return &trial;
}

LogicalResult MemorySearch::measureAll(Treatment treatment) {
  FailureOr<std::vector<const ListedPartition *>> all = list.getAll();
  if (failed(all))
    return failure();
  for (const ListedPartition *partition : *all)
    if (failed(measure(*partition, treatment)))
      return failure();
  return success();
}

/// Measures partitions that are estimated to take up to `bytes`. What the best
/// of them takes differs from its estimate, and the next round looks that much
/// further.
LogicalResult MemorySearch::measureAround(int64_t bytes, Treatment treatment) {
  constexpr int32_t mostRounds = 8;
  int64_t target = bytes;
  for (int32_t round = 0; round < mostRounds; ++round) {
    FailureOr<std::vector<const ListedPartition *>> around =
        list.getAround(target);
    if (failed(around))
      return failure();
    std::optional<int64_t> missedBytes;
    for (const ListedPartition *partition : *around) {
      FailureOr<const PartitionTrial *> trial = measure(*partition, treatment);
      if (failed(trial))
        return failure();
      if (!missedBytes)
        missedBytes = (*trial)->costs.peakBytes - partition->estimate.peakBytes;
    }
    int64_t next = bytes - *missedBytes;
    if (next == target)
      break;
    target = next;
  }
  return success();
}

std::vector<const PartitionTrial *> MemorySearch::getMeasured() const {
  std::vector<const PartitionTrial *> measured;
  for (const auto &[key, trial] : trials)
    measured.push_back(&trial);
  // The map is in the order of what is saved, which decides between equals.
  auto getKey = [](const PartitionTrial *trial) {
    return std::make_tuple(trial->costs.boundNs,
                           trial->treatment.quantizedEighths,
                           trial->costs.computeNs, trial->treatment.offloads,
                           trial->costs.peakBytes);
  };
  llvm::stable_sort(measured,
                    [&](const PartitionTrial *a, const PartitionTrial *b) {
                      return getKey(a) < getKey(b);
                    });
  return measured;
}

//===----------------------------------------------------------------------===//
// Scheduling
//===----------------------------------------------------------------------===//

/// What comes first is better: what fits, then what is short, then what keeps
/// its saved values exact, then what computes little, which shortens a step
/// that repeats or whose optimizer overlaps, then what leaves its saved values
/// in place, then what takes little; of what does not fit, what takes less.
static auto getRank(const FittedTrial &point, int64_t bytes) {
  const auto &[trial, schedule] = point;
  bool isOver = schedule.peakBytes > bytes;
  Treatment treatment = isOver ? Treatment() : trial->treatment;
  // Within the limit the bytes count after the treatment.
  return std::make_tuple(
      schedule::Rank(schedule.stepNs, isOver ? schedule.peakBytes : 0, bytes),
      treatment.quantizedEighths, isOver ? 0 : trial->costs.computeNs,
      treatment.offloads, schedule.peakBytes);
}

static bool isBetter(const FittedTrial &a, const FittedTrial &b,
                     int64_t bytes) {
  return getRank(a, bytes) < getRank(b, bytes);
}

/// What schedules the halves of `trial`.
FailureOr<std::shared_ptr<PairScheduler>>
MemorySearch::makeScheduler(const PartitionTrial &trial,
                            const SchedulingOptions &scheduling) {
  FailureOr<OwnedHalves> halves = makeHalves(*trial.partition, trial.treatment);
  if (failed(halves))
    return failure();
  FailureOr<std::unique_ptr<PairScheduler>> created =
      PairScheduler::create(std::move(*halves), trial.costs, scheduling);
  if (failed(created))
    return failure();
  return std::shared_ptr<PairScheduler>(std::move(*created));
}

/// Keeps a schedule of `trial`. Returns what it takes.
PairSchedule MemorySearch::keep(const PartitionTrial &trial,
                                const std::shared_ptr<PairScheduler> &scheduler,
                                PairDecision decision) {
  FittedTrial point = {&trial, decision.schedule};
  points.push_back(point);
  if (!best || isBetter(point, best->point, options.limitBytes))
    best = {point, scheduler, std::move(decision)};
  return point.schedule;
}

/// Schedules the halves of `trial` without a limit, then for less than the last
/// schedule took, and so on.
LogicalResult MemorySearch::scheduleTrial(const PartitionTrial &trial) {
  FailureOr<std::shared_ptr<PairScheduler>> scheduler =
      makeScheduler(trial, scheduling);
  if (failed(scheduler))
    return failure();
  constexpr int32_t mostLimits = 8;
  int64_t limitBytes = unlimited;
  for (int32_t numLimits = 0; numLimits <= mostLimits; ++numLimits) {
    FailureOr<PairDecision> decision = (*scheduler)->schedule(limitBytes);
    if (failed(decision))
      return failure();
    PairSchedule last = keep(trial, *scheduler, std::move(*decision));
    if (!last.fits() || last.peakBytes == 0)
      break;
    limitBytes = numLimits + 1 == mostLimits ? 0 : last.peakBytes - 1;
  }
  return success();
}

/// What schedules a trial within a limit as if it had never scheduled it.
FailureOr<std::shared_ptr<PairScheduler>>
MemorySearch::getOrMakeScheduler(const LimitedTrial &wanted) {
  std::shared_ptr<PairScheduler> &known = schedulers[wanted.first];
  if (known && known->isAsNew(wanted.second))
    return known;
  FailureOr<std::shared_ptr<PairScheduler>> made =
      makeScheduler(*wanted.first, scheduling);
  if (succeeded(made))
    known = *made;
  return made;
}

/// Schedules trials within limits, a few different ones at once.
LogicalResult MemorySearch::scheduleAtOnce(ArrayRef<LimitedTrial> wanted) {
  constexpr size_t numAtOnce = 4;
  MLIRContext *context = working.getFunction().getContext();
  while (!wanted.empty()) {
    SmallVector<std::shared_ptr<PairScheduler>> now;
    for (const LimitedTrial &limited : wanted.take_front(numAtOnce)) {
      FailureOr<std::shared_ptr<PairScheduler>> scheduler =
          getOrMakeScheduler(limited);
      if (failed(scheduler))
        return failure();
      if (llvm::is_contained(now, *scheduler))
        break;
      now.push_back(std::move(*scheduler));
    }
    SmallVector<std::optional<PairDecision>> decisions(now.size());
    auto schedule = [&](size_t index) -> LogicalResult {
      FailureOr<PairDecision> decision =
          now[index]->schedule(wanted[index].second);
      if (succeeded(decision))
        decisions[index] = std::move(*decision);
      return decision;
    };
    if (failed(failableParallelForEachN(context, 0, now.size(), schedule)))
      return failure();
    for (auto [index, scheduler] : llvm::enumerate(now)) {
      const PartitionTrial *trial = wanted[index].first;
      keep(*trial, scheduler, std::move(*decisions[index]));
      if (!scheduler->isAsNew(unlimited))
        schedulers.erase(trial);
    }
    wanted = wanted.drop_front(now.size());
  }
  return success();
}

/// Returns the best of the points for `bytes`, of equal ones the first; null if
/// there is none.
const FittedTrial *MemorySearch::findBest(int64_t bytes) const {
  const FittedTrial *found = nullptr;
  for (const FittedTrial &point : points)
    if (!found || isBetter(point, *found, bytes))
      found = &point;
  return found;
}

/// Whether a schedule of `trial` within `bytes` may be shorter than what is
/// known.
bool MemorySearch::mayBeBest(const PartitionTrial &trial, int64_t bytes) const {
  const FittedTrial *known = findBest(bytes);
  return !known || known->schedule.peakBytes > bytes ||
         known->schedule.stepNs > trial.costs.boundNs;
}

/// Whether a schedule takes over a fiftieth longer than its bound.
static bool isFarFromBound(const FittedTrial &point) {
  constexpr int64_t farShare = 50;
  int64_t stepNs = point.schedule.stepNs;
  return stepNs - stepNs / farShare > point.trial->costs.boundNs;
}

/// Returns the point of `trial` for that limit, or null.
const FittedTrial *MemorySearch::findPoint(const PartitionTrial &trial,
                                           int64_t bytes) const {
  auto it = llvm::find_if(points, [&](const FittedTrial &point) {
    return point.trial == &trial && point.schedule.limitBytes == bytes;
  });
  return it == points.end() ? nullptr : &*it;
}

/// What was measured within `bytes`, the shortest bound first.
std::vector<const PartitionTrial *>
MemorySearch::getPromising(int64_t bytes) const {
  std::vector<const PartitionTrial *> within = getMeasured();
  llvm::erase_if(within, [&](const PartitionTrial *trial) {
    return trial->costs.peakBytes > bytes;
  });
  return within;
}

/// Schedules the most promising within each of the limits, as
/// schedulePromising() begins.
LogicalResult MemorySearch::scheduleFirst(ArrayRef<int64_t> limits) {
  std::vector<LimitedTrial> wanted;
  for (int64_t bytes : limits)
    if (std::vector<const PartitionTrial *> within = getPromising(bytes);
        !within.empty() && mayBeBest(*within.front(), bytes) &&
        !findPoint(*within.front(), bytes))
      wanted.push_back({within.front(), bytes});
  return scheduleAtOnce(wanted);
}

/// Schedules the most promising of what was measured within `bytes`, with and
/// without transfers, which bounds know less about: that with the shortest
/// bound, and the next ones as long as the last is far from its bound.
LogicalResult MemorySearch::schedulePromising(int64_t bytes) {
  constexpr int32_t mostSchedules = 3;
  // Without and with transfers.
  int32_t counts[2] = {0, 0};
  bool areSettled[2] = {false, false};
  for (const PartitionTrial *trial : getPromising(bytes)) {
    if (!mayBeBest(*trial, bytes))
      break;
    bool offloads = trial->treatment.offloads;
    if (areSettled[offloads])
      continue;
    if (!findPoint(*trial, bytes) && failed(scheduleAtOnce({{trial, bytes}})))
      return failure();
    areSettled[offloads] = !isFarFromBound(*findPoint(*trial, bytes)) ||
                           ++counts[offloads] == mostSchedules;
  }
  return success();
}

/// Those of `trials`, which begin with the shortest bound, that fewer than
/// `mostBeating` others with the same treatment, gathers included, beat in both
/// bound and peak. Bounds and peaks before scheduling are only a hint, so that
/// what is beaten may be the best in the end.
static std::vector<const PartitionTrial *>
keepPromising(const std::vector<const PartitionTrial *> &trials,
              size_t mostBeating) {
  using Key = std::pair<Treatment, partition::CollectivePolicy>;
  // The lowest peaks up to now, ascending.
  std::map<Key, SmallVector<int64_t>> lowest;
  std::vector<const PartitionTrial *> kept;
  for (const PartitionTrial *trial : trials) {
    int64_t bytes = trial->costs.peakBytes;
    SmallVector<int64_t> &peaks =
        lowest[{trial->treatment, trial->partition->gathers}];
    if (peaks.size() == mostBeating && peaks.back() <= bytes)
      continue;
    peaks.insert(llvm::upper_bound(peaks, bytes), bytes);
    if (peaks.size() > mostBeating)
      peaks.pop_back();
    kept.push_back(trial);
  }
  return kept;
}

/// Whether a schedule of `trial` may be within `bytes`: if it is over them
/// before it is scheduled, whether a quick one that needs little is not much
/// over them.
FailureOr<bool> MemorySearch::mayFit(const PartitionTrial &trial,
                                     int64_t bytes) {
  if (trial.costs.peakBytes <= bytes)
    return true;
  auto [known, isNew] = quickPeaks.try_emplace(&trial);
  if (isNew) {
    SchedulingOptions quick = scheduling;
    quick.isQuick = true;
    FailureOr<std::shared_ptr<PairScheduler>> scheduler =
        makeScheduler(trial, quick);
    if (failed(scheduler))
      return failure();
    FailureOr<PairDecision> decision = (*scheduler)->schedule(0);
    if (failed(decision))
      return failure();
    known->second = decision->schedule.peakBytes;
  }
  return known->second / 17 * 16 <= bytes;
}

/// Schedules what is promising for all limits: points that are the same
/// whatever the memory is, so that more memory never makes a step longer.
/// Leaves out what is longer than a schedule within `bytes` in any case.
LogicalResult MemorySearch::scheduleCompletely(int64_t bytes) {
  size_t mostBeating = list.isTiny() ? 3 : 1;
  for (const PartitionTrial *trial :
       keepPromising(getMeasured(), mostBeating)) {
    if (!mayBeBest(*trial, bytes))
      break;
    if (findPoint(*trial, unlimited))
      continue;
    FailureOr<bool> fits = mayFit(*trial, bytes);
    if (failed(fits) || (*fits && failed(scheduleTrial(*trial))))
      return failure();
  }
  return success();
}

/// What was measured with the lowest peak, of a quick schedule if there is one.
const PartitionTrial *MemorySearch::getLeast() const {
  std::vector<const PartitionTrial *> measured = getMeasured();
  auto getPeak = [&](const PartitionTrial *trial) {
    auto quick = quickPeaks.find(trial);
    return quick == quickPeaks.end() ? trial->costs.peakBytes : quick->second;
  };
  return *llvm::min_element(
      measured, [&](const PartitionTrial *a, const PartitionTrial *b) {
        return getPeak(a) < getPeak(b);
      });
}

/// Measures what may be the best within `bytes`.
LogicalResult MemorySearch::measureFor(int64_t bytes) {
  for (Treatment treatment : listTreatments())
    if (failed(list.isSmall() ? measureAll(treatment)
                              : measureAround(bytes, treatment)))
      return failure();
  return success();
}

FailureOr<const PartitionTrial *> MemorySearch::findUnscheduled() {
  if (failed(measureFor(options.limitBytes)))
    return failure();
  std::vector<const PartitionTrial *> within = getPromising(options.limitBytes);
  return within.empty() ? getLeast() : within.front();
}

/// Finds steps within each of the limits; for one that nothing is known to be
/// within, what takes least.
LogicalResult MemorySearch::find(ArrayRef<int64_t> limits) {
  for (int64_t bytes : limits)
    if (failed(measureFor(bytes)))
      return failure();
  if (!list.isSmall() && failed(scheduleFirst(limits)))
    return failure();
  for (int64_t bytes : limits) {
    if (failed(list.isSmall() ? scheduleCompletely(bytes)
                              : schedulePromising(bytes)))
      return failure();
    const FittedTrial *known = findBest(bytes);
    if ((!known || known->schedule.peakBytes > bytes) &&
        failed(scheduleAtOnce({{getLeast(), 0}})))
      return failure();
  }
  return success();
}

/// find() for the limit, of which the best can be applied.
LogicalResult MemorySearch::findWithinLimit() {
  if (failed(find(options.limitBytes)))
    return failure();
  const FittedTrial &known = *findBest(options.limitBytes);
  // One of another limit has lost what scheduled it.
  if (best && !isBetter(known, best->point, options.limitBytes))
    return success();
  return scheduleAtOnce({{known.trial, known.schedule.limitBytes}});
}

LogicalResult MemorySearch::run() {
  return scheduling.budgetAllocator ? findReserved() : findWithinLimit();
}
