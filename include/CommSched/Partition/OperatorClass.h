//===- OperatorClass.h - Rules for the classes of operators -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The properties of operator classes in the partitioner: whether the operator
// may be recomputed, and with which neighbours it is fused into one kernel.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_OPERATORCLASS_H
#define COMMSCHED_PARTITION_OPERATORCLASS_H

#include "CommSched/Support/OperatorClass.h"

namespace mlir::commsched::partition {

/// Whether operators of this class are cheap enough to compute again. That is
/// the reference's allow-list: not joined or other operators, and nothing that
/// draws random numbers, multiplies matrices or communicates.
constexpr bool isRecomputable(OperatorClass kind) {
  return kind <= OperatorClass::DataMovement || kind == OperatorClass::View ||
         kind == OperatorClass::Constant;
}

/// Whether an operator of class `producer` is computed in one kernel with one
/// of class `consumer` that reads its result, so that the result is never
/// written to memory.
constexpr bool areFusible(OperatorClass producer, OperatorClass consumer) {
  auto isFusible = [](OperatorClass kind) {
    return isRecomputable(kind) || kind == OperatorClass::Random;
  };
  return consumer == OperatorClass::Concatenation ||
         (isFusible(producer) && isFusible(consumer));
}

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_OPERATORCLASS_H
