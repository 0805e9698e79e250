//===- CommSchedOps.td - The dialect's operations ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDOPS_TD
#define COMMSCHED_DIALECT_COMMSCHEDOPS_TD

include "CommSched/Dialect/CommSchedCollectiveOps.td"
include "CommSched/Dialect/CommSchedComputeOps.td"
include "CommSched/Dialect/CommSchedFsdpOps.td"
include "CommSched/Dialect/CommSchedGroupOps.td"
include "CommSched/Dialect/CommSchedPointToPointOps.td"
include "CommSched/Dialect/CommSchedTransferOps.td"

#endif // COMMSCHED_DIALECT_COMMSCHEDOPS_TD
