//===- SaturationTest.cpp - Tests of sizes and shares of messages ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/CollectiveCost.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <string>

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

constexpr CollectiveKind sharedKinds[] = {
    CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
    CollectiveKind::AllReduce, CollectiveKind::AllToAll,
    CollectiveKind::Broadcast, CollectiveKind::Permute,
    CollectiveKind::Offload};

constexpr std::pair<int32_t, int32_t> sharingGroups[] = {
    {2, 8}, {6, 8}, {8, 8}, {16, 8}, {24, 8}, {2, 1}, {8, 1}, {72, 72}};

/// Sizes up to `most`, among them `most`, its half and those beside them.
std::vector<int64_t> listSizes(int64_t most) {
  std::vector<int64_t> sizes = {most, most - 1, most / 2 + 1, most / 2};
  for (int64_t size = most; size > 0; size -= size / 7 + 1)
    sizes.push_back(size);
  llvm::erase_if(sizes, [](int64_t size) { return size <= 0; });
  return sizes;
}

/// Returns how many of the sizes were looked at.
int expectShares(const CollectiveCost &cost, CollectiveQuery most,
                 const std::string &what) {
  int count = 0;
  double share = cost.getShareableNs(most) / static_cast<double>(most.bytes);
  for (int64_t size : listSizes(most.bytes))
    for (int32_t tensors : {1, 2, 40}) {
      CollectiveQuery query = most;
      query.bytes = size;
      query.tensors = tensors;
      double least = share * static_cast<double>(size);
      EXPECT_GE(static_cast<double>(cost.timeNs(query)) + 0.5,
                least * (1 - 1e-12))
          << what << " " << stringifyCollectiveKind(query.kind).str() << " of "
          << query.ranks << " ranks, " << size << " of " << most.bytes
          << " bytes in " << tensors << " tensors";
      ++count;
    }
  return count;
}

void expectShares(const CollectiveCost &cost, const std::string &what,
                  int32_t implementation = 0) {
  for (CollectiveKind kind : sharedKinds)
    for (auto [ranks, ranksPerNode] : sharingGroups)
      for (int exponent : {4, 12, 17, 21, 24, 28, 33, 40}) {
        CollectiveQuery most{kind, (int64_t(1) << exponent) + 3 * exponent,
                             ranks, ranksPerNode};
        most.implementation = implementation;
        EXPECT_GT(expectShares(cost, most, what), 10);
      }
}

TEST(ShareableTime, NoMessageTakesLessThanItsShare) {
  for (llvm::StringRef name : targetPresetNames())
    expectShares(CollectiveCost(*getTargetPreset(name)), name.str());
}

/// Times without a latency are rounded to nanoseconds and nothing else.
TEST(ShareableTime, WithoutLatencies) {
  llvm::Expected<Implementations> fast = Implementations::parse(
      *llvm::json::parse(R"({"fast": {"method": "symmetric", "latency_us": 0,
                             "bandwidth_gb_s": 3.1}})"));
  ASSERT_TRUE(bool(fast));
  Target target;
  target.implementations.add(*fast);
  CollectiveCost cost(target);
  expectShares(cost, "linear", /*implementation=*/1);
  CollectiveQuery query{CollectiveKind::AllGather, 1 << 30, 8, 8};
  query.implementation = 1;
  EXPECT_GE(cost.getShareableNs(query),
            static_cast<double>(cost.timeNs(query) - 2));
}

/// Rows with dips, steps and a bandwidth that falls.
TEST(ShareableTime, Tables) {
  for (CollectiveKind kind : sharedKinds) {
    std::vector<MeasuredRow> rows;
    for (int32_t ranks : {4, 8, 16})
      for (auto [bytes, timeNs] :
           std::initializer_list<std::pair<int64_t, int64_t>>{
               {1 << 10, 9000},
               {1 << 14, 9100},
               {1 << 15, 40000},
               {1 << 18, 41000},
               {1 << 22, 90000},
               {1 << 25, 3000000}})
        rows.push_back({kind, ranks, ranks > 8 ? 2 : 1, bytes, timeNs * ranks});
    llvm::Expected<MeasuredTable> table = MeasuredTable::create(rows);
    ASSERT_TRUE(bool(table));
    expectShares(CollectiveCost(*getTargetPreset("h100"), *table), "table");
  }
}

/// One launch of all bytes takes hardly more: exactly so for a ring in one
/// node, and where nothing but bandwidth is left.
TEST(ShareableTime, IsCloseToOneLaunch) {
  for (llvm::StringRef name : targetPresetNames()) {
    CollectiveCost cost(*getTargetPreset(name));
    for (CollectiveKind kind : sharedKinds)
      for (auto [ranks, ranksPerNode] : sharingGroups)
        for (int exponent : {10, 20, 24, 30, 40}) {
          CollectiveQuery most{kind, int64_t(1) << exponent, ranks,
                               ranksPerNode};
          double launch = static_cast<double>(cost.timeNs(most));
          double least = cost.getShareableNs(most);
          bool isCorrected = kind == CollectiveKind::AllReduce && exponent < 40;
          EXPECT_GE(least, launch * (isCorrected ? 0.4 : 0.9999) - 2)
              << name.str() << " " << stringifyCollectiveKind(kind).str()
              << " of " << ranks << " ranks, 2^" << exponent << " bytes";
          EXPECT_LE(least, launch);
        }
  }
}

TEST(ShareableTime, NothingIsShared) {
  CollectiveCost cost(*getTargetPreset("h100"));
  EXPECT_EQ(cost.getShareableNs({CollectiveKind::AllGather, 1 << 20, 1, 8}), 0);
  EXPECT_EQ(cost.getShareableNs({CollectiveKind::AllGather, 0, 8, 8}), 0);
}

} // namespace
