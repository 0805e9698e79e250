//===- ExposureText.cpp - Texts on exposed collectives --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Report/StepReport.h"
#include "CommSched/Report/TextTable.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Returns the text of the move, as the subject of a sentence.
static std::string describeMove(const ExposureReason &reason,
                                const std::string &other) {
  bool isEarlier = reason.move == ExposureMove::StartEarlier;
  std::string text = isEarlier ? "starting it" : "waiting for it";
  if (reason.moving.size() > 1)
    text += isEarlier ? ", with what prepares it," : ", with what follows,";
  return text + (isEarlier ? " before " : " behind ") + other;
}

/// Returns the effect of the move on the step, as a predicate.
static std::string describeGain(const ExposureReason &reason) {
  if (!reason.gainNs)
    return "would hide up to " + formatTime(reason.byNs) + " of it";
  return "would make the step " + formatTime(*reason.gainNs) + " shorter";
}

static std::string describeLoss(const ExposureReason &reason) {
  if (reason.gainNs == 0)
    return "would leave the step as long as it is";
  return "would make the step " + formatTime(-*reason.gainNs) + " longer";
}

static std::string describeDependence(const Problem &problem,
                                      const ExposureReason &reason,
                                      const std::string &other) {
  std::string text = "dependence on " + other + ", which ";
  text +=
      problem.kind(reason.other) == NodeKind::Start ? "is issued " : "ends ";
  if (reason.byNs > 0)
    text += formatTime(reason.byNs) + " ";
  return text + (reason.byNs > 0 ? "before it begins" : "when it begins");
}

static std::string describeSpare(const ExposureReason &reason) {
  return "at most " + formatTime(reason.spareNs) +
         " of computation elsewhere could hide it";
}

static ExposureNumbers getNumbers(const ExposureReason &reason) {
  ExposureNumbers numbers;
  switch (reason.cause) {
  case ExposureCause::Blocking:
  case ExposureCause::NothingLeft:
    break;
  case ExposureCause::Memory:
    numbers.bytesShort = reason.bytesShort;
    [[fallthrough]];
  case ExposureCause::Unhindered:
    numbers.gainNs = reason.gainNs;
    if (!reason.gainNs)
      numbers.byNs = reason.byNs;
    break;
  case ExposureCause::StreamBusy:
    numbers.byNs = reason.byNs;
    break;
  case ExposureCause::WouldNotPay:
    numbers.gainNs = reason.gainNs;
    numbers.spareNs = reason.spareNs;
    break;
  case ExposureCause::Dependence:
    numbers.byNs = reason.byNs;
    numbers.spareNs = reason.spareNs;
    break;
  case ExposureCause::Needed:
    numbers.spareNs = reason.spareNs;
    break;
  }
  return numbers;
}

ExposureText
mlir::commsched::describeExposure(const Problem &problem,
                                  const ExposureReason &reason,
                                  function_ref<std::string(NodeId)> getName,
                                  StringRef splitting, bool isTransfer) {
  auto nameOf = [&](NodeId node) {
    if (node == noNode)
      return std::string("another operation");
    NodeId start = problem.startOf(node);
    return start == noNode ? getName(node) : "the wait for " + getName(start);
  };
  std::string other = nameOf(reason.other);
  ExposureNumbers numbers = getNumbers(reason);
  switch (reason.cause) {
  case ExposureCause::Blocking:
    return {"it is blocking: computation stands still for it",
            "a start and a wait of its own", numbers};
  case ExposureCause::Unhindered:
    return {"nothing is in its way",
            describeMove(reason, other) + " " + describeGain(reason), numbers};
  case ExposureCause::Memory:
    return {"budget short by " + formatBytes(reason.bytesShort) + ", at " +
                nameOf(reason.fullest) + ", for " + describeMove(reason, other),
            formatBytes(reason.bytesShort) + " more, which " +
                describeGain(reason),
            numbers};
  case ExposureCause::StreamBusy:
    return {"stream busy with " + other + ", which ends " +
                formatTime(reason.byNs) + " after it is issued",
            "a shorter or an earlier " + other, numbers};
  case ExposureCause::WouldNotPay:
    return {"would not pay: " + describeMove(reason, other) + " " +
                describeLoss(reason),
            "none by moving one operation; " + describeSpare(reason), numbers};
  case ExposureCause::NothingLeft:
    return {"nothing left to hide it: all computation has to precede it, needs "
            "it, or runs beside it",
            isTransfer
                ? "none by scheduling; transfer less, or keep the value on the "
                  "device"
                : "none by scheduling; reduce bytes (wider sharding, lower "
                  "precision) or add independent computation" +
                      (splitting.empty() ? "" : "; " + splitting.str()),
            numbers};
  case ExposureCause::Dependence:
    return {describeDependence(problem, reason, other),
            "an earlier " + other + "; " + describeSpare(reason), numbers};
  case ExposureCause::Needed:
    return {"needed by " + other + ", and begins with the step",
            describeSpare(reason), numbers};
  }
  llvm_unreachable("unknown cause");
}
