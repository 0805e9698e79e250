//===- LocalBackend.h - Ranks as threads ------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The built-in backend: the ranks are threads of one process that gave the same
// name of a job. It needs nothing installed, reduces in the order of the ranks,
// checks how programs use buffers, and can take the times of collectives and
// operators from the program's description.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_LOCAL_LOCALBACKEND_H
#define COMMSCHED_RUNTIME_LOCAL_LOCALBACKEND_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// Joins the job; does not wait for the other ranks.
std::unique_ptr<Backend> createLocalBackend(const BackendConfig &config,
                                            Error &error);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_LOCAL_LOCALBACKEND_H
