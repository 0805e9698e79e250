//===- CollectiveKind.cpp - Kinds of collectives --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Support/CollectiveKind.h"
#include "llvm/ADT/StringSwitch.h"

#include "CommSched/Support/CollectiveKind.cpp.inc"
