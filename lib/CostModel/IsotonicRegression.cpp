//===- IsotonicRegression.cpp - closest non-decreasing sequence -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/IsotonicRegression.h"

#include <cstddef>

namespace mlir::commsched::cost {

std::vector<double> isotonicRegression(llvm::ArrayRef<double> values) {
  struct Block {
    double mean;
    size_t size;
  };
  std::vector<Block> blocks;
  blocks.reserve(values.size());
  for (double value : values) {
    Block block{value, 1};
    while (!blocks.empty() && blocks.back().mean > block.mean) {
      const Block &previous = blocks.back();
      size_t size = previous.size + block.size;
      double weight = static_cast<double>(block.size) / size;
      block = {previous.mean + (block.mean - previous.mean) * weight, size};
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  std::vector<double> result;
  result.reserve(values.size());
  for (const Block &block : blocks)
    result.insert(result.end(), block.size, block.mean);
  return result;
}

} // namespace mlir::commsched::cost
