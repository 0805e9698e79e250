//===- StepScheduler.h - Scheduler of training steps ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds an order in which the step is as short as possible and the live bytes
// never exceed a limit. Collectives start as late as is safe, or as early as it
// takes to keep their stream busy; they are waited for when the wait costs
// nothing or when the memory is needed; and computation moves to where the
// compute stream would be idle.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_STEP_STEPSCHEDULER_H
#define COMMSCHED_SCHEDULE_STEP_STEPSCHEDULER_H

#include "CommSched/Schedule/Model/Objective.h"
#include "CommSched/Schedule/Model/Problem.h"
#include "CommSched/Support/Unlimited.h"

#include <map>
#include <mutex>
#include <optional>

namespace mlir::commsched::schedule {

class StepCache;

/// The slack counts where it makes the step longer by no more than a
/// thousandth.
struct StepSchedulerOptions : Objective {
  /// The default of the option `slack` of commsched-schedule, too.
  static constexpr int32_t defaultSlackPercent = 40;

  StepSchedulerOptions() { slackPercent = defaultSlackPercent; }

  /// From how many operations away computation moves to where the compute
  /// stream would be idle.
  int32_t maxDistance = 64;
  /// How many operations all simulations of the improvement phase together may
  /// run through. A number of operations and not of seconds, so that all ranks
  /// compute the same schedule.
  int64_t effort = 1 << 22;
  /// Where schedules of the same problems are looked up and kept; null for
  /// none. It has to live on.
  StepCache *cache = nullptr;
};

/// The kind of candidate that a schedule was chosen from.
enum class ScheduleOrigin : uint8_t {
  /// The order of the program.
  Program,
  /// overlapSimply().
  SimpleOverlap,
  /// An order that the scheduler constructed and improved.
  Constructed,
  /// The order that needs the least memory: all others exceed the limit.
  LeastMemory,
};

struct StepSchedule {
  Order order;
  int64_t stepNs = 0;
  int64_t peakBytes = 0;
  ScheduleOrigin origin = ScheduleOrigin::Program;

  bool fits(int64_t limitBytes) const { return peakBytes <= limitBytes; }
  Rank rank(int64_t limitBytes) const {
    return {stepNs, peakBytes, limitBytes};
  }
};

/// Returns `order` with its time and its peak, as simulate() and
/// simulateMemory() have them. Error: the one of `problem`; the order is not
/// legal. O(nodes + dependences + buffers + uses), and that of simulate().
Result<StepSchedule>
measureStep(const Problem &problem, Order order, const Contention &contention,
            ScheduleOrigin origin = ScheduleOrigin::Program);

/// Returns the best, by rank(), of the order of the program, that of
/// overlapSimply(), and the constructed orders; of equals the first. Programs
/// that are small for the effort are searched, and collectives are moved as
/// explainExposure() advises while that makes the step shorter.
///
/// The order of the program has to be legal. The result is verified: its order
/// is legal, and its time and memory are those of simulate() and
/// simulateMemory().
///
/// A second run on the result changes nothing: a candidate replaces the program
/// only if it is better.
///
/// Error: the one of `problem`; the program is not a legal order.
/// O((nodes + dependences + uses) log nodes + effort).
Result<StepSchedule> scheduleStep(const Problem &problem,
                                  const StepSchedulerOptions &options);

/// Returns the order in which collectives are started as late as possible: one
/// that acquires memory directly before its result is needed, one that releases
/// memory as soon as it can. Computation keeps its order. Error: the one of
/// `problem`. O((nodes + dependences + uses) log nodes).
Result<Order> startLate(const Problem &problem);

/// Returns the schedule of the first run alone, for choosing among several
/// programs: a second run may improve it. Error and time: as above.
Result<StepSchedule> scheduleStepOnce(const Problem &problem,
                                      const StepSchedulerOptions &options);

/// Returns what scheduleStep() makes of the result of scheduleStepOnce() with
/// the same options, or with less effort. Error and time: as above.
Result<StepSchedule> improveStep(const Problem &problem, StepSchedule schedule,
                                 const StepSchedulerOptions &options);

/// Returns a schedule several times faster, for choosing among several
/// programs: the better of the order of the program and the orders that are
/// constructed for its compute order. It is mostly nearly as good as that of
/// scheduleStep() and verified in the same way, but a second run may improve
/// it. Error: as above. O((nodes + dependences + uses) log nodes).
Result<StepSchedule> sketchStep(const Problem &problem,
                                const StepSchedulerOptions &options);

/// The best of sketchStep(), of two orders of list scheduling, and of what is
/// constructed for their compute orders. Constructions end early where they
/// take `knownNs` or more, which is of no interest.
Result<StepSchedule> sketchStepInOrders(const Problem &problem,
                                        const StepSchedulerOptions &options,
                                        int64_t knownNs = unlimited);

/// Keeps what the step scheduler found, for problems that are solved several
/// times: loops with the same body, or the same loop in several trials.
/// Schedules by all that they depend on, so that a schedule is the same with
/// and without a cache. Threads may share one.
class StepCache {
public:
  /// A problem with the options of the scheduler, as numbers. Equal keys are
  /// keys of equal problems, down to the order in which they were built.
  using Key = std::vector<int64_t>;

  /// `isRepeated`: as of a round of the scheduler. O(nodes + dependences +
  /// buffers + uses).
  static Key makeKey(const Problem &problem,
                     const StepSchedulerOptions &options, bool isRepeated);

  /// Returns what was kept for `key`. O(key * log of the schedules).
  std::optional<StepSchedule> find(const Key &key) const;

  /// Keeps a schedule, while there is space.
  void keep(Key key, const StepSchedule &schedule);

private:
  /// Of all keys together: 64 MiB.
  static constexpr size_t maxNumbers = 1 << 23;

  mutable std::mutex mutex;
  std::map<Key, StepSchedule> schedules;
  size_t numNumbers = 0;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_STEP_STEPSCHEDULER_H
