//===- ShareableTimeTest.cpp - Times that smaller messages share ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/CollectiveCost.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <string>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

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
