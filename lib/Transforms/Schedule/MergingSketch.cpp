//===- MergingSketch.cpp - Sketches of ways to merge for one limit --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergingDescent.h"

#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "commsched-schedule"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

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

/// The most operations of all sketches for one limit together. A number of
/// operations and not of seconds, so that all ranks make the same buckets.
static constexpr size_t maxSketchedNodes = 1 << 19;
static constexpr size_t leastSketches = 8;

MergingSearch::Descent::Descent(MergingSearch &search, const Order &unmerged,
                                const StepSchedulerOptions &stepOptions,
                                int64_t boundNs)
    : search(search), unmerged(unmerged), stepOptions(stepOptions),
      boundNs(boundNs),
      numLeft(std::max(leastSketches,
                       maxSketchedNodes /
                           std::max<size_t>(countSearched(search), 1))) {}

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

/// Whether a choice was sketched, for any limit.
bool MergingSearch::Descent::isSketched(const BucketChoice &choice) const {
  return llvm::any_of(search.sketches, [&](const Sketch &sketch) {
    return sketch.candidate.choice == &choice;
  });
}

/// How many operations of a program make a difference to its schedule.
size_t MergingSearch::Descent::countSearched(const MergingSearch &search) {
  const Problem &problem = search.problem.getProblem();
  return leaveOutFree(problem, problem.programOrder()).size();
}

/// Makes the merged program of a choice, if it has none yet, and a sketch of
/// its schedule.
Result<StepSchedule>
MergingSearch::Descent::schedule(BucketChoice &choice) const {
  if (!choice.merged)
    if (Status status = search.chooser.merge(choice); !status)
      return Error{status.error()};
  return scheduleMerged(
      choice, orderLike(*choice.merged, unmerged),
      [](const Problem &problem, const StepSchedulerOptions &with) {
        return schedule::sketchStepInOrders(problem, with);
      },
      stepOptions);
}

/// Adds choices of what is tried next that would be sketched, up to `count`.
LogicalResult
MergingSearch::Descent::addLikely(size_t count,
                                  SmallVectorImpl<BucketChoice *> &chosen) {
  for (const Change &change : next) {
    if (chosen.size() == count)
      break;
    FailureOr<SmallVector<BucketChoice *>> choices =
        search.getOrFormChoices(listChanged(change));
    if (failed(choices))
      return failure();
    for (BucketChoice *choice : *choices)
      if (choice && chosen.size() < count && !ahead.contains(choice) &&
          !llvm::is_contained(chosen, choice) && !isHopeless(*choice))
        chosen.push_back(choice);
  }
  return success();
}

/// Schedules what was not scheduled ahead, and on threads that are left, what
/// is likely to be asked for next.
LogicalResult
MergingSearch::Descent::sketchAhead(ArrayRef<BucketChoice *> asked) {
  SmallVector<BucketChoice *> open;
  llvm::copy_if(asked, std::back_inserter(open),
                [&](BucketChoice *choice) { return !ahead.contains(choice); });
  size_t numThreads = search.function.getContext()->getNumThreads();
  if (numLeft > 0 &&
      failed(addLikely(llvm::alignTo(open.size(), numThreads), open)))
    return failure();
  std::vector<std::optional<Result<StepSchedule>>> steps(open.size());
  parallelFor(search.function.getContext(), 0, open.size(),
              [&](size_t index) { steps[index] = schedule(*open[index]); });
  for (auto [choice, step] : llvm::zip_equal(open, steps)) {
    if (*step)
      ahead.try_emplace(choice, std::move(**step));
    else if (llvm::is_contained(asked, choice))
      return emitError(search.function.getLoc(), "cannot be scheduled: ")
             << step->error();
  }
  return success();
}

/// Sketches the ways from which something may be expected.
LogicalResult MergingSearch::Descent::sketch(ArrayRef<Rules> tried) {
  std::vector<Rules> formed = tried.vec();
  if (!next.empty())
    llvm::append_range(formed, listChanged(next.front()));
  FailureOr<SmallVector<BucketChoice *>> choices =
      search.getOrFormChoices(formed);
  if (failed(choices))
    return failure();
  choices->truncate(tried.size());
  SmallVector<Sketch> added;
  SmallVector<BucketChoice *> chosen;
  for (auto [rules, choice] : llvm::zip_equal(tried, *choices)) {
    if (!choice || llvm::is_contained(chosen, choice) || isHopeless(*choice) ||
        added.size() == numLeft)
      continue;
    // Other rules may have formed it ahead, which depends on the threads.
    if (!isSketched(*choice))
      choice->rule = describeRules(search.mergeable.kinds, rules);
    added.push_back({rules, {choice, {}}, stepOptions.limitBytes});
    chosen.push_back(choice);
  }
  numLeft -= added.size();
  if (failed(sketchAhead(chosen)))
    return failure();
  for (auto [sketch, choice] : llvm::zip_equal(added, chosen)) {
    sketch.candidate.step = std::move(ahead.at(choice));
    ahead.erase(choice);
    traceCandidate("sketch", sketch.candidate, stepOptions.limitBytes);
    search.sketches.push_back(std::move(sketch));
    offer(search.sketches.size() - 1);
  }
  return success();
}

#undef DEBUG_TYPE
