//===- CostEvidence.cpp - What the figures of a report rest on ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/CostEvidence.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Report/TextTable.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <utility>

using namespace mlir;
using namespace mlir::commsched;
namespace json = llvm::json;

CostEvidence::CostEvidence(const OperationCosts &costs,
                           const BlockProblem &block)
    : CostEvidence(costs) {
  price = block.getPrice();
  numUnsized = block.getUnsized().size();
}

CostEvidence::CostEvidence(const OperationCosts &costs) {
  const cost::Target &used = costs.getTarget();
  target = used.name;
  if (std::optional<cost::Target> preset = cost::getTargetPreset(target))
    for (const cost::TargetField &field : cost::targetFields())
      if (used.*field.member != (*preset).*field.member)
        changes.emplace_back(field.key, used.*field.member);
  if (const std::optional<std::string> &path = costs.getProfilePath())
    profile = makePrintable(*path);
}

StringRef CostEvidence::getSource() const {
  if (isPinned())
    return "pinned";
  return profile ? "profile" : "model";
}

double CostEvidence::getMeasuredPercent() const {
  if (price.timeNs == 0)
    return 0;
  double share =
      static_cast<double>(price.measuredNs) / static_cast<double>(price.timeNs);
  return std::round(1000 * share) / 10;
}

/// "h100", or "h100 with memory_gb_s=4000"; of many changes only their number.
static std::string describeTarget(const CostEvidence &evidence) {
  constexpr size_t mostNamed = 2;
  std::string text = evidence.target;
  if (evidence.changes.empty())
    return text;
  text += " with ";
  if (evidence.changes.size() > mostNamed)
    return text + std::to_string(evidence.changes.size()) + " fields changed";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(evidence.changes, os, [&](const auto &change) {
    os << change.first << "=" << llvm::format("%g", change.second);
  });
  return text;
}

std::string CostEvidence::describeCosts() const {
  if (isPinned())
    return "costs pinned in the program (commsched.runtime_ns)";
  std::string text = "target " + describeTarget(*this) + "; costs: ";
  text += profile ? "profile " + *profile : "model";
  std::string all = " of " + std::to_string(price.numOps) + " operations";
  std::string counts;
  auto count = [&](int64_t number, const std::string &what) {
    counts += (counts.empty() ? " (" : "; ") + std::to_string(number) +
              std::exchange(all, "") + " " + what;
  };
  if (profile)
    count(price.numMeasured, "measured, " +
                                 formatShare(price.measuredNs, price.timeNs) +
                                 " of the time");
  if (price.numPinned > 0)
    count(price.numPinned, "pinned");
  if (price.numAssumed > 0)
    count(price.numAssumed, "assumed");
  return counts.empty() ? text : text + counts + ")";
}

std::string CostEvidence::describe() const {
  std::string text = "simulated: " + describeCosts();
  if (numUnsized > 0)
    text += "; memory: without " + std::to_string(numUnsized) +
            (numUnsized == 1 ? " value" : " values") + " of unknown size";
  return text;
}

void CostEvidence::add(const CostEvidence &other) {
  price.add(other.price);
  numUnsized += other.numUnsized;
}

void CostEvidence::print(json::OStream &stream) const {
  stream.attribute("target", target);
  if (!changes.empty())
    stream.attributeObject("target_changes", [&] {
      for (const auto &[key, value] : changes)
        stream.attribute(key, value);
    });
  stream.attributeObject("costs", [&] {
    stream.attribute("source", getSource());
    if (profile)
      stream.attribute("profile", *profile);
    stream.attribute("ops", price.numOps);
    stream.attribute("measured_ops", price.numMeasured);
    stream.attribute("pinned_ops", price.numPinned);
    stream.attribute("assumed_ops", price.numAssumed);
    stream.attribute("measured_percent", getMeasuredPercent());
  });
  stream.attribute("unsized_values", numUnsized);
  stream.attribute("evidence", describe());
}
