//===- OperatorNames.h - What the names of operators tell -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The classes of PyTorch's operators, after the lists of its partitioner
// (torch/_functorch/partitioners.py, get_default_op_list). A test compares the
// two.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_DIALECT_OPERATORNAMES_H
#define COMMSCHED_LIB_DIALECT_OPERATORNAMES_H

#include "CommSched/Partition/OperatorClass.h"
#include "mlir/Support/LLVM.h"
#include <optional>

namespace mlir::commsched {

/// The class of the operator `callee`, "namespace.name" with or without an
/// ".overload" behind it; none for an operator of which nothing is known.
/// Constant is what makes values from nothing, unless it is given a tensor to
/// take the shape or the value from.
std::optional<OperatorClass> lookupOperatorClass(StringRef callee);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_DIALECT_OPERATORNAMES_H
