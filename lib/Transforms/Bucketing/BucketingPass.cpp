//===- BucketingPass.cpp - Passes that merge collectives ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketingPass.h"

using namespace mlir;
using namespace mlir::commsched;

std::optional<std::string>
mlir::commsched::parseBucketModes(StringRef text,
                                  SmallVector<BucketMode, 2> &modes) {
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

std::optional<std::string>
mlir::commsched::parseCaps(ArrayRef<double> megabytes,
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

std::optional<std::string>
mlir::commsched::parseSteps(StringRef text, BucketingPassOptions &options) {
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

std::optional<std::string>
mlir::commsched::loadProfile(StringRef path, BucketingPassOptions &options) {
  if (path.empty())
    return std::nullopt;
  llvm::Expected<cost::MeasuredTable> loaded = cost::MeasuredTable::load(path);
  if (!loaded)
    return "cannot be used: " + llvm::toString(loaded.takeError());
  options.profile =
      std::make_shared<const cost::MeasuredTable>(std::move(*loaded));
  return std::nullopt;
}
