//===- BackendLoader.h - Loading of backends --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Backends other than "local" are shared objects, so that a machine without MPI
// or CUDA runs the rest. "mpi" is libCommSchedRuntimeMpi.so, looked for in the
// folders of $COMMSCHED_BACKEND_PATH and then beside the runtime; a name with a
// slash is a path.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_BACKENDLOADER_H
#define COMMSCHED_RUNTIME_CORE_BACKENDLOADER_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// Null and an error that names the file, the folders and the backends there.
/// Shared objects stay loaded: MPI cannot be started twice.
std::unique_ptr<Backend> createBackend(const std::string &name,
                                       const BackendConfig &config,
                                       Status &status);

/// The built-in backend "local", defined in Local/LocalBackend.cpp: ranks as
/// threads of one process. Joins the job and does not wait for the other ranks.
std::unique_ptr<Backend> createLocalBackend(const BackendConfig &config,
                                            Status &status);

/// "local" and the backends found, sorted.
std::vector<std::string> listBackends();

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_BACKENDLOADER_H
