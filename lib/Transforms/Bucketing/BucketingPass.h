//===- BucketingPass.h - Passes that merge collectives ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What TableGen leaves to say about the bucketing passes: how their options,
// which have the same names in C++, become those of bucketCollectives().
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETINGPASS_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETINGPASS_H

#include "BucketCollectives.h"
#include "mlir/Pass/Pass.h"

namespace mlir::commsched {

/// Reads the option `mode`: copy, coalesced or auto. Returns what is wrong with
/// it, as the end of an error message.
std::optional<std::string> parseBucketModes(StringRef text,
                                            SmallVector<BucketMode, 2> &modes);

/// Reads the option `cap-mb`, in units of 2^20 bytes, likewise.
std::optional<std::string> parseCaps(ArrayRef<double> megabytes,
                                     std::vector<int64_t> &capBytes);

/// Reads the option `plan`, likewise: nothing, auto, or a BucketPlan.
std::optional<std::string> parseSteps(StringRef text,
                                      BucketingPassOptions &options);

/// Reads the option `profile`, likewise: nothing, or the name of a file.
std::optional<std::string> loadProfile(StringRef path,
                                       BucketingPassOptions &options);

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
    if (std::optional<std::string> error = findBadOption()) {
      emitError(UnknownLoc::get(context), *error);
      return failure();
    }
    return success();
  }

  void runOnOperation() final {
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
      return ("option '" + option.ArgStr + "' of " + this->getArgument() + " " +
              what)
          .str();
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
    if (std::optional<std::string> error =
            loadProfile(this->profile, bucketing))
      return explain(this->profile, *error);
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
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETINGPASS_H
