//===- BucketPasses.cpp - Passes that merge collectives -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../BlockScheduling.h"
#include "../MemoryBudget.h"
#include "../Remarks.h"
#include "BucketRemarks.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Support/OptionErrors.h"
#include "CommSched/Transforms/Passes.h"
#include "DeduplicateGathers.h"
#include "SumBeforeReduceScatter.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_BUCKETALLGATHER
#define GEN_PASS_DEF_BUCKETALLREDUCE
#define GEN_PASS_DEF_BUCKETREDUCESCATTER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using schedule::Order;
using schedule::Problem;

//===----------------------------------------------------------------------===//
// Merging in the blocks of a function
//===----------------------------------------------------------------------===//

namespace {

/// Merges the collectives of one block, one round of buckets after the other.
class BlockBucketer {
public:
  BlockBucketer(func::FuncOp function, Block &block,
                BucketingPassOptions &options, OperationCosts &costs,
                SymbolTableCollection &symbolTables,
                SmallVectorImpl<bool> &usedEntries)
      : function(function), block(block), options(options), costs(costs),
        symbolTables(symbolTables), usedEntries(usedEntries) {}

  FailureOr<bool> run();

private:
  FailureOr<bool> runRound();
  LogicalResult merge(const BlockProblem &problem,
                      const BucketDecision &decision);
  void noteAlone(const BlockProblem &problem, const BucketDecision &decision,
                 ArrayRef<RefusedCollective> refused);

  func::FuncOp function;
  Block &block;
  BucketingPassOptions &options;
  OperationCosts &costs;
  SymbolTableCollection &symbolTables;
  /// By entry of the plan: whether it names a collective of the function.
  SmallVectorImpl<bool> &usedEntries;
  /// The starts of buckets.
  DenseSet<Operation *> made;
  /// Why collectives are alone; only if anybody wants to know.
  AloneReasons alone;
};

} // namespace

/// Keeps for the account why collectives are alone. The first reason counts: in
/// later rounds its partners are gone.
void BlockBucketer::noteAlone(const BlockProblem &problem,
                              const BucketDecision &decision,
                              ArrayRef<RefusedCollective> refused) {
  for (const RefusedCollective &collective :
       llvm::concat<const RefusedCollective>(
           refused, ArrayRef(decision.candidates.refused)))
    if (!made.contains(collective.op))
      alone.try_emplace(collective.op, collective.reason);
  for (auto [candidate, fate] : llvm::zip_equal(decision.candidates.candidates,
                                                decision.bucketing.fates)) {
    Operation *op = problem.getOperation(candidate.start);
    if (fate.bucket < 0)
      alone.try_emplace(op, explainAlone(problem, fate));
    else
      alone.erase(op);
  }
}

LogicalResult BlockBucketer::merge(const BlockProblem &problem,
                                   const BucketDecision &decision) {
  Result<Order> order = decision.program->expand(decision.order);
  if (!order)
    return reportNoOrder(function, order.error());
  const Problem &program = problem.getProblem();
  if (!problem.getUnsized())
    keepBaselineBytes(
        function, block,
        simulateMemory(program, program.programOrder())->peakBytes);
  problem.apply(*order);
  IRRewriter rewriter(function.getContext());
  for (auto [bucket, mode] :
       llvm::zip_equal(decision.bucketing.buckets, decision.modes)) {
    if (areRemarksEnabled(function))
      remarkBucket(function, problem, bucket, mode);
    made.insert(mergeCollectives(rewriter, getMembers(problem, bucket.starts),
                                 mode, options.multiDtype)
                    .start);
  }
  return success();
}

FailureOr<bool> BlockBucketer::runRound() {
  // Costs take longer to tell than all the rest: only for who looks at them.
  bool isPriced = options.preserveOverlap || options.stepRules.size() > 1;
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block,
      [&](Operation *op) {
        return isPriced ? costs.getRuntimeNs(op) : std::optional<int64_t>(0);
      },
      StreamOrder::Free);
  if (failed(problem))
    return failure();
  // Only overlap needs all costs.
  std::optional<std::string> reason = getUnpricedReason(*problem, costs);
  if (reason && options.preserveOverlap) {
    remarkBlockKept(function, problem->getUnpriced()->getLoc(), *reason);
    return false;
  }
  std::optional<FsdpAnalysis> fsdp;
  if (options.fsdpOnly || !options.stepRules.empty())
    fsdp.emplace(block);
  MergeableCollectives collectives =
      findMergeable(*problem, options, fsdp ? &*fsdp : nullptr, costs);
  FailureOr<BucketDecision> decision =
      BucketDecider(function, *problem, options, costs, symbolTables)
          .decide(collectives);
  if (failed(decision))
    return failure();
  for (auto [entry, isUsed] : llvm::enumerate(decision->candidates.usedEntries))
    usedEntries[entry] |= isUsed;
  if (areRemarksEnabled(function))
    noteAlone(*problem, *decision, collectives.refused);
  if (decision->bucketing.buckets.empty())
    return false;
  if (failed(merge(*problem, *decision)))
    return failure();
  return true;
}

FailureOr<bool> BlockBucketer::run() {
  // Every round but the last makes a bucket, so there is an end. The last one
  // is what a second run of the pass would do: nothing. (Where the best of
  // several rules was applied, that is known beforehand.)
  bool isChanged = false;
  while (true) {
    FailureOr<bool> changed = runRound();
    if (failed(changed))
      return failure();
    isChanged |= *changed;
    if (!*changed || options.stepRules.size() > 1)
      break;
  }
  remarkAlone(function, block, alone);
  return isChanged;
}

static bool hasCollectives(Block &block, cost::CollectiveKind kind) {
  return llvm::any_of(block, [&](Operation &op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective && collective.getCollectiveKind() == kind;
  });
}

/// Forms and merges buckets in every block of `function` that holds
/// collectives. What is left unbucketed is left for good: running it again
/// changes nothing. Returns whether anything changed.
static FailureOr<bool> bucketCollectives(func::FuncOp function,
                                         BucketingPassOptions &options) {
  CostAnalysis analysis(function, options.profile.get());
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  SmallVector<bool> usedEntries(options.plan.getNumEntries());
  bool isAny = false, changed = false;
  for (Block *block : getBlocksWithCollectives(function)) {
    // A scheduling problem is more work than to see that there is nothing to
    // do.
    if (!hasCollectives(*block, options.kind))
      continue;
    isAny = true;
    FailureOr<bool> blockChanged =
        BlockBucketer(function, *block, options, *costs,
                      analysis.getSymbolTables(), usedEntries)
            .run();
    if (failed(blockChanged))
      return failure();
    changed |= *blockChanged;
  }
  if (isAny && areRemarksEnabled(function))
    remarkUnusedEntries(function, options.plan, usedEntries);
  return changed;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Reads the option `mode`: copy, coalesced or auto. Returns what is wrong with
/// it, as the end of an error message.
static std::optional<std::string>
parseBucketModes(StringRef text, SmallVector<BucketMode, 2> &modes) {
  if (text == "copy")
    modes = {BucketMode::Copy};
  else if (text == "coalesced")
    modes = {BucketMode::Coalesced};
  else if (text == "auto")
    modes = {BucketMode::Coalesced, BucketMode::Copy};
  else
    return ("must be copy, coalesced or auto, but is '" + text + "'").str();
  return std::nullopt;
}

/// Reads the option `cap-mb`, in units of 2^20 bytes, likewise.
static std::optional<std::string> parseCaps(ArrayRef<double> megabytes,
                                            std::vector<int64_t> &capBytes) {
  constexpr double bytesPerMegabyte = 1 << 20;
  constexpr double defaultMegabytes = 500;
  constexpr double most = 1e12;
  if (megabytes.empty())
    megabytes = defaultMegabytes;
  for (double cap : megabytes) {
    if (!(cap > 0 && cap <= most))
      return "must be of sizes above 0 and up to 1e12, but has " +
             std::to_string(cap);
    capBytes.push_back(
        std::max<int64_t>(static_cast<int64_t>(cap * bytesPerMegabyte), 1));
  }
  return std::nullopt;
}

/// Reads the option `plan`, likewise: nothing, auto, or a BucketPlan.
static std::optional<std::string> parseSteps(StringRef text,
                                             BucketingPassOptions &options) {
  if (text.empty())
    return std::nullopt;
  if (text != "auto") {
    options.stepRules = {{StepRule::Kind::Entries}};
    return BucketPlan::parse(text, options.plan);
  }
  // Of equally good rules the first is taken: a block is what people choose.
  for (int32_t blocks : {1, 0})
    options.stepRules.push_back({StepRule::Kind::Modules, blocks, 0});
  for (int32_t percent : {25, 50})
    options.stepRules.push_back({StepRule::Kind::Bytes, 0, percent});
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {

/// `Base` is what TableGen makes of a CommSched_BucketPass.
template <typename Base> class BucketingPass : public Base {
public:
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) final {
    bucketing = {};
    bucketing.kind = getKind();
    bucketing.saturation = this->saturation;
    bucketing.fsdpOnly = this->fsdpOnly;
    bucketing.preserveOverlap = this->preserveOverlap;
    readOwnOptions(bucketing);
    optionError = findBadOption();
    return success();
  }

  void runOnOperation() final {
    if (failed(emitOptionError(this->getOperation(), optionError)))
      return this->signalPassFailure();
    FailureOr<bool> prepared = prepare();
    if (failed(prepared))
      return this->signalPassFailure();
    FailureOr<bool> merged = bucketCollectives(this->getOperation(), bucketing);
    if (failed(merged))
      this->signalPassFailure();
    else if (!*prepared && !*merged)
      this->markAllAnalysesPreserved();
  }

protected:
  virtual cost::CollectiveKind getKind() const = 0;
  /// Takes over the options that not every bucketing pass has.
  virtual void readOwnOptions(BucketingPassOptions &options) {}
  /// What there is to do before merging. Returns whether it changed anything.
  virtual FailureOr<bool> prepare() { return false; }

  /// Merges in a way that leaves every element at its place of a message.
  bool isBitwise = false;

private:
  /// Reads the other options, and says what is wrong with one.
  std::optional<std::string> findBadOption() {
    auto explain = [&](const llvm::cl::Option &option, const Twine &what) {
      return makeOptionError(*this, option, what);
    };
    if (std::optional<std::string> error =
            parseBucketModes(this->mode, bucketing.modes))
      return explain(this->mode, *error);
    if (isBitwise)
      bucketing.modes = {BucketMode::Coalesced};
    if (this->capMb.empty() && this->capMb.getNumOccurrences() > 0)
      return explain(this->capMb, "is an empty list");
    if (std::optional<std::string> error =
            parseCaps(ArrayRef<double>(this->capMb), bucketing.capBytes))
      return explain(this->capMb, *error);
    if (this->maxCount < 0)
      return explain(this->maxCount,
                     "must not be negative, but is " + Twine(this->maxCount));
    if (this->maxCount > 0)
      bucketing.maxCount = this->maxCount;
    if (std::optional<std::string> error = parseSteps(this->plan, bucketing))
      return explain(this->plan, *error);
    llvm::Expected<std::shared_ptr<const cost::MeasuredTable>> loaded =
        loadProfile(this->profile,
                    ("pass '" + this->getArgument() + "'").str());
    if (!loaded)
      return llvm::toString(loaded.takeError());
    bucketing.profile = std::move(*loaded);
    if (bucketing.stepRules.empty())
      return std::nullopt;
    constexpr StringLiteral meaningless =
        "means nothing to a plan, which says what travels together";
    if (this->preserveOverlap)
      return explain(this->preserveOverlap, meaningless);
    if (!this->capMb.empty())
      return explain(this->capMb, meaningless);
    if (this->maxCount > 0)
      return explain(this->maxCount, meaningless);
    if (this->saturation)
      return explain(this->saturation, meaningless);
    return std::nullopt;
  }

  BucketingPassOptions bucketing;
  std::optional<std::string> optionError;
};

struct BucketAllGather
    : BucketingPass<
          mlir::commsched::impl::BucketAllGatherBase<BucketAllGather>> {
  using BucketingPass::BucketingPass;

protected:
  cost::CollectiveKind getKind() const override {
    return cost::CollectiveKind::AllGather;
  }

  void readOwnOptions(BucketingPassOptions &options) override {
    options.multiDtype = multiDtype;
  }

  FailureOr<bool> prepare() override {
    if (!deduplicate)
      return false;
    OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
    if (!costs)
      return failure();
    markAnalysesPreserved<CostAnalysis>();
    bool changed = false;
    for (Block *block : getBlocksWithCollectives(getOperation())) {
      FailureOr<bool> removed =
          deduplicateGathers(getOperation(), *block, FsdpAnalysis(*block),
                             *costs, /*limitBytes=*/std::nullopt);
      if (failed(removed))
        return failure();
      changed |= *removed;
    }
    return changed;
  }
};

struct BucketReduceScatter
    : BucketingPass<
          mlir::commsched::impl::BucketReduceScatterBase<BucketReduceScatter>> {
  using BucketingPass::BucketingPass;

protected:
  cost::CollectiveKind getKind() const override {
    return cost::CollectiveKind::ReduceScatter;
  }

  void readOwnOptions(BucketingPassOptions &) override { isBitwise = bitwise; }

  FailureOr<bool> prepare() override {
    return sumFirst && sumBeforeReduceScatter(getOperation());
  }
};

struct BucketAllReduce
    : BucketingPass<
          mlir::commsched::impl::BucketAllReduceBase<BucketAllReduce>> {
  using BucketingPass::BucketingPass;

protected:
  cost::CollectiveKind getKind() const override {
    return cost::CollectiveKind::AllReduce;
  }

  void readOwnOptions(BucketingPassOptions &) override { isBitwise = bitwise; }
};

} // namespace
