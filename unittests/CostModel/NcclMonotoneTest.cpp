//===- NcclMonotoneTest.cpp - Monotonicity of NCCL's model ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/NcclModel.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

/// Powers of two from 1 B to 64 GiB, their neighbours and points between.
std::vector<int64_t> makeSizes() {
  std::vector<int64_t> sizes;
  for (int exponent = 1; exponent <= 36; ++exponent) {
    int64_t power = int64_t(1) << exponent;
    for (int64_t size : {power - 1, power, power + 1, power + power / 2})
      if (sizes.empty() || size > sizes.back())
        sizes.push_back(size);
  }
  return sizes;
}

TEST(NcclMonotone, EveryKindGroupAndPreset) {
  std::vector<int64_t> sizes = makeSizes();
  const std::pair<int32_t, int32_t> groups[] = {
      {2, 8}, {3, 8}, {8, 8},  {16, 8},   {24, 8},
      {4, 1}, {2, 1}, {12, 8}, {4096, 8}, {72, 72}};
  for (llvm::StringRef name : targetPresetNames()) {
    NcclModel model(*getTargetPreset(name));
    for (CollectiveKind kind : allCollectiveKinds)
      for (auto [ranks, ranksPerNode] : groups) {
        int64_t previous = 0;
        for (int64_t bytes : sizes) {
          int64_t time =
              model.estimate({kind, bytes, ranks, ranksPerNode}).timeNs;
          ASSERT_GE(time, previous)
              << name.str() << " " << stringifyCollectiveKind(kind).str() << " "
              << bytes << " bytes, " << ranks << " ranks";
          ASSERT_GT(time, 0);
          previous = time;
        }
      }
  }
}

TEST(NcclMonotone, EveryNumberOfTensors) {
  std::vector<int64_t> sizes = makeSizes();
  const std::pair<int32_t, int32_t> groups[] = {
      {2, 8}, {8, 8}, {16, 8}, {24, 8}, {4, 1}, {2, 1}, {512, 8}};
  for (llvm::StringRef name : targetPresetNames()) {
    NcclModel model(*getTargetPreset(name));
    for (CollectiveKind kind : allCollectiveKinds)
      for (auto [ranks, ranksPerNode] : groups) {
        std::vector<int64_t> fewer(sizes.size(), 0);
        for (int32_t tensors : {1, 2, 16, 17, 25, 64, 65, 700, 100000}) {
          int64_t smaller = 0;
          for (auto [index, bytes] : llvm::enumerate(sizes)) {
            int64_t time =
                model.estimate({kind, bytes, ranks, ranksPerNode, tensors})
                    .timeNs;
            ASSERT_GE(time, smaller)
                << name.str() << " " << stringifyCollectiveKind(kind).str()
                << " " << bytes << " bytes, " << ranks << " ranks, " << tensors
                << " tensors";
            ASSERT_GE(time, fewer[index])
                << name.str() << " " << stringifyCollectiveKind(kind).str()
                << " " << bytes << " bytes, " << ranks << " ranks, " << tensors
                << " tensors";
            smaller = fewer[index] = time;
          }
        }
      }
  }
}

/// The reason for the smoothing: NCCL's own time drops where a correction ends.
TEST(NcclMonotone, NcclItselfIsNot) {
  Target target;
  target.computeCapability = 90;
  NcclModel model(target);
  auto tree = [&](int64_t bytes) {
    return *model.candidateUs({CollectiveKind::AllReduce, bytes, 8, 8},
                              NcclAlgorithm::Tree, NcclProtocol::LL);
  };
  int64_t step = int64_t(64) << 17;
  EXPECT_LT(tree(step), tree(step - 1));
}

/// Where nothing drops, the smoothed time is NCCL's.
TEST(NcclMonotone, EqualsNcclAwayFromDrops) {
  Target target;
  target.computeCapability = 90;
  target.nvls = 0;
  NcclModel model(target);
  CollectiveQuery query{CollectiveKind::AllReduce, 2048, 16, 8};
  double best = 1e9;
  for (NcclAlgorithm algorithm : {NcclAlgorithm::Tree, NcclAlgorithm::Ring})
    for (NcclProtocol protocol :
         {NcclProtocol::LL, NcclProtocol::LL128, NcclProtocol::Simple})
      best = std::min(best, *model.candidateUs(query, algorithm, protocol));
  EXPECT_NEAR(model.estimate(query).timeNs, 1000 * best, 0.5);
}

} // namespace
