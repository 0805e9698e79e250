//===- ExposureText.cpp - Texts on exposed collectives --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/ExposureText.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::ExposureCause;
using schedule::ExposureMove;
using schedule::ExposureReason;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::noNode;
using schedule::Problem;

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
    return "would hide up to " + std::to_string(reason.byNs) + " ns of it";
  return "would make the step " + std::to_string(*reason.gainNs) +
         " ns shorter";
}

static std::string describeLoss(const ExposureReason &reason) {
  if (reason.gainNs == 0)
    return "would leave the step as long as it is";
  return "would make the step " + std::to_string(-*reason.gainNs) +
         " ns longer";
}

static std::string describeDependence(const Problem &problem,
                                      const ExposureReason &reason,
                                      const std::string &other) {
  std::string text = "dependence on " + other + ", which ";
  text +=
      problem.kind(reason.other) == NodeKind::Start ? "is issued " : "ends ";
  if (reason.byNs > 0)
    text += std::to_string(reason.byNs) + " ns ";
  return text + (reason.byNs > 0 ? "before it begins" : "when it begins");
}

static std::string describeSpare(const ExposureReason &reason) {
  return "at most " + std::to_string(reason.spareNs) +
         " ns of computation elsewhere could hide it";
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
  switch (reason.cause) {
  case ExposureCause::Blocking:
    return {"it is blocking: computation stands still for it",
            "a start and a wait of its own"};
  case ExposureCause::Unhindered:
    return {"nothing is in its way",
            describeMove(reason, other) + " " + describeGain(reason)};
  case ExposureCause::Memory:
    return {"budget short by " + std::to_string(reason.bytesShort) +
                " bytes, at " + nameOf(reason.fullest) + ", for " +
                describeMove(reason, other),
            std::to_string(reason.bytesShort) + " bytes more, which " +
                describeGain(reason)};
  case ExposureCause::StreamBusy:
    return {"stream busy with " + other + ", which ends " +
                std::to_string(reason.byNs) + " ns after it is issued",
            "a shorter or an earlier " + other};
  case ExposureCause::WouldNotPay:
    return {"would not pay: " + describeMove(reason, other) + " " +
                describeLoss(reason),
            "nothing that moves one operation; " + describeSpare(reason)};
  case ExposureCause::NothingLeft:
    return {"nothing left to hide it: all computation has to precede it, needs "
            "it, or runs beside it",
            isTransfer ? "nothing but less to transfer, or to keep the value "
                         "on the device"
                       : "nothing but less to communicate" +
                             (splitting.empty() ? "" : "; " + splitting.str())};
  case ExposureCause::Dependence:
    return {describeDependence(problem, reason, other),
            "an earlier " + other + "; " + describeSpare(reason)};
  case ExposureCause::Needed:
    return {"needed by " + other + ", and begins with the step",
            describeSpare(reason)};
  }
  llvm_unreachable("unknown cause");
}
