//===- CyclicScheduler.cpp - Scheduler of programs that repeat ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/CyclicScheduler.h"
#include "CommSched/Support/Unlimited.h"

#include "../Model/TransportBuffers.h"
#include "Rotation.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Makes candidates for the order of the period and keeps the best.
class CyclicScheduler {
public:
  CyclicScheduler(const CyclicProblem &problem,
                  const CyclicSchedulerOptions &options, int64_t boundNs)
      : problem(problem), options(options), graph(problem), rotation(graph),
        boundNs(boundNs) {}

  Result<CyclicSchedule> run();

private:
  using StepSolver = Result<StepSchedule> (*)(const Problem &,
                                              const StepSchedulerOptions &);

  bool isWorthwhile(int64_t gainNs) const {
    return schedule::isWorthwhile(gainNs, best.periodNs);
  }
  bool fits(const CyclicSchedule &schedule) const {
    return schedule.peakBytes <= options.step.limitBytes;
  }
  bool isBetter(const CyclicSchedule &a, const CyclicSchedule &b) const {
    int64_t limitBytes = options.step.limitBytes;
    return schedule::isBetter(a.rank(limitBytes), b.rank(limitBytes));
  }
  Result<CyclicSchedule> measure(CyclicOrder order) const;
  Result<CyclicSchedule> compact(const CyclicOrder &order,
                                 StepSolver solve) const;
  Status keep(Result<CyclicSchedule> candidate);
  std::vector<size_t> listCuts(const CyclicOrder &order) const;
  Result<std::vector<CyclicSchedule>> sketchRotations() const;
  Status finish(std::vector<CyclicSchedule> sketches);
  Result<CyclicSchedule> fill(const CyclicSchedule &schedule,
                              std::initializer_list<int64_t> distances) const;
  Status fillStallsOf(std::vector<CyclicSchedule> sketches);
  Status rotate();
  Status sinkWaits();
  Status sinkFree();

  const CyclicProblem &problem;
  const CyclicSchedulerOptions &options;
  PeriodGraph graph;
  Rotation rotation;
  /// The least period.
  int64_t boundNs;
  CyclicSchedule best;
};

} // namespace

Result<CyclicSchedule> CyclicScheduler::measure(CyclicOrder order) const {
  return measureCyclic(problem, std::move(order), options.step.contention);
}

Status CyclicScheduler::keep(Result<CyclicSchedule> candidate) {
  if (!candidate)
    return Error{candidate.error()};
  if (isBetter(*candidate, best))
    best = std::move(*candidate);
  return Status::success();
}

/// Returns the program of the period with one more operation at its end, which
/// stands for the next period: it needs what collectives deliver to that. They
/// are thus due at the end of the period, as they would be due at the first
/// operation that needs them, and are not started as soon as possible.
static Problem addEndOfPeriod(Problem period) {
  NodeId end = period.addNode(NodeKind::Compute, 0);
  for (NodeId wait = 0; wait < end; ++wait) {
    NodeId start = period.startOf(wait);
    bool isNeeded = start != noNode && period.successors(wait).empty();
    for (BufferId id : period.buffersMadeBy(start == noNode ? wait : start))
      isNeeded &= !period.buffer(id).freed || isForTransport(period, id);
    if (isNeeded)
      period.addDependence(wait, end, DependenceKind::Data);
  }
  period.finalize();
  return period;
}

/// Returns the schedule of a period whose operations keep their stages. What is
/// live over several periods counts in full only once the order is known: one
/// that takes too much is made again for a limit that is lower by the excess,
/// then by twice the excess, and so on.
Result<CyclicSchedule> CyclicScheduler::compact(const CyclicOrder &order,
                                                StepSolver solve) const {
  Result<Problem> period = makePeriodProblem(problem, order);
  if (!period)
    return Error{period.error()};
  NodeId end = period->numNodes();
  Problem program = addEndOfPeriod(std::move(*period));
  StepSchedulerOptions step = options.step;
  std::optional<CyclicSchedule> best;
  constexpr int32_t maxTrials = 4;
  for (int32_t trial = 0; trial < maxTrials; ++trial) {
    Result<StepSchedule> made = solve(program, step);
    if (!made)
      return Error{made.error()};
    CyclicOrder compacted;
    compacted.stages = order.stages;
    for (NodeId place : made->order)
      if (place != end)
        compacted.order.push_back(order.order[place]);
    Result<CyclicSchedule> measured = measure(std::move(compacted));
    if (!measured)
      return measured;
    if (!best || isBetter(*measured, *best))
      best = std::move(*measured);
    if (fits(*best))
      break;
    int64_t excessBytes = best->peakBytes - options.step.limitBytes;
    step.limitBytes -= std::min(excessBytes, unlimited >> maxTrials) << trial;
  }
  return std::move(*best);
}

/// Returns the positions at which the period may be cut: all of a short one, of
/// a long one those after equal parts of the computation.
std::vector<size_t> CyclicScheduler::listCuts(const CyclicOrder &order) const {
  constexpr size_t maxCuts = 16;
  const Problem &body = problem.body();
  std::vector<size_t> cuts;
  if (order.order.size() <= 2 * maxCuts) {
    for (size_t cut = 1; cut < order.order.size(); ++cut)
      cuts.push_back(cut);
    return cuts;
  }
  int64_t computeNs = 0, passedNs = 0;
  auto costNs = [&](NodeId node) {
    // Without computation all operations count alike.
    return body.kind(node) == NodeKind::Compute ? body.costNs(node) + 1 : 0;
  };
  for (NodeId node : order.order)
    computeNs += costNs(node);
  for (size_t i = 0; i < order.order.size(); ++i) {
    if (i > 0 && passedNs >= computeNs / static_cast<int64_t>(maxCuts) *
                                 static_cast<int64_t>(cuts.size() + 1))
      cuts.push_back(i);
    passedNs += costNs(order.order[i]);
  }
  return cuts;
}

/// Returns the rotations of the best period at several places, each with a fast
/// schedule, in the order of the places.
Result<std::vector<CyclicSchedule>> CyclicScheduler::sketchRotations() const {
  std::vector<CyclicSchedule> sketches;
  for (size_t cut : listCuts(best.order))
    for (CutCollectives collectives :
         {CutCollectives::ByMemory, CutCollectives::Before}) {
      std::optional<CyclicOrder> rotated =
          rotation.rotate(best.order, cut, collectives);
      if (!rotated || rotated->depth() > options.maxDepth)
        continue;
      Result<CyclicSchedule> sketch = compact(*rotated, sketchStep);
      if (!sketch)
        return Error{sketch.error()};
      bool isKnown = std::any_of(
          sketches.begin(), sketches.end(), [&](const CyclicSchedule &other) {
            return other.order.order == sketch->order.order &&
                   other.order.stages == sketch->order.stages;
          });
      if (!isKnown)
        sketches.push_back(std::move(*sketch));
    }
  return sketches;
}

/// Schedules the best of `sketches` in full.
Status CyclicScheduler::finish(std::vector<CyclicSchedule> sketches) {
  constexpr size_t maxFull = 2;
  std::stable_sort(sketches.begin(), sketches.end(),
                   [&](const CyclicSchedule &a, const CyclicSchedule &b) {
                     return isBetter(a, b);
                   });
  if (sketches.size() > maxFull)
    sketches.resize(maxFull);
  for (CyclicSchedule &sketch : sketches) {
    if (Status status = keep(compact(sketch.order, scheduleStepOnce)); !status)
      return status;
    if (Status status = keep(std::move(sketch)); !status)
      return status;
  }
  return Status::success();
}

/// Returns the best of `schedule` and what it becomes with computation in its
/// stalls that comes from so many 64ths of a period before them.
Result<CyclicSchedule>
CyclicScheduler::fill(const CyclicSchedule &schedule,
                      std::initializer_list<int64_t> distances) const {
  Result<PeriodTimeline> period =
      simulatePeriod(problem, schedule.order, options.step.contention);
  if (!period)
    return Error{period.error()};
  CyclicSchedule filled = schedule;
  for (int64_t distance : distances) {
    std::optional<CyclicOrder> order =
        fillPeriodStalls(graph, schedule.order, period->steady,
                         period->periodNs / 64 * distance);
    if (!order)
      continue;
    Result<CyclicSchedule> candidate = compact(*order, sketchStep);
    if (!candidate)
      return Error{candidate.error()};
    if (isBetter(*candidate, filled))
      filled = std::move(*candidate);
  }
  return filled;
}

/// Fills the stalls of `sketches`, and those that are left of the best result.
Status CyclicScheduler::fillStallsOf(std::vector<CyclicSchedule> sketches) {
  // Cuts at the stalls or just before them leave nothing to fill them with.
  constexpr size_t maxTried = 8;
  size_t stride = (sketches.size() + maxTried - 1) / maxTried;
  std::optional<CyclicSchedule> filled;
  for (size_t i = 0; i < sketches.size(); i += stride) {
    Result<CyclicSchedule> candidate = fill(sketches[i], {8, 16, 24});
    if (!candidate)
      return Error{candidate.error()};
    if (!filled || isBetter(*candidate, *filled))
      filled = std::move(*candidate);
  }
  constexpr int32_t maxRounds = 4;
  for (int32_t round = 0; filled && round < maxRounds; ++round) {
    int64_t beforeNs = filled->periodNs;
    Result<CyclicSchedule> next = fill(*filled, {0, 1, 2, 4, 8, 16, 24, 32});
    if (!next)
      return Error{next.error()};
    filled = std::move(*next);
    if (!isWorthwhile(beforeNs - filled->periodNs))
      break;
  }
  return filled ? keep(std::move(*filled)) : Status::success();
}

/// Rotates the best period at several places.
Status CyclicScheduler::rotate() {
  Result<std::vector<CyclicSchedule>> sketches = sketchRotations();
  if (!sketches)
    return Error{sketches.error()};
  if (Status status = finish(*sketches); !status)
    return status;
  return isWorthwhile(best.periodNs - boundNs)
             ? fillStallsOf(std::move(*sketches))
             : Status::success();
}

/// Lets collectives be in flight over the boundary of the period.
Status CyclicScheduler::sinkWaits() {
  Result<PeriodTimeline> period =
      simulatePeriod(problem, best.order, options.step.contention);
  if (!period)
    return Error{period.error()};
  if (std::optional<CyclicOrder> sunk =
          rotation.sinkWaits(best.order, period->steady))
    if (sunk->depth() <= options.maxDepth)
      return keep(measure(std::move(*sunk)));
  return Status::success();
}

/// Lets nothing that is free be carried from one period to the next.
Status CyclicScheduler::sinkFree() {
  std::optional<CyclicOrder> sunk = rotation.sinkFree(best.order);
  if (!sunk)
    return Status::success();
  Result<CyclicSchedule> schedule = measure(std::move(*sunk));
  if (!schedule)
    return Error{schedule.error()};
  // What its operands hold longer is less than what would be carried.
  if (schedule->periodNs <= best.periodNs &&
      (fits(*schedule) || schedule->peakBytes <= best.peakBytes))
    best = std::move(*schedule);
  return Status::success();
}

Result<CyclicSchedule> CyclicScheduler::run() {
  Result<CyclicSchedule> program = measure(programOrder(problem));
  if (!program)
    return Error{"the program is not a legal order: " + program.error()};
  best = std::move(*program);
  Status status = keep(compact(best.order, scheduleStep));
  constexpr int32_t maxRounds = 6;
  for (int32_t round = 0;
       status && round < maxRounds && isWorthwhile(best.periodNs - boundNs);
       ++round) {
    int64_t beforeNs = best.periodNs;
    bool didFit = fits(best);
    status = rotate();
    if (!isWorthwhile(beforeNs - best.periodNs) && fits(best) == didFit)
      break;
  }
  if (status && options.mayCrossBoundary &&
      isWorthwhile(best.periodNs - boundNs))
    status = sinkWaits();
  if (status)
    status = sinkFree();
  if (!status)
    return Error{"scheduling made a bad order: " + status.error()};
  return std::move(best);
}

Result<CyclicSchedule> schedule::measureCyclic(const CyclicProblem &problem,
                                               CyclicOrder order,
                                               const Contention &contention) {
  if (Status status = verify(problem, order); !status)
    return status;
  Result<PeriodTimeline> period = simulatePeriod(problem, order, contention);
  if (!period)
    return Error{period.error()};
  CyclicSchedule schedule;
  schedule.periodNs = period->periodNs;
  schedule.peakBytes = computeRunPeak(problem, order);
  schedule.order = std::move(order);
  return schedule;
}

Result<CyclicSchedule>
schedule::scheduleCyclic(const CyclicProblem &problem,
                         const CyclicSchedulerOptions &options) {
  if (Status status = problem.check(); !status)
    return status;
  Result<PeriodBound> bound = computePeriodBound(problem);
  if (!bound)
    return Error{bound.error()};
  Result<CyclicSchedule> best =
      CyclicScheduler(problem, options, bound->ns).run();
  // The search begins at one order and may end in a worse place for more
  // memory: a limit that is met holds the answers for smaller ones, too, down
  // to those that make the period much longer.
  constexpr int32_t maxSmaller = 6;
  constexpr NodeId maxNodes = 4096;
  int64_t limitBytes = options.step.limitBytes;
  auto isBest = [&] {
    return best->peakBytes <= limitBytes &&
           !schedule::isWorthwhile(best->periodNs - bound->ns, best->periodNs);
  };
  CyclicSchedulerOptions smaller = options;
  int64_t takenBytes = best ? best->peakBytes : 0;
  for (int32_t step = 0; best && problem.body().numNodes() <= maxNodes &&
                         step < maxSmaller && !isBest();
       ++step) {
    smaller.step.limitBytes =
        std::min(smaller.step.limitBytes, takenBytes) / 16 * 15;
    Result<CyclicSchedule> next =
        CyclicScheduler(problem, smaller, bound->ns).run();
    if (!next)
      return next;
    takenBytes = next->peakBytes;
    int64_t periodNs = next->periodNs;
    if (schedule::isBetter(next->rank(limitBytes), best->rank(limitBytes)))
      best = std::move(*next);
    if (takenBytes > smaller.step.limitBytes ||
        periodNs / 17 * 16 > best->periodNs)
      break;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Choice of implementations
//===----------------------------------------------------------------------===//

Result<CyclicProblem>
schedule::withImplementations(const CyclicProblem &problem,
                              const Implementations &implementations,
                              const ImplementationChoice &choice) {
  Result<Problem> body =
      withImplementations(problem.body(), implementations, choice);
  if (!body)
    return Error{body.error()};
  CyclicProblem result(std::move(*body));
  for (const CarriedDependence &edge : problem.carriedDependences())
    result.addDependence(edge.from, edge.to, edge.kind, edge.distance);
  for (const CarriedUse &use : problem.carriedUses())
    result.addUse(use.buffer, use.node, use.distance);
  if (Status status = result.check(); !status)
    return status;
  return result;
}

/// Chooses for the period of `schedule`, whose collectives are waited for in
/// their period. Returns the choice with the order that was found for it.
static Result<std::pair<ImplementationChoice, CyclicOrder>> chooseInPeriod(
    const CyclicProblem &problem, const Implementations &implementations,
    const CyclicOrder &schedule, const StepSchedulerOptions &options) {
  Result<Problem> period = makePeriodProblem(problem, schedule);
  if (!period)
    return Error{period.error()};
  Implementations byPlace;
  for (NodeId node : schedule.order)
    byPlace.push_back(implementations[node]);
  Result<ImplementationSchedule> chosen = scheduleImplementations(
      *period, byPlace, period->programOrder(), options);
  if (!chosen)
    return Error{chosen.error()};
  ImplementationChoice choice(schedule.order.size());
  CyclicOrder order = {schedule.stages, {}};
  for (NodeId place : chosen->schedule.order) {
    NodeId node = schedule.order[place];
    choice[node] = chosen->choice[place];
    order.order.push_back(node);
  }
  return std::pair(std::move(choice), std::move(order));
}

Result<CyclicImplementationSchedule>
schedule::scheduleImplementations(const CyclicProblem &problem,
                                  const Implementations &implementations,
                                  const CyclicSchedulerOptions &options) {
  CyclicImplementationSchedule best;
  best.choice.resize(implementations.size());
  // With the streams of all implementations, as the contention has them.
  Result<CyclicProblem> first =
      withImplementations(problem, implementations, best.choice);
  if (!first)
    return Error{first.error()};
  Result<CyclicSchedule> plain = scheduleCyclic(*first, options);
  if (!plain)
    return Error{plain.error()};
  best.schedule = *plain;
  CyclicSchedulerOptions whole = options;
  whole.mayCrossBoundary = false;
  if (options.mayCrossBoundary)
    plain = scheduleCyclic(*first, whole);
  if (!plain)
    return Error{plain.error()};
  auto chosen =
      chooseInPeriod(*first, implementations, plain->order, options.step);
  if (!chosen)
    return Error{chosen.error()};
  auto &[choice, order] = *chosen;
  Result<CyclicProblem> changed =
      withImplementations(problem, implementations, choice);
  if (!changed)
    return Error{changed.error()};
  int64_t limitBytes = options.step.limitBytes;
  for (Result<CyclicSchedule> candidate :
       {measureCyclic(*changed, std::move(order), options.step.contention),
        scheduleCyclic(*changed, options)}) {
    if (!candidate)
      return Error{candidate.error()};
    if (isBetter(candidate->rank(limitBytes), best.schedule.rank(limitBytes)))
      best = {choice, std::move(*candidate)};
  }
  return best;
}
