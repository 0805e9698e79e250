//===- InterleavePass.cpp - Pass that interleaves two functions -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "../Schedule/BlockScheduler.h"
#include "../Schedule/SchedulingPass.h"
#include "../Step/JoinedFunction.h"
#include "../Trial.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Interleave/Interleaving.h"
#include "SharedArguments.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_INTERLEAVE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// The function of both
//===----------------------------------------------------------------------===//

namespace {

/// Which functions become one.
struct InterleavedPair {
  func::FuncOp first;
  func::FuncOp second;
  /// By argument of the second function: the argument of the first that it
  /// shares.
  SmallVector<std::optional<unsigned>> sharedWith;
  /// The symbol of the function of both, which is free.
  std::string name;
};

/// The function of both, in the module, and a schedule of it that is not
/// applied.
struct InterleavedFunction {
  func::FuncOp function;
  DecidedBlock decided;
  /// Both functions, each scheduled by itself, one after the other.
  int64_t sequenceNs = 0;
  int64_t sequenceExposedNs = 0;
};

/// Makes one function of two and schedules it. Collectives are merged and split
/// in two ways, of which the better one is taken: in the function of both, or
/// in each function before they become one.
class Interleaver {
public:
  /// `options` has to outlive the result. `decline` gets the reason why a
  /// function cannot be scheduled.
  Interleaver(const InterleavedPair &pair, const SchedulingOptions &options,
              function_ref<void(Location, const Twine &)> decline);

  /// None after a call of `decline`. The result needs this object as long as it
  /// lives. Emits an error if a time is not known, or there is no problem to be
  /// made of a function.
  FailureOr<std::optional<InterleavedFunction>> run();

private:
  /// One way to make the function.
  struct Candidate {
    func::FuncOp function;
    /// How many operations at the beginning are those of the first function.
    int64_t numFirst = 0;
    const SchedulingOptions *options = nullptr;
    std::unique_ptr<BlockScheduler> scheduler;
    BlockSchedule schedule;
  };

  FailureOr<bool> read(Candidate &candidate);
  Candidate join(func::FuncOp first, func::FuncOp second,
                 const SchedulingOptions &options);
  LogicalResult readBaseline(const Candidate &candidate);
  FailureOr<func::FuncOp> scheduleAlone(func::FuncOp function);
  LogicalResult interleave(Candidate &candidate);

  InterleavedPair pair;
  const SchedulingOptions &options;
  /// Without buckets and chunks, for functions that have them.
  SchedulingOptions orderOptions;
  function_ref<void(Location, const Twine &)> decline;
  /// Has the functions that are made.
  OwningOpRef<ModuleOp> trials;
  /// The peak of both functions as they are, one after the other.
  int64_t baselineBytes = 0;
  int64_t sequenceNs = 0;
  int64_t sequenceExposedNs = 0;
};

} // namespace

Interleaver::Interleaver(const InterleavedPair &pair,
                         const SchedulingOptions &options,
                         function_ref<void(Location, const Twine &)> decline)
    : pair(pair), options(options), orderOptions(options), decline(decline),
      trials(createTrialModule(this->pair.first)) {
  orderOptions.buckets = ScheduleBuckets::Off;
  orderOptions.splitting.split = ScheduleSplit::Off;
}

/// Makes the scheduler of a candidate. Returns whether its sizes are known.
FailureOr<bool> Interleaver::read(Candidate &candidate) {
  Block &block = candidate.function.getBody().front();
  FailureOr<std::unique_ptr<BlockScheduler>> scheduler = BlockScheduler::create(
      candidate.function, block, *candidate.options,
      [&](Location location, StringRef reason) { decline(location, reason); });
  if (failed(scheduler))
    return failure();
  candidate.scheduler = std::move(*scheduler);
  return candidate.scheduler != nullptr;
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
    if (other && !isFreeable(second, index))
      candidate.function.removeArgAttr(*other, freeableAttrName);
  trials->push_back(candidate.function);
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
  trials->push_back(clone.function);
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
  best.function->moveAfter(pair.second);
  return Outcome(
      InterleavedFunction{best.function,
                          {std::move(best.scheduler), std::move(best.schedule)},
                          sequenceNs,
                          sequenceExposedNs});
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {

struct Interleave
    : RewritingPass<
          SchedulingPass<mlir::commsched::impl::InterleaveBase<Interleave>>> {
  using RewritingPass::RewritingPass;

protected:
  FailureOr<bool> rewrite() override;
  std::optional<std::string> readOwnOptions() override;

private:
  FailureOr<InterleavedPair> findPair();
  FailureOr<bool> interleave(const InterleavedPair &pair);

  SharingRule sharing;
};

} // namespace

/// The symbol that an option names, with or without `@`.
static StringRef getSymbol(StringRef text) {
  text.consume_front("@");
  return text;
}

std::optional<std::string> Interleave::readOwnOptions() {
  for (auto *option : {&first, &second, &name})
    if (getSymbol(*option).empty())
      return makeOptionError(*this, *option, "has to name a function");
  if (std::optional<std::string> problem = parseSharingRule(share, sharing))
    return makeOptionError(*this, share, *problem);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

FailureOr<InterleavedPair> Interleave::findPair() {
  ModuleOp module = getOperation();
  FailureOr<func::FuncOp> firstFunction =
      findNamedFunction(module, first, *this, first);
  FailureOr<func::FuncOp> secondFunction =
      findNamedFunction(module, second, *this, second);
  if (failed(firstFunction) || failed(secondFunction) ||
      failed(checkNewSymbol(module, getSymbol(name), {}, *this, name)))
    return failure();
  return InterleavedPair{
      *firstFunction, *secondFunction, {}, getSymbol(name).str()};
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static void remarkDeclined(const InterleavedPair &pair, Location location,
                           const Twine &reason) {
  func::FuncOp first = pair.first, second = pair.second;
  remark::missed(location, makeRemark("NotInterleaved", first.getSymName()))
      << ("'@" + first.getSymName() + "' and '@" + second.getSymName() +
          "' are not interleaved: " + reason)
             .str();
}

static void remarkInterleaved(const InterleavedPair &pair,
                              const InterleavedFunction &result) {
  func::FuncOp first = pair.first, second = pair.second;
  func::FuncOp function = result.function;
  const BlockSchedule &schedule = result.decided.schedule;
  remark::passed(function.getLoc(),
                 makeRemark("Interleaved", function.getSymName()))
      << ("'@" + first.getSymName() + "' and '@" + second.getSymName() +
          "' take " + Twine(schedule.step.stepNs) + " ns, of which " +
          Twine(schedule.exposedNs) + " are exposed, instead of " +
          Twine(result.sequenceNs) + " with " +
          Twine(result.sequenceExposedNs) +
          " one after the other, each scheduled, and " +
          Twine(schedule.step.peakBytes) + " bytes within a budget of " +
          Twine(schedule.getBudgetBytes()))
             .str()
      << remark::metric("StepNsBefore", result.sequenceNs)
      << remark::metric("StepNsAfter", schedule.step.stepNs)
      << remark::metric("ExposedNsBefore", result.sequenceExposedNs)
      << remark::metric("ExposedNsAfter", schedule.exposedNs)
      << remark::metric("PeakBytes", schedule.step.peakBytes)
      << remark::metric("BudgetBytes", schedule.getBudgetBytes());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns whether there is a function of both.
FailureOr<bool> Interleave::interleave(const InterleavedPair &pair) {
  auto decline = [&](Location location, const Twine &reason) {
    remarkDeclined(pair, location, reason);
  };
  for (func::FuncOp function : {pair.first, pair.second})
    if (!hasLoneBlock(function)) {
      decline(function.getLoc(),
              "the body of '@" + function.getSymName() + "' is not one block");
      return false;
    }
  Interleaver interleaver(pair, scheduling, decline);
  FailureOr<std::optional<InterleavedFunction>> result = interleaver.run();
  if (failed(result))
    return failure();
  if (!*result)
    return false;
  remarkInterleaved(pair, **result);
  if (areRemarksEnabled((*result)->function))
    remarkBarriers((*result)->function,
                   (*result)->decided.scheduler->getBlock());
  if (failed(
          applyDecision((*result)->function, (*result)->decided, scheduling)))
    return failure();
  return true;
}

FailureOr<bool> Interleave::rewrite() {
  FailureOr<InterleavedPair> pair = findPair();
  if (failed(pair))
    return failure();
  FailureOr<SmallVector<SharedArgument>> shared =
      findSharedArguments(pair->first, pair->second, sharing);
  if (failed(shared))
    return failure();
  pair->sharedWith.assign(pair->second.getNumArguments(), std::nullopt);
  for (SharedArgument argument : *shared)
    pair->sharedWith[argument.second] = argument.first;
  return interleave(*pair);
}
