//===- Numbers.h - Operands of exact reductions -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers whose reductions over all ranks are exact in a type, whatever the
// order: small integers, and the bound on their partial results shared out
// among the ranks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_CONFORMANCE_NUMBERS_H
#define COMMSCHED_UNITTESTS_CONFORMANCE_NUMBERS_H

#include "CommSched/Runtime/Runtime.h"
#include "ElementFormats.h"

namespace commsched::conformance {

/// One operand: `own` are random bits of this rank, `common` of all.
struct OperandSeed {
  uint64_t own;
  uint64_t common;
  int32_t rank;
  int32_t numRanks;
};

/// The operand of `reduction`, which is no bitwise one.
Number makeOperand(const ElementFormat &format, commsched_reduction reduction,
                   const OperandSeed &seed);

/// `first` and then `second`.
Number reduce(commsched_reduction reduction, Number first, Number second);

} // namespace commsched::conformance

#endif // COMMSCHED_UNITTESTS_CONFORMANCE_NUMBERS_H
