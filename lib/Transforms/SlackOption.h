//===- SlackOption.h - The option slack of passes ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SLACKOPTION_H
#define COMMSCHED_LIB_TRANSFORMS_SLACKOPTION_H

#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/CostModel/MeasuredTable.h"
#include "mlir/Pass/Pass.h"

#include <optional>
#include <string>

namespace mlir::commsched {

/// Sets `slackPercent` to what the option `slack` of `pass` says; -1 stands for
/// none, and for what OperationCosts::getSlackPercent() says. Returns the
/// error, if any, for emitOptionError().
inline std::optional<std::string>
readSlackOption(const Pass &pass, const Pass::Option<int32_t> &slack,
                std::optional<int32_t> &slackPercent) {
  constexpr int32_t most = cost::MeasuredTable::mostSlackPercent;
  if (slack < -1 || slack > most)
    return makeOptionError(pass, slack,
                           "must be a percentage from 0 to " + Twine(most) +
                               ", or -1, but is " + Twine(slack));
  slackPercent.reset();
  if (slack >= 0)
    slackPercent = slack;
  return std::nullopt;
}

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SLACKOPTION_H
