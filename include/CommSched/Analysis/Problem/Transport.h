//===- Transport.h - What carries collectives out ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of the backend of a process group, and of the memory that it
// takes itself.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_TRANSPORT_H
#define COMMSCHED_ANALYSIS_PROBLEM_TRANSPORT_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"

namespace mlir::commsched {

/// Whether gloo carries out `collective`.
bool isCarriedByGloo(CollectiveOpInterface collective);

/// The bytes that the backend of the group allocates for `collective` until it
/// is waited for, beside what that sends and delivers. PyTorch's gloo copies
/// what it gathers and scatters, and packs the tensors of one all-reduce; what
/// others take is not known, and 0. 0 for sizes that are not known, too.
int64_t getTransportBytes(CollectiveOpInterface collective);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_TRANSPORT_H
