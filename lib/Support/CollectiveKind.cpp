//===- CollectiveKind.cpp - Kinds of collectives --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Support/CollectiveKind.h"
#include "llvm/ADT/StringSwitch.h"

#include "CommSched/Support/CollectiveKind.cpp.inc"
