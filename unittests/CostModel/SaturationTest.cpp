//===- SaturationTest.cpp - Tests of saturating message sizes -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/CollectiveCost.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

constexpr CollectiveKind bucketed[] = {CollectiveKind::AllGather,
                                       CollectiveKind::ReduceScatter,
                                       CollectiveKind::AllReduce};

/// Shards over 8, 64 and 512 ranks of 8 a node, replicas of one a node, and
/// two ranks of a node.
constexpr std::pair<int32_t, int32_t> groups[] = {
    {8, 8}, {64, 8}, {512, 8}, {2, 1}, {4, 1}, {8, 1}, {2, 8}};

bool reaches(const CollectiveCost &cost, CollectiveQuery query,
             double fraction) {
  auto bandwidth = [&] {
    return static_cast<long double>(query.bytes) / cost.timeNs(query);
  };
  long double here = bandwidth();
  query.bytes = int64_t(1) << 50;
  return here >= fraction * bandwidth();
}

/// The size above the largest that falls short, by a scan in steps of a 256th.
int64_t scan(const CollectiveCost &cost, CollectiveQuery query,
             double fraction) {
  query.bytes = int64_t(1) << 42;
  int64_t best = query.bytes;
  while (query.bytes > 0 && reaches(cost, query, fraction)) {
    best = query.bytes;
    query.bytes -= std::max<int64_t>(query.bytes / 256, 1);
  }
  return best;
}

void expectScan(const CollectiveCost &cost, CollectiveQuery query,
                double fraction, llvm::StringRef what) {
  int64_t bytes = getSaturationBytes(cost, query.kind, query.ranks,
                                     query.ranksPerNode, fraction);
  int64_t scanned = scan(cost, query, fraction);
  // Beyond the step, a rounded nanosecond can tip the scale over some bytes.
  EXPECT_LE(std::abs(bytes - scanned), scanned / 256 + 10000)
      << what.str() << " " << stringifyCollectiveKind(query.kind).str() << " "
      << query.ranks << " ranks of " << query.ranksPerNode << ": " << bytes
      << ", scanned " << scanned;
  query.bytes = bytes;
  EXPECT_TRUE(reaches(cost, query, fraction));
  query.bytes = bytes - 1;
  EXPECT_FALSE(bytes > 1 && reaches(cost, query, fraction));
}

TEST(Saturation, EqualsAScan) {
  for (llvm::StringRef name : targetPresetNames())
    for (double fraction : {0.5, 0.9})
      for (CollectiveKind kind : bucketed)
        for (auto [ranks, ranksPerNode] : groups)
          expectScan(CollectiveCost(*getTargetPreset(name)),
                     {kind, 0, ranks, ranksPerNode}, fraction, name);
}

/// A latency a and a rate r: a + S / r = S / (0.9 r), so S = 9 a r, give or
/// take what half a nanosecond makes.
TEST(Saturation, LatencyAndRate) {
  Target target;
  target.computeCapability = 80;
  target.intraChannels = 10;
  target.intraChannelGBs = 10;
  target.ll128 = 0;
  // A gather over 2 on a ring of 100 GB/s carries 200 of the full buffer; LL
  // is at 87.7 and never saturates. Latency 8.4 + 3.4.
  EXPECT_NEAR(getSaturationBytes(CollectiveCost(target),
                                 CollectiveKind::AllGather, 2, 8, 0.9),
              9 * 11800 * 200, 1000);
}

TEST(Saturation, WithATable) {
  // 100 B/ns in the limit of a ring over 2, and of the last row; 80 at 1 MiB.
  auto row = [](int64_t bytes, double rate) {
    return MeasuredRow{CollectiveKind::AllGather, 2, 1, bytes,
                       std::llround(static_cast<double>(bytes) / rate)};
  };
  std::vector<MeasuredRow> rows = {
      row(1 << 16, 10), row(1 << 20, 80),  row(1 << 22, 40),
      row(1 << 24, 70), row(1 << 26, 110), row(int64_t(1) << 40, 110)};
  CollectiveCost cost(*getTargetPreset("a100"),
                      llvm::cantFail(MeasuredTable::create(rows)));
  CollectiveQuery query{CollectiveKind::AllGather, 0, 2, 8};
  // The rate that 1 MiB has is lost again at 4 MiB.
  for (double fraction : {0.05, 0.5, 0.7, 0.9})
    expectScan(cost, query, fraction, "table");
  EXPECT_GT(getSaturationBytes(cost, query.kind, 2, 8, 0.7), 1 << 22);
  EXPECT_LT(getSaturationBytes(cost, query.kind, 2, 8, 0.7), 1 << 26);
}

TEST(Saturation, GrowsWithTheFraction) {
  CollectiveCost cost(*getTargetPreset("h100"));
  for (CollectiveKind kind : allCollectiveKinds) {
    int64_t previous = 0;
    for (double fraction : {-1.0, 0.0, 0.1, 0.5, 0.9, 0.99, 1.0, 2.0}) {
      int64_t bytes = getSaturationBytes(cost, kind, 64, 8, fraction);
      EXPECT_GE(bytes, previous);
      EXPECT_LE(bytes, int64_t(1) << 50);
      previous = bytes;
    }
  }
  EXPECT_EQ(getSaturationBytes(cost, CollectiveKind::AllGather, 64, 8, 0), 1);
  EXPECT_EQ(getSaturationBytes(cost, CollectiveKind::AllGather, 64, 8,
                               std::numeric_limits<double>::quiet_NaN()),
            int64_t(1) << 50);
}

/// The table of docs/guide/cost-model.md, in MiB.
TEST(Saturation, OfH100) {
  CollectiveCost cost(*getTargetPreset("h100"));
  auto mib = [&](CollectiveKind kind, int32_t ranks, int32_t ranksPerNode) {
    return std::llround(static_cast<double>(getSaturationBytes(
                            cost, kind, ranks, ranksPerNode, 0.9)) /
                        (1 << 20));
  };
  constexpr int64_t expected[3][6] = {{149, 2683, 10958, 579, 1169, 1773},
                                      {139, 2661, 10947, 543, 1143, 1755},
                                      {181, 1986, 3906, 558, 1160, 1778}};
  for (auto [kind, row] : llvm::zip_equal(bucketed, expected))
    for (auto [group, bytes] :
         llvm::zip_equal(llvm::ArrayRef(groups).drop_back(), row))
      EXPECT_EQ(mib(kind, group.first, group.second), bytes)
          << stringifyCollectiveKind(kind).str() << " " << group.first;
}

TEST(Saturation, NothingWhereSizeMeansNothing) {
  CollectiveCost cost(*getTargetPreset("h100"));
  EXPECT_EQ(getSaturationBytes(cost, CollectiveKind::AllReduce, 1, 8, 0.9), 0);
  EXPECT_EQ(getSaturationBytes(cost, CollectiveKind::AllReduce, 0, 8, 0.9), 0);
  EXPECT_EQ(getSaturationBytes(cost, CollectiveKind::Barrier, 8, 8, 0.9), 0);
}

} // namespace
