//===- SiteCheck.h - Whether a collective is well described -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules for one site of a program: which tensors, numbers of elements,
// reductions and peers a kind of collective has.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_SITECHECK_H
#define COMMSCHED_RUNTIME_CORE_SITECHECK_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// What is wrong with `site` on a group of `size` ranks. `hasPairs`: the
/// description gave pairs, if only an empty list.
Error checkSiteDescription(const Site &site, int64_t size, bool hasPairs);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_SITECHECK_H
