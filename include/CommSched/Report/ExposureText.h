//===- ExposureText.h - Texts on exposed collectives ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The texts of remarks and reports on an exposed collective: its limiting
// factor and the change that would remove it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_EXPOSURETEXT_H
#define COMMSCHED_REPORT_EXPOSURETEXT_H

#include "CommSched/Schedule/Exposure/ExposureReasons.h"
#include "CommSched/Schedule/Model/Problem.h"
#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir::commsched {

/// The numbers that the texts round: of an ExposureReason those that count for
/// its cause, with the same names.
struct ExposureNumbers {
  std::optional<int64_t> byNs;
  std::optional<int64_t> gainNs;
  std::optional<int64_t> spareNs;
  std::optional<int64_t> bytesShort;
};

struct ExposureText {
  /// Such as "stream busy with 'all_gather_3', which ends 40 ns after it is
  /// issued".
  std::string limit;
  /// Such as "a shorter or an earlier 'all_gather_3'".
  std::string remedy;
  ExposureNumbers numbers;
};

/// Puts `reason` into words. `getName` names operations; for a wait it is asked
/// about the start. `splitting` says what is known about splitting the
/// collective, if anything, for one that nothing is left to hide; nothing is
/// said of that for `isTransfer`, one between the device and its host.
ExposureText
describeExposure(const schedule::Problem &problem,
                 const schedule::ExposureReason &reason,
                 function_ref<std::string(schedule::NodeId)> getName,
                 StringRef splitting, bool isTransfer = false);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_EXPOSURETEXT_H
