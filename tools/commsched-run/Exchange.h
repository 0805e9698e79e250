//===- Exchange.h - What ranks tell each other ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime gathers equally many bytes of every rank; here are numbers and
// records. All of these are collective, and the text of a failure is the
// runtime's.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_EXCHANGE_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_EXCHANGE_H

#include "Measurements.h"
#include "llvm/Support/Error.h"

namespace mlir::commsched::run {

/// What went wrong first on this rank; success if nothing has.
llvm::Error getRuntimeError();

/// The numbers of all ranks; each has as many.
llvm::Expected<std::vector<std::vector<int64_t>>>
exchangeNumbers(ArrayRef<int64_t> mine);

/// The records of all ranks; each has as many as it likes.
llvm::Expected<std::vector<std::vector<commsched_record>>>
exchangeRecords(ArrayRef<commsched_record> mine);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_EXCHANGE_H
