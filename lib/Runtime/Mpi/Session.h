//===- Session.h - MPI in this process --------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MPI starts once in a process and cannot start again. A host may join and
// leave several times, so MPI and the board stay until the process ends. If the
// last thing was an error, MPI is not ended even then: that waits for all
// ranks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_SESSION_H
#define COMMSCHED_RUNTIME_MPI_SESSION_H

#include "Board.h"

namespace commsched::runtime::mpi {

/// Makes MPI and the board usable for one rank. Waits for all ranks;
/// `deadlineMs` says for how long.
Error beginSession(int64_t deadlineMs, Deadline deadline);
/// `deadlineMs` is for the end of MPI, when the process ends.
void endSession(bool failed, int64_t deadlineMs);

/// Of the process; opened by the first session.
Board &getBoard();

/// Empty if `code` is MPI_SUCCESS, otherwise the text of MPI for it.
Error checkMpi(int code, const char *call);

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_SESSION_H
