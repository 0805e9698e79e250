//===- ExposureText.h - Why a collective is not hidden, in words *- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What remarks and reports say about an exposed collective: its limiting
// factor, and what would change it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_EXPOSURETEXT_H
#define COMMSCHED_REPORT_EXPOSURETEXT_H

#include "CommSched/Schedule/Exposure/ExposureReasons.h"
#include "CommSched/Schedule/Model/Problem.h"
#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir::commsched {

struct ExposureText {
  /// Such as "stream busy with 'all_gather_3', which ends 40 ns after it is
  /// issued".
  std::string limit;
  /// Such as "a shorter or an earlier 'all_gather_3'".
  std::string remedy;
};

/// Puts `reason` into words. `getName` names operations; for a wait it is asked
/// about the start.
ExposureText
describeExposure(const schedule::Problem &problem,
                 const schedule::ExposureReason &reason,
                 function_ref<std::string(schedule::NodeId)> getName);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_EXPOSURETEXT_H
