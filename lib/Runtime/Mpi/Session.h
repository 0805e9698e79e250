//===- Session.h - MPI in this process --------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MPI starts once in a process and cannot start again. A host may join and
// leave several times, so MPI ends when the process does; and after an error
// not even then, since its end waits for all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_MPI_SESSION_H
#define COMMSCHED_RUNTIME_MPI_SESSION_H

#include "CommSched/Runtime/Backend.h"

#include <functional>

namespace commsched::runtime::mpi {

/// Makes MPI usable for one rank. `onExit` is called if the process ends before
/// `endSession`.
Error beginSession(Deadline deadline, std::function<void()> onExit);
/// `deadlineMs` is for the end of MPI, when the process ends.
void endSession(bool failed, int64_t deadlineMs);

/// Empty if `code` is MPI_SUCCESS, otherwise the text of MPI for it.
Error checkMpi(int code, const char *call);

} // namespace commsched::runtime::mpi

#endif // COMMSCHED_RUNTIME_MPI_SESSION_H
