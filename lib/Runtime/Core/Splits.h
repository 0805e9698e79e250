//===- Splits.h - Splits that are values ------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows that an all_to_all sends to, and receives from, each rank, where the
// program computes these numbers: their checks, and the tensors of a launch
// that follow from them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_CORE_SPLITS_H
#define COMMSCHED_RUNTIME_CORE_SPLITS_H

#include "CommSched/Runtime/Backend.h"

namespace commsched::runtime {

/// The splits of one side of a launch.
struct RowSplits {
  /// Rows of the buffer.
  int64_t rows = 0;
  /// Rows for each rank of the group; null where they are no values.
  const int64_t *splits = nullptr;
};

/// Which side splits are of: "input" or "output" in errors.
enum class SplitSide { Input, Output };

/// Adds the rows of `splits` up, of `ranks` ranks. An error if one of them is
/// negative, or if there are more than fit a buffer. Errors do not name the
/// site.
Status addSplits(SplitSide side, const int64_t *splits, int64_t ranks,
                 int64_t &rows);

/// The tensors of a launch of `site`, on a group of `ranks` ranks, which has
/// splits that are values. An error, without the name of the site, unless the
/// splits of each side are there and add up to its rows.
Status resolveTensors(const Site &site, int64_t ranks, const RowSplits &input,
                      const RowSplits &output, std::vector<Tensor> &tensors);

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_CORE_SPLITS_H
