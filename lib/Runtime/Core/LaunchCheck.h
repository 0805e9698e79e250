//===- LaunchCheck.h - The buffers of a launch ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the pointers of a launch must be, before any backend sees them: there
// where data is sent or received, and apart unless in place.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_LAUNCHCHECK_H
#define COMMSCHED_RUNTIME_CORE_LAUNCHCHECK_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// Whether the rank of the launch's group sends the inputs: of a broadcast only
/// the root does, of a permute only sources.
COMMSCHED_RUNTIME_API bool sendsInputs(const Site &site, const Group &group);

/// What is wrong with the launch's pointers, if anything.
Error checkLaunch(const Launch &launch);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_LAUNCHCHECK_H
