//===- GroupMembers.cpp - The ranks of groups -----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupMembers.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::commsched;

/// The product, or the largest number if that does not fit: ranks are below.
static int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? std::numeric_limits<int64_t>::max()
                                          : product;
}

GroupMembers::GroupMembers(GroupOp op)
    : size(op.getSize()), stride(op.getStride().value_or(1)),
      block(multiply(size, stride)) {
  if (std::optional<DenseIntElementsAttr> listed = op.getRanks())
    ranks = *listed;
}

std::optional<GroupMembers::Row> GroupMembers::getRow(int64_t rank) {
  if (!ranks)
    return Row{rank / block, rank % stride};
  if (rowOf.empty()) {
    for (auto [index, listed] : llvm::enumerate(ranks->getValues<int64_t>()))
      rowOf.emplace_back(listed, static_cast<int64_t>(index) / size);
    llvm::sort(rowOf);
  }
  auto it = llvm::lower_bound(rowOf, std::pair(rank, int64_t(0)));
  if (it == rowOf.end() || it->first != rank)
    return std::nullopt;
  return Row{it->second, /*stride=*/0};
}

/// Whether a row of `listed` has two ranks of one row of `other`.
static bool hasRowWithTwoRanksOf(GroupMembers &other,
                                 const GroupMembers &listed) {
  SmallVector<GroupMembers::Row> rows;
  for (auto [index, rank] :
       llvm::enumerate(listed.getRanks().getValues<int64_t>())) {
    if (index % static_cast<size_t>(listed.getSize()) == 0)
      rows.clear();
    if (std::optional<GroupMembers::Row> row = other.getRow(rank))
      rows.push_back(*row);
    if ((index + 1) % static_cast<size_t>(listed.getSize()) != 0)
      continue;
    llvm::sort(rows);
    if (std::adjacent_find(rows.begin(), rows.end()) != rows.end())
      return true;
  }
  return false;
}

bool mlir::commsched::shareTwoRanks(GroupMembers &a, GroupMembers &b) {
  if (a.isListed())
    return hasRowWithTwoRanksOf(b, a);
  if (b.isListed())
    return hasRowWithTwoRanksOf(a, b);
  // Two ranks of one row are a multiple of the stride apart, and in one block.
  // If there are two in one row of both, then also rank 0 and the first that is
  // a multiple of both strides.
  int64_t apart = multiply(
      a.getStride() / std::gcd(a.getStride(), b.getStride()), b.getStride());
  return apart < a.getBlock() && apart < b.getBlock();
}
