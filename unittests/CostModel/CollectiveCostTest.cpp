//===- CollectiveCostTest.cpp - Tests of the times of collectives ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/CollectiveCost.h"
#include "CommSched/CostModel/Collective.h"
#include "gtest/gtest.h"

#include <limits>
#include <random>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

constexpr CollectiveKind reduce = CollectiveKind::AllReduce;

MeasuredTable makeTable(std::vector<MeasuredRow> rows) {
  return llvm::cantFail(MeasuredTable::create(std::move(rows)));
}

Target h100() { return *getTargetPreset("h100"); }

TEST(CollectiveCost, IsThatOfTheRows) {
  std::vector<MeasuredRow> rows = {
      {reduce, 8, 1, 1, 800},
      {reduce, 8, 1, 1024, 20000},
      {reduce, 8, 1, 65536, 30000},
      {reduce, 8, 1, 1 << 20, 90000},
      {reduce, 16, 2, 1024, 60000},
      {CollectiveKind::Barrier, 8, 1, 0, 12345},
      {CollectiveKind::Offload, 1, 1, 1 << 20, 40000},
      {CollectiveKind::Offload, 1, 1, 1 << 22, 100000},
      {CollectiveKind::Reload, 1, 1, 1 << 20, 30000}};
  CollectiveCost cost(h100(), makeTable(rows));
  for (const MeasuredRow &row : rows)
    EXPECT_EQ(
        cost.timeNs({row.kind, row.bytes, row.ranks, row.ranks / row.nodes}),
        row.timeNs);
  EXPECT_EQ(cost.timeNs({CollectiveKind::Barrier, 999, 8, 8}), 12345);
  // Beyond the end the model's shape.
  EXPECT_GT(cost.timeNs({CollectiveKind::Reload, 1 << 24, 1, 1}), 300000);
  // Nothing to move is free, and so is a group of one.
  EXPECT_EQ(cost.timeNs({reduce, 0, 8, 8}), 0);
  EXPECT_EQ(cost.timeNs({reduce, -1, 8, 8}), 0);
  CollectiveCost alone(h100(), makeTable({{reduce, 1, 1, 1024, 777}}));
  EXPECT_EQ(alone.timeNs({reduce, 1024, 1, 8}), 0);
}

TEST(CollectiveCost, FallsBackToTheModel) {
  CollectiveCost plain(h100());
  CollectiveCost cost(h100(), makeTable({{reduce, 8, 1, 1024, 1}}));
  const CollectiveQuery strangers[] = {
      {CollectiveKind::AllGather, 1024, 8, 8}, // another collective
      {reduce, 1024, 16, 8},                   // another number of nodes
      {reduce, 1024, 4, 8}};                   // outside the rank counts
  for (const CollectiveQuery &query : strangers) {
    EXPECT_EQ(cost.tableTimeNs(query), std::nullopt);
    EXPECT_EQ(cost.timeNs(query), plain.timeNs(query));
    EXPECT_EQ(cost.timeNs(query), cost.getModel().estimate(query).timeNs);
  }
}

TEST(CollectiveCost, ContinuousAtBothEnds) {
  CollectiveCost cost(h100(), makeTable({{reduce, 8, 1, 1 << 20, 500000},
                                         {reduce, 8, 1, 1 << 24, 900000}}));
  EXPECT_NEAR(cost.timeNs({reduce, (1 << 24) + 1, 8, 8}), 900000, 2);
  EXPECT_NEAR(cost.timeNs({reduce, (1 << 20) - 1, 8, 8}), 500000, 2);
  // Beyond an end the model's ratio holds.
  const NcclModel &model = cost.getModel();
  double ratio =
      static_cast<double>(model.estimate({reduce, 1 << 28, 8, 8}).timeNs) /
      model.estimate({reduce, 1 << 24, 8, 8}).timeNs;
  EXPECT_NEAR(cost.timeNs({reduce, 1 << 28, 8, 8}), 900000 * ratio, 1);
}

TEST(CollectiveCost, InterpolatesBetweenRankCounts) {
  CollectiveCost cost(h100(), makeTable({{reduce, 2, 1, 1024, 1000},
                                         {reduce, 8, 1, 1024, 4000},
                                         {reduce, 16, 2, 1024, 9000},
                                         {reduce, 64, 8, 1024, 36000},
                                         {reduce, 8, 8, 1024, 1}}));
  // 4 is halfway from 2 to 8, 2000 halfway from 1000 to 4000, on log axes.
  EXPECT_EQ(cost.timeNs({reduce, 1024, 4, 8}), 2000);
  // Four nodes of eight lie between two and eight nodes of eight; the group of
  // one rank a node is no neighbour.
  EXPECT_EQ(cost.timeNs({reduce, 1024, 32, 8}), 18000);
  // Four ranks a node have no curve.
  EXPECT_EQ(cost.tableTimeNs({reduce, 1024, 32, 4}), std::nullopt);
}

TEST(CollectiveCost, RowsMeasureSingleTensors) {
  std::vector<MeasuredRow> rows = {{reduce, 8, 1, 1024, 20000},
                                   {reduce, 8, 1, 65536, 30000},
                                   {reduce, 16, 2, 1024, 60000}};
  CollectiveCost cost(h100(), makeTable(rows));
  const NcclModel &model = cost.getModel();
  for (int64_t bytes : {1, 1024, 3000, 65536, 1 << 30}) {
    int64_t one = cost.timeNs({reduce, bytes, 8, 8});
    EXPECT_EQ(cost.timeNs({reduce, bytes, 8, 8, 24}), one);
    EXPECT_EQ(cost.timeNs({reduce, bytes, 8, 8, 60}) - one,
              model.estimate({reduce, 1, 8, 8, 60}).timeNs -
                  model.estimate({reduce, 1, 8, 8, 1}).timeNs);
    EXPECT_GT(cost.timeNs({reduce, bytes, 8, 8, 60}), one);
  }
  EXPECT_EQ(cost.tableTimeNs({reduce, 1024, 1, 8, 60}), std::nullopt);
  EXPECT_EQ(cost.timeNs({reduce, 0, 8, 8, 60}), 0);
}

TEST(CollectiveCost, MonotoneOverNoisyRows) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int64_t> time(1, 1000000);
  for (int round = 0; round < 50; ++round) {
    std::vector<MeasuredRow> rows;
    for (int32_t ranks : {2, 8})
      for (int exponent = 4; exponent < 24; exponent += 3)
        rows.push_back(
            {reduce, ranks, 1, int64_t(1) << exponent, time(random)});
    CollectiveCost cost(h100(), makeTable(rows));
    for (int32_t ranks : {2, 4, 8})
      for (int32_t tensors : {1, 100}) {
        int64_t previous = 0;
        for (double bytes = 1; bytes < 1e9; bytes *= 1.37) {
          int64_t now = cost.timeNs(
              {reduce, static_cast<int64_t>(bytes), ranks, 8, tensors});
          ASSERT_GE(now, previous) << "round " << round << " bytes " << bytes;
          previous = now;
        }
      }
  }
}

TEST(CollectiveCost, HugeSizesSaturate) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  CollectiveCost cost(h100(), makeTable({{reduce, 8, 1, 8, huge}}));
  EXPECT_EQ(cost.timeNs({reduce, 8, 8, 8}), huge);
  EXPECT_EQ(cost.timeNs({reduce, huge, 8, 8}), huge);
  EXPECT_EQ(cost.timeNs({reduce, huge, 8, 8, 1000}), huge);
}

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
