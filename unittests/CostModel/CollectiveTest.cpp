//===- CollectiveTest.cpp - Tests of collective kinds ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Collective.h"

#include "gtest/gtest.h"

#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

TEST(Collective, NamesRoundTrip) {
  for (CollectiveKind kind : allCollectiveKinds)
    EXPECT_EQ(symbolizeCollectiveKind(stringifyCollectiveKind(kind)), kind);
  EXPECT_EQ(stringifyCollectiveKind(CollectiveKind::AllToAll), "all_to_all");
  EXPECT_EQ(symbolizeCollectiveKind("allreduce"), std::nullopt);
  EXPECT_EQ(symbolizeCollectiveKind(""), std::nullopt);
}

TEST(Collective, NodesRoundUp) {
  auto nodes = [](int32_t ranks, int32_t ranksPerNode) {
    return CollectiveQuery{CollectiveKind::AllReduce, 0, ranks, ranksPerNode}
        .nodes();
  };
  EXPECT_EQ(nodes(1, 8), 1);
  EXPECT_EQ(nodes(8, 8), 1);
  EXPECT_EQ(nodes(9, 8), 2);
  EXPECT_EQ(nodes(64, 8), 8);
  EXPECT_EQ(nodes(4, 1), 4);
  EXPECT_EQ(nodes(4, 0), 1);
  EXPECT_EQ(nodes(std::numeric_limits<int32_t>::max(), 2), 1 << 30);
}

} // namespace
