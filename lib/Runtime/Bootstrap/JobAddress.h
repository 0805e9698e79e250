//===- JobAddress.h - Where the ranks of a job meet -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which ranks a job has and where rank 0 is found, from the variables that
// torchrun and mpirun set.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_BOOTSTRAP_JOBADDRESS_H
#define COMMSCHED_RUNTIME_BOOTSTRAP_JOBADDRESS_H

#include "CommSched/Runtime/Backend.h"

#include <functional>

namespace commsched::runtime {

struct JobAddress {
  int32_t rank = 0;
  int32_t numRanks = 1;
  /// Where rank 0 listens.
  std::string address = "127.0.0.1";
  int32_t port = 29501;
  /// Tells jobs of one machine apart; empty when the launcher has no name.
  std::string job;
};

/// Looks up an environment variable; null when it is not set.
using GetEnvironment = std::function<const char *(const char *)>;

/// Reads the address of rank 0 from MASTER_ADDR, and its port from
/// COMMSCHED_PORT or MASTER_PORT; since the latter is PyTorch's own, the port
/// is the next one. Leaves `rank` and `numRanks` as they are.
Error readJobAddress(const GetEnvironment &getEnvironment, JobAddress &address);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_BOOTSTRAP_JOBADDRESS_H
