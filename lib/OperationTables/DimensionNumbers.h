//===- DimensionNumbers.h - Dimension numbers as text -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// StableHLO's dimension numbers are attributes of that dialect. Their text is
// the same whether the dialect is linked or known by name only, so this reads
// the text. Nothing else reads such text.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_OPERATIONTABLES_DIMENSIONNUMBERS_H
#define COMMSCHED_LIB_OPERATIONTABLES_DIMENSIONNUMBERS_H

#include "mlir/IR/Attributes.h"
#include "mlir/Support/LLVM.h"

#include <optional>

namespace mlir::commsched::detail {

/// The dimensions of the first operand over which a product sums, from
/// `#stablehlo.dot<..., lhs_contracting_dimensions = [1], ...>`.
std::optional<SmallVector<int64_t>> readContractedDimensions(Attribute attr);

/// The dimension of the weights that holds the output's channels, from
/// `#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`.
std::optional<int64_t> readOutputChannel(Attribute attr);

/// Whether the text of `attr` has the word `word`, as in
/// `#stablehlo<comparison_direction LT>`.
bool hasWord(Attribute attr, StringRef word);

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_OPERATIONTABLES_DIMENSIONNUMBERS_H
