//===- Module.cpp - What the core loads -----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiBackend.h"

#include <exception>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

Backend *commsched_create_backend(const BackendConfig *config,
                                  std::string *error) {
  if (config->version != backendVersion) {
    *error = "'mpi' is of another version than the runtime";
    return nullptr;
  }
  try {
    auto backend = std::make_unique<MpiBackend>(*config, defaultMaxCount);
    Error problem = backend->join(*config->options, config->deadline);
    if (!problem)
      return backend.release();
    backend->fail(*problem);
    *error = *problem;
  } catch (const std::exception &exception) {
    *error = exception.what();
  }
  return nullptr;
}
