//===- RefusingBackend.cpp - A backend without a device ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A shared object that the loader finds, loads and cannot use.
//===----------------------------------------------------------------------===//

#include "CommSched/Runtime/Backend.h"

using namespace commsched::runtime;

#ifndef COMMSCHED_NO_BACKEND
Backend *commsched_create_backend(const BackendConfig *config,
                                  std::string *error) {
  *error = config->version == backendVersion ? "there is no device"
                                             : "another version";
  return nullptr;
}
#endif
