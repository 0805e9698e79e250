//===- TimelinePage.h - The timeline as a page ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulated steps as one page of HTML that needs nothing else: streams over
// time before and after scheduling, live bytes, reasons and remedies, and the
// frontier.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_TIMELINEPAGE_H
#define COMMSCHED_REPORT_TIMELINEPAGE_H

#include "CommSched/Report/Frontier.h"
#include "CommSched/Report/StepReport.h"

namespace mlir::commsched {

/// Prints a page on the `reports`. Those of the same function in `before` stand
/// beside them; other functions of `before` follow by themselves. The page
/// shows buffers if the reports have them. Linear in the operations.
void printPage(ArrayRef<StepReport> reports, ArrayRef<StepReport> before,
               ArrayRef<FunctionFrontier> frontiers, raw_ostream &os);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_TIMELINEPAGE_H
