//===- Groups.h - The ranks of groups ---------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the description of an axis of groups to the world ranks of its rows.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_GROUPS_H
#define COMMSCHED_RUNTIME_CORE_GROUPS_H

#include "Core/Program.h"

namespace commsched::runtime {

using Rows = std::vector<std::vector<int32_t>>;

/// The rows of the group when `numRanks` ranks run, each of `size` ranks.
/// Without a list they cover all ranks. An error when ranks are named that do
/// not run, or the rows do not cover those that do.
Error expandGroup(const GroupDescription &group, int64_t numRanks, Rows &rows);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_GROUPS_H
