//===- Interleaver.cpp - Function that does what two do -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interleaver.h"
#include "../Step/JoinedFunction.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Interleave/Interleaving.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Interleaving;
using schedule::NodeId;
using schedule::Problem;
using schedule::ProgramSequence;

Interleaver::Interleaver(const InterleavedPair &pair,
                         const SchedulingOptions &options,
                         function_ref<void(Location, const Twine &)> decline)
    : pair(pair), options(options), orderOptions(options), decline(decline),
      symbols(this->pair.first->getParentOp()) {
  orderOptions.buckets = ScheduleBuckets::Off;
  orderOptions.splitting.split = ScheduleSplit::Off;
}

Interleaver::~Interleaver() {
  for (func::FuncOp function : owned)
    symbols.erase(function);
}

/// Makes the scheduler of a candidate. Returns whether its sizes are known.
FailureOr<bool> Interleaver::read(Candidate &candidate) {
  FailureOr<std::shared_ptr<CostAnalysis>> pricing =
      CostAnalysis::create(candidate.function);
  if (failed(pricing))
    return failure();
  Block &block = candidate.function.getBody().front();
  FailureOr<std::optional<BlockScheduler>> scheduler = BlockScheduler::create(
      candidate.function, block, *candidate.options, *pricing,
      [&](Location location, StringRef reason) { decline(location, reason); });
  if (failed(scheduler))
    return failure();
  candidate.scheduler.reset();
  if (!*scheduler)
    return false;
  candidate.scheduler.emplace(std::move(**scheduler));
  return true;
}

static int64_t countOperations(func::FuncOp function) {
  Block &block = function.getBody().front();
  return static_cast<int64_t>(block.getOperations().size()) - 1;
}

/// Creates the function of both, or of clones of them, one after the other.
Interleaver::Candidate Interleaver::join(func::FuncOp first,
                                         func::FuncOp second,
                                         const SchedulingOptions &with) {
  FunctionJoin join;
  join.parts = {first, second};
  join.prefixes = {pair.first.getSymName().str(),
                   pair.second.getSymName().str()};
  join.operands.resize(2);
  for (unsigned part : {0, 1})
    for (unsigned index : llvm::seq(join.parts[part].getNumArguments())) {
      JoinedOperand operand;
      if (part == 1)
        operand.argument = pair.sharedWith[index];
      if (!operand.argument) {
        operand.argument = join.arguments.size();
        join.arguments.push_back({part, index});
      }
      join.operands[part].push_back(operand);
    }
  for (unsigned part : {0, 1})
    for (unsigned index : llvm::seq(join.parts[part].getNumResults()))
      join.results.push_back({part, index});
  Candidate candidate;
  candidate.function = joinFunctions(join, pair.name);
  candidate.numFirst = countOperations(first);
  candidate.options = &with;
  // What the caller of one of both still needs, no one may free.
  for (auto [index, other] : llvm::enumerate(pair.sharedWith))
    if (other && !second.getArgAttr(index, freeableAttrName))
      candidate.function.removeArgAttr(*other, freeableAttrName);
  candidate.function->remove();
  symbols.insert(candidate.function, std::next(Block::iterator(pair.second)));
  owned.push_back(candidate.function);
  return candidate;
}

static LogicalResult reportNotInterleaved(func::FuncOp function,
                                          const std::string &reason) {
  return emitError(function.getLoc(), "cannot be interleaved: ") << reason;
}

/// Reads the peak of both functions as they are.
LogicalResult Interleaver::readBaseline(const Candidate &candidate) {
  Result<ProgramSequence> sequence =
      schedule::chooseSequence(candidate.scheduler->getProblem().getProblem(),
                               static_cast<NodeId>(candidate.numFirst));
  if (!sequence)
    return reportNotInterleaved(candidate.function, sequence.error());
  baselineBytes = sequence->peakBytes;
  return success();
}

/// Returns a clone of a function that is scheduled by itself, as
/// commsched-schedule does.
FailureOr<func::FuncOp> Interleaver::scheduleAlone(func::FuncOp function) {
  Candidate clone;
  clone.function = function.clone();
  clone.options = &options;
  symbols.insert(clone.function, std::next(Block::iterator(function)));
  owned.push_back(clone.function);
  FailureOr<bool> isKnown = read(clone);
  if (failed(isKnown))
    return failure();
  FailureOr<BlockSchedule> schedule = clone.scheduler->scheduleWithinBudget();
  if (failed(schedule))
    return failure();
  sequenceNs += schedule->step.stepNs;
  sequenceExposedNs += schedule->exposedNs;
  clone.scheduler->apply(*schedule);
  return clone.function;
}

/// Puts a candidate into the best order in which both functions are
/// interleaved, and schedules it from there.
LogicalResult Interleaver::interleave(Candidate &candidate) {
  const BlockScheduler &read = *candidate.scheduler;
  const Problem &problem = read.getProblem().getProblem();
  auto numFirst = static_cast<NodeId>(candidate.numFirst);
  keepBaselineBytes(candidate.function, read.getBlock(), baselineBytes);
  Result<ProgramSequence> sequence =
      schedule::chooseSequence(problem, numFirst);
  if (!sequence)
    return reportNotInterleaved(candidate.function, sequence.error());
  Result<Interleaving> interleaving = schedule::interleave(
      problem, numFirst, *sequence,
      read.makeStepOptions(read.getLimitBytes(options.budget)));
  if (!interleaving)
    return reportNotInterleaved(candidate.function, interleaving.error());
  read.getProblem().apply(interleaving->merged.order);
  if (failed(this->read(candidate)))
    return failure();
  FailureOr<BlockSchedule> schedule =
      candidate.scheduler->scheduleWithinBudget();
  if (failed(schedule))
    return failure();
  candidate.schedule = std::move(*schedule);
  return success();
}

FailureOr<std::optional<InterleavedFunction>> Interleaver::run() {
  using Outcome = std::optional<InterleavedFunction>;
  Candidate together = join(pair.first, pair.second, options);
  FailureOr<bool> isKnown = read(together);
  if (failed(isKnown))
    return failure();
  if (!*isKnown)
    return Outcome();
  if (failed(readBaseline(together)))
    return failure();
  FailureOr<func::FuncOp> first = scheduleAlone(pair.first);
  FailureOr<func::FuncOp> second = scheduleAlone(pair.second);
  if (failed(first) || failed(second))
    return failure();
  Candidate scheduled = join(*first, *second, orderOptions);
  if (failed(read(scheduled)) || failed(interleave(together)) ||
      failed(interleave(scheduled)))
    return failure();
  Candidate &best = scheduled.schedule.rank() < together.schedule.rank()
                        ? scheduled
                        : together;
  llvm::erase(owned, best.function);
  InterleavedFunction result = {
      best.function,
      {std::move(*best.scheduler), std::move(best.schedule), NotSplitReasons()},
      sequenceNs,
      sequenceExposedNs};
  for (func::FuncOp function : owned)
    symbols.erase(function);
  owned.clear();
  if (failed(symbols.rename(best.function, pair.name)))
    return failure();
  return Outcome(std::move(result));
}
