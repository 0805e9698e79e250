//===- IterativePasses.cpp - Passes that move collectives one by one ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes commsched-reorder-comms-preserving-peak-memory and
// commsched-sink-waits-iterative, which move one collective at a time within a
// memory budget. They correspond to
// `_reorder_communication_preserving_peak_memory_internal` and
// `_sink_waits_iterative_internal` in PyTorch's torch/_inductor/comms.py.
//===----------------------------------------------------------------------===//

#include "../MoveCollectives.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Transforms/Passes.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REORDERCOMMSPRESERVINGPEAKMEMORY
#define GEN_PASS_DEF_SINKWAITSITERATIVE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// A pass with the options of CommSched_MemoryBudgetPass; `Base` is the class
/// that TableGen generates for it.
template <typename Base> class MemoryBudgetPass : public RewritingPass<Base> {
public:
  using RewritingPass<Base>::RewritingPass;

  LogicalResult initialize(MLIRContext *context) final {
    pass = {};
    pass.name = this->getArgument();
    pass.solver = {getSolver()};
    pass.options.useRuntimeEstimations = this->useRuntimeEstimations;
    pass.options.extraOverlap = this->extraOverlap;
    pass.options.commMultiplier = this->commMultiplier;
    pass.options.computeMultiplier = this->computeMultiplier;
    pass.options.withCollectives = this->withCollectives;
    pass.options.maxGroupSize = this->maxGroupSize;
    pass.options.reorderCollectives = mayReorderCollectives();
    pass.collectiveOrder =
        mayReorderCollectives() ? StreamOrder::Free : StreamOrder::Kept;
    pass.neverLonger = this->neverLonger;
    pass.writeInfo = this->verboseLogging;
    pass.budget.emplace();
    pass.budget->fraction = this->peakMemoryBudget;
    pass.budget->model = this->referenceMemoryModel ? MemoryModel::Reference
                                                    : MemoryModel::Exact;
    return reportOptionError(context, findBadOption());
  }

protected:
  FailureOr<bool> rewrite() final {
    this->template markAnalysesPreserved<CostAnalysis>();
    return runIterativePass(this->getOperation(), pass,
                            this->template getAnalysis<CostAnalysis>());
  }

  virtual IterativeSolver::Function *getSolver() const = 0;
  virtual bool mayReorderCollectives() const = 0;

private:
  /// Reads the budget. Returns the first error in the options.
  std::optional<std::string> findBadOption() {
    auto explain = [&](const llvm::cl::Option &option, const Twine &what) {
      return makeOptionError(*this, option, what);
    };
    auto isFactor = [](double value) { return value >= 0 && value <= 1e6; };
    auto mustBeFactor = [](double value) {
      return "must be from 0 to 1000000, but is " + std::to_string(value);
    };
    if (!(this->peakMemoryBudget >= 0))
      return explain(this->peakMemoryBudget,
                     "must not be negative, but is " +
                         Twine(std::to_string(this->peakMemoryBudget)));
    if (!this->memoryBudget.empty())
      if (std::optional<std::string> error =
              parseMemoryBudget(this->memoryBudget, *pass.budget))
        return explain(this->memoryBudget, *error);
    if (this->maxGroupSize < 0)
      return explain(this->maxGroupSize, "must not be negative, but is " +
                                             Twine(this->maxGroupSize));
    if (!isFactor(this->extraOverlap))
      return explain(this->extraOverlap, mustBeFactor(this->extraOverlap));
    if (!isFactor(this->commMultiplier))
      return explain(this->commMultiplier, mustBeFactor(this->commMultiplier));
    if (!isFactor(this->computeMultiplier))
      return explain(this->computeMultiplier,
                     mustBeFactor(this->computeMultiplier));
    std::string problem =
        ("needs '" + this->useRuntimeEstimations.ArgStr + "'").str();
    auto withTimes = [&](const auto &option) -> DependentOption {
      return {option, isChanged(option), this->useRuntimeEstimations, problem};
    };
    return findUnread(*this,
                      {withTimes(this->extraOverlap),
                       withTimes(this->commMultiplier),
                       withTimes(this->computeMultiplier),
                       {this->referenceMemoryModel, this->referenceMemoryModel,
                        !pass.budget->bytes,
                        "means nothing beside a 'memory-budget' in bytes"}});
  }

  IterativePass pass;
};

struct ReorderCommsPreservingPeakMemory
    : MemoryBudgetPass<
          mlir::commsched::impl::ReorderCommsPreservingPeakMemoryBase<
              ReorderCommsPreservingPeakMemory>> {
  using MemoryBudgetPass::MemoryBudgetPass;

protected:
  IterativeSolver::Function *getSolver() const override {
    return schedule::reorderComms;
  }
  bool mayReorderCollectives() const override {
    return unsafeCollectivesReorder;
  }
};

struct SinkWaitsIterative
    : MemoryBudgetPass<
          mlir::commsched::impl::SinkWaitsIterativeBase<SinkWaitsIterative>> {
  using MemoryBudgetPass::MemoryBudgetPass;

protected:
  IterativeSolver::Function *getSolver() const override {
    return schedule::sinkWaitsIteratively;
  }
  /// Those that move with a wait depend on it, and pass no others.
  bool mayReorderCollectives() const override { return true; }
};

} // namespace
