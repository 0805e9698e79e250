//===- Splits.cpp - Splits that are values --------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Splits.h"

#include "Core/Program.h"

using namespace commsched::runtime;

static std::string getText(SplitSide side) {
  return side == SplitSide::Input ? "input" : "output";
}

Status commsched::runtime::addSplits(SplitSide side, const int64_t *splits,
                                     int64_t ranks, int64_t &rows) {
  rows = 0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t split = splits[rank];
    if (split < 0)
      return "the " + getText(side) + " split of rank " + std::to_string(rank) +
             " of the group is " + std::to_string(split) +
             ", which is negative";
    if (split > maxElements - rows)
      return "the " + getText(side) + " splits add up to more than " +
             std::to_string(maxElements) + " rows";
    rows += split;
  }
  return Status();
}

/// Checks the splits of one side against the rows of its buffer.
static Status checkSide(SplitSide side, int64_t ranks, const RowSplits &given) {
  if (!given.splits)
    return "the " + getText(side) + " splits are values, but null is given";
  int64_t sum = 0;
  COMMSCHED_TRY(addSplits(side, given.splits, ranks, sum));
  if (sum != given.rows)
    return "the " + getText(side) + " splits add up to " + std::to_string(sum) +
           " rows, but the " + getText(side) + " has " +
           std::to_string(given.rows);
  return Status();
}

/// The elements of `given` for a tensor with rows of `rowElements`.
static Status resolveSide(SplitSide side, int64_t ranks, const RowSplits &given,
                          int64_t rowElements, int64_t &elements,
                          std::vector<int64_t> &splits) {
  if (rowElements > 0 && given.rows > maxElements / rowElements)
    return "the " + getText(side) + " has " + std::to_string(given.rows) +
           " rows of " + std::to_string(rowElements) +
           " elements, more than fit a buffer";
  elements = given.rows * rowElements;
  splits.clear();
  for (int64_t rank = 0; rank < ranks; ++rank)
    splits.push_back(given.splits[rank] * rowElements);
  return Status();
}

Status commsched::runtime::resolveTensors(const Site &site, int64_t ranks,
                                          const RowSplits &input,
                                          const RowSplits &output,
                                          std::vector<Tensor> &tensors) {
  Status status;
  if (site.inputSplitsAreValues)
    status = checkSide(SplitSide::Input, ranks, input);
  if (status && site.outputSplitsAreValues)
    status = checkSide(SplitSide::Output, ranks, output);
  tensors = site.tensors;
  for (Tensor &tensor : tensors) {
    if (status && site.inputSplitsAreValues)
      status = resolveSide(SplitSide::Input, ranks, input, tensor.rowElements,
                           tensor.inputs, tensor.inputSplits);
    if (status && site.outputSplitsAreValues)
      status = resolveSide(SplitSide::Output, ranks, output, tensor.rowElements,
                           tensor.outputs, tensor.outputSplits);
  }
  return status;
}
