//===- Describe.h - Launches in words ---------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How errors name collectives, so that all backends say it alike. See also
// `describeTimeout` in Backend.h.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_DESCRIBE_H
#define COMMSCHED_RUNTIME_CORE_DESCRIBE_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// "all_gather 'ag' (step.mlir:7:8)".
COMMSCHED_RUNTIME_API std::string describeSite(const Site &site);

/// "all_gather 'ag' (step.mlir:7:8) on group 'dp', launch 3".
COMMSCHED_RUNTIME_API std::string describeLaunch(const Launch &launch);

/// "launch 3 on group 'dp', all_gather 'ag'": where a rank was last.
COMMSCHED_RUNTIME_API std::string describeLast(const Launch &launch);

/// Sends and receives concern two ranks only and are counted by themselves.
inline bool isPointToPoint(commsched_kind kind) {
  return kind == COMMSCHED_SEND || kind == COMMSCHED_RECV;
}

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_DESCRIBE_H
