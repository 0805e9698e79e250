//===- BucketPasses.cpp - Passes that merge collectives -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "BucketChoice.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Transforms/Passes.h"
#include "DeduplicateGathers.h"
#include "SumBeforeReduceScatter.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_BUCKET
#define GEN_PASS_DEF_BUCKETALLGATHER
#define GEN_PASS_DEF_BUCKETALLREDUCE
#define GEN_PASS_DEF_BUCKETREDUCESCATTER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// The modes of the option `mode`, in the order of preference.
static SmallVector<BucketMode, 2> getModes(BucketModeOption mode) {
  switch (mode) {
  case BucketModeOption::Copy:
    return {BucketMode::Copy};
  case BucketModeOption::Coalesced:
    return {BucketMode::Coalesced};
  case BucketModeOption::Auto:
    return {BucketMode::Coalesced, BucketMode::Copy};
  }
  llvm_unreachable("unknown mode");
}

/// Reads the option `cap-mb`, in units of 2^20 bytes. Returns what is wrong
/// with it, as the end of an error message.
static std::optional<std::string> parseCaps(ArrayRef<double> megabytes,
                                            std::vector<int64_t> &capBytes) {
  constexpr double bytesPerMegabyte = 1 << 20;
  if (megabytes.empty())
    megabytes = defaultBucketCapMb;
  for (double cap : megabytes) {
    if (std::optional<std::string> error = findBucketCapError(cap))
      return error;
    capBytes.push_back(
        std::max<int64_t>(static_cast<int64_t>(cap * bytesPerMegabyte), 1));
  }
  return std::nullopt;
}

/// Reads the option `plan`, likewise: nothing, auto, or a BucketPlan.
static std::optional<std::string> parsePlan(StringRef text,
                                            BucketingPassOptions &options) {
  if (text.empty())
    return std::nullopt;
  if (text == "auto") {
    options.grouping = BucketGrouping::AutomaticPlan;
    return std::nullopt;
  }
  options.grouping = BucketGrouping::Plan;
  return BucketPlan::parse(text, options.plan);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {

/// `Base` is what TableGen makes of a CommSched_BucketPass.
template <typename Base> class BucketingPass : public RewritingPass<Base> {
public:
  using RewritingPass<Base>::RewritingPass;

  LogicalResult initialize(MLIRContext *context) final {
    bucketing = {};
    bucketing.saturation = this->saturation;
    OptionError error = readOwnOptions(bucketing);
    return reportOptionError(context, error ? error : readSizes());
  }

  FailureOr<bool> rewrite() final {
    OperationCosts *costs =
        this->template getAnalysis<CostAnalysis>().getCosts();
    if (!costs)
      return failure();
    this->template markAnalysesPreserved<CostAnalysis>();
    FailureOr<bool> isChanged = prepare(*costs);
    for (CollectiveKind kind : getKinds()) {
      if (failed(isChanged))
        break;
      BucketingPassOptions options = bucketing;
      options.kind = kind;
      options.modes = getModesOf(kind);
      FailureOr<bool> merged =
          bucketCollectives(this->getOperation(), options, *costs);
      if (failed(merged))
        return failure();
      *isChanged |= *merged;
    }
    return isChanged;
  }

protected:
  using OptionError = std::optional<std::string>;

  virtual ArrayRef<CollectiveKind> getKinds() const = 0;
  /// How collectives of that kind may travel, in the order of preference.
  virtual SmallVector<BucketMode, 2> getModesOf(CollectiveKind kind) const = 0;
  /// Reads the options that not every bucketing pass has. Returns what is wrong
  /// with one.
  virtual OptionError readOwnOptions(BucketingPassOptions &options) {
    return std::nullopt;
  }
  /// Prepares the function for merging. Returns whether it changed anything.
  virtual FailureOr<bool> prepare(OperationCosts &costs) { return false; }

private:
  OptionError readSizes() {
    auto explain = [&](const llvm::cl::Option &option, const Twine &what) {
      return makeOptionError(*this, option, what);
    };
    if (this->capMb.empty() && this->capMb.getNumOccurrences() > 0)
      return explain(this->capMb, "is an empty list");
    if (OptionError error =
            parseCaps(ArrayRef<double>(this->capMb), bucketing.capBytes))
      return explain(this->capMb, *error);
    if (this->maxCount < 0)
      return explain(this->maxCount,
                     "must not be negative, but is " + Twine(this->maxCount));
    if (this->maxCount > 0)
      bucketing.maxCount = this->maxCount;
    return std::nullopt;
  }

  BucketingPassOptions bucketing;
};

/// `Base` is what TableGen makes of a CommSched_ParameterBucketPass.
template <typename Base, CollectiveKind kind>
class ParameterBucketingPass : public BucketingPass<Base> {
public:
  using BucketingPass<Base>::BucketingPass;

protected:
  using typename BucketingPass<Base>::OptionError;

  OptionError readOwnOptions(BucketingPassOptions &options) override {
    if constexpr (kind == CollectiveKind::AllGather)
      options.multiDtype = this->multiDtype;
    else
      options.isBitwise = this->bitwise;
    auto explain = [&](const llvm::cl::Option &option, const Twine &what) {
      return makeOptionError(*this, option, what);
    };
    options.fsdpOnly = this->fsdpOnly;
    if (OptionError error = parsePlan(this->plan, options))
      return explain(this->plan, *error);
    if (options.grouping == BucketGrouping::Size)
      return std::nullopt;
    constexpr StringLiteral meaningless =
        "means nothing to a plan, which says what travels together";
    if (!this->capMb.empty())
      return explain(this->capMb, meaningless);
    if (this->maxCount > 0)
      return explain(this->maxCount, meaningless);
    if (this->saturation)
      return explain(this->saturation, meaningless);
    return std::nullopt;
  }

  ArrayRef<CollectiveKind> getKinds() const override { return ownKind; }

  SmallVector<BucketMode, 2> getModesOf(CollectiveKind) const override {
    return getModes(this->mode);
  }

private:
  static constexpr CollectiveKind ownKind[] = {kind};
};

struct BucketAllGather
    : ParameterBucketingPass<
          mlir::commsched::impl::BucketAllGatherBase<BucketAllGather>,
          CollectiveKind::AllGather> {
  using ParameterBucketingPass::ParameterBucketingPass;

protected:
  FailureOr<bool> prepare(OperationCosts &costs) override {
    if (!deduplicate)
      return false;
    return rewriteBlocks(
        getBlocksWithCollectives(getOperation()), [&](Block &block) {
          return deduplicateGathers(getOperation(), block, FsdpAnalysis(block),
                                    costs, /*limitBytes=*/std::nullopt);
        });
  }
};

struct BucketReduceScatter
    : ParameterBucketingPass<
          mlir::commsched::impl::BucketReduceScatterBase<BucketReduceScatter>,
          CollectiveKind::ReduceScatter> {
  using ParameterBucketingPass::ParameterBucketingPass;

protected:
  OptionError readOwnOptions(BucketingPassOptions &options) override {
    if (bitwise && sumFirst)
      return makeOptionError(*this, sumFirst,
                             "adds in another order, but option 'bitwise' "
                             "keeps every element");
    return ParameterBucketingPass::readOwnOptions(options);
  }

  FailureOr<bool> prepare(OperationCosts &costs) override {
    return sumFirst && sumBeforeReduceScatter(getOperation());
  }
};

struct BucketAllReduce
    : ParameterBucketingPass<
          mlir::commsched::impl::BucketAllReduceBase<BucketAllReduce>,
          CollectiveKind::AllReduce> {
  using ParameterBucketingPass::ParameterBucketingPass;
};

struct Bucket : BucketingPass<mlir::commsched::impl::BucketBase<Bucket>> {
  using BucketingPass::BucketingPass;

protected:
  OptionError readOwnOptions(BucketingPassOptions &options) override {
    options.isBitwise = bitwise;
    wanted.clear();
    for (StringRef name : kinds) {
      auto it = llvm::find_if(
          allKinds, [&](const NamedKind &kind) { return kind.name == name; });
      if (it == std::end(allKinds))
        return makeOptionError(*this, kinds,
                               "takes all-gather, reduce-scatter, all-reduce, "
                               "all-to-all, broadcast and permute, not '" +
                                   name + "'");
      wanted.push_back(it->kind);
    }
    if (wanted.empty())
      for (const NamedKind &kind : allKinds)
        wanted.push_back(kind.kind);
    return std::nullopt;
  }

  ArrayRef<CollectiveKind> getKinds() const override { return wanted; }

  SmallVector<BucketMode, 2> getModesOf(CollectiveKind kind) const override {
    return getModes(
        kind == CollectiveKind::AllToAll ? BucketModeOption::Coalesced : mode);
  }

private:
  struct NamedKind {
    StringLiteral name;
    CollectiveKind kind;
  };
  static constexpr NamedKind allKinds[] = {
      {"all-gather", CollectiveKind::AllGather},
      {"reduce-scatter", CollectiveKind::ReduceScatter},
      {"all-reduce", CollectiveKind::AllReduce},
      {"all-to-all", CollectiveKind::AllToAll},
      {"broadcast", CollectiveKind::Broadcast},
      {"permute", CollectiveKind::Permute},
  };

  SmallVector<CollectiveKind> wanted;
};

} // namespace
