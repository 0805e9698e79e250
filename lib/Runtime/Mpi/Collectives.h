//===- Collectives.h - Collectives as MPI's calls ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts a launch: from our kinds, in-place rules and counts to MPI's
// non-blocking calls. Which calls are made depends only on what is equal on all
// ranks of the group, so that they match.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_COLLECTIVES_H
#define COMMSCHED_RUNTIME_MPI_COLLECTIVES_H

#include "Flight.h"
#include "Types.h"

namespace commsched::runtime::mpi {

/// Why a tag or anything else of `site` does not fit into MPI's limits.
Error checkLimits(const Site &site);

/// Makes the calls for `request.launch` on the group's communicator. Stages
/// results where MPI knows no such in-place form.
Error startCollective(MpiRequest &request, MPI_Comm communicator, Types &types);

/// Completes the results when all MPI requests have ended.
void finishCollective(MpiRequest &request);

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_COLLECTIVES_H
