//===- BudgetAttribute.h - The attribute of missed budgets ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The discardable attributes of a function on its memory budget: by how many
// bytes its last schedule misses it (`commsched.over_budget_bytes`), what of a
// budget in bytes is not the function's (`commsched.beside_bytes`), whether its
// callers have a budget (`commsched.per_device`), and until that is checked,
// which options help (`commsched.budget_remedies`).
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_BUDGETATTRIBUTE_H
#define COMMSCHED_DIALECT_BUDGETATTRIBUTE_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace mlir::commsched {

inline constexpr llvm::StringLiteral overBudgetBytesAttrName =
    "commsched.over_budget_bytes";
inline constexpr llvm::StringLiteral besideBytesAttrName =
    "commsched.beside_bytes";
inline constexpr llvm::StringLiteral perDeviceAttrName = "commsched.per_device";
inline constexpr llvm::StringLiteral budgetRemediesAttrName =
    "commsched.budget_remedies";

/// The bytes that `function` has the attribute for, if it has it.
std::optional<int64_t> getOverBudgetBytes(Operation *function);
std::optional<int64_t> getBesideBytes(Operation *function);

/// What `function` has the attribute for, or an empty string.
llvm::StringRef getBudgetRemedies(Operation *function);

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_BUDGETATTRIBUTE_H
