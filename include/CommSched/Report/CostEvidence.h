//===- CostEvidence.h - What the figures of a report rest on ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every output with simulated times says so, and names the target and where the
// times of operations come from.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_COSTEVIDENCE_H
#define COMMSCHED_REPORT_COSTEVIDENCE_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <utility>
#include <vector>

namespace mlir::commsched {

struct CostEvidence {
  CostEvidence() = default;
  /// The target and the profile of `costs`; no operation has a price yet.
  explicit CostEvidence(const OperationCosts &costs);

  /// The same for what `block` takes, which was priced by `costs`.
  CostEvidence(const OperationCosts &costs, const BlockProblem &block);

  /// The preset.
  std::string target;
  /// The fields in which the target differs from it, by the module or the
  /// profile, with their values.
  std::vector<std::pair<StringRef, double>> changes;
  /// The file of the measured profile; none without one.
  std::optional<std::string> profile;
  /// What all operations take together.
  OperationPrice price;
  /// The values that count as 0 bytes, as their size is not known.
  int64_t numUnsized = 0;

  /// Adds what further operations take.
  void add(const CostEvidence &other);

  /// Whether every time is pinned, so that neither the target nor the profile
  /// counts.
  bool isPinned() const {
    return price.numOps > 0 && price.numPinned == price.numOps;
  }
  /// "model", "profile" or "pinned".
  StringRef getSource() const;
  /// The share of the time that was measured, in percent with one decimal.
  double getMeasuredPercent() const;

  /// Such as "simulated: target h100; costs: profile costs.json (312 of 350
  /// operations measured, 97.5 % of the time)".
  std::string describe() const;
  /// The same as attributes of the object that `stream` prints.
  void print(llvm::json::OStream &stream) const;

private:
  std::string describeCosts() const;
};

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_COSTEVIDENCE_H
