//===- NcclModelTest.cpp - Tests of the model of NCCL's times -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expected times are worked out by hand from NCCL's formulas; every step
// stands beside its test.
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/NcclModel.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

constexpr int64_t gigabyte = 1000000000;

/// A Hopper node of 8 with nothing beyond NCCL's own terms.
Target makeHopper() {
  Target target;
  target.computeCapability = 90;
  target.intraChannels = 12;
  target.intraChannelGBs = 30;
  target.nvlinkGBs = 370.8;
  target.nvls = 1;
  target.nvlsEfficiency = 0.85;
  target.nicGBs = 25;
  return target;
}

using Kind = CollectiveKind;
using Algorithm = NcclAlgorithm;
using Protocol = NcclProtocol;
constexpr Kind AllGather = Kind::AllGather, AllReduce = Kind::AllReduce;
constexpr Algorithm Ring = Algorithm::Ring, Tree = Algorithm::Tree,
                    NVLS = Algorithm::NVLS, PAT = Algorithm::PAT;
constexpr Protocol LL = Protocol::LL, LL128 = Protocol::LL128,
                   Simple = Protocol::Simple;

std::optional<double> findUs(const Target &target, const CollectiveQuery &query,
                             Algorithm algorithm, Protocol protocol) {
  return NcclModel(target).candidateUs(query, algorithm, protocol);
}

void expectUs(const Target &target, const CollectiveQuery &query,
              Algorithm algorithm, Protocol protocol, double us) {
  EXPECT_NEAR(findUs(target, query, algorithm, protocol).value_or(-1), us,
              1e-4);
}

int64_t timeNs(const Target &target, const CollectiveQuery &query) {
  return NcclModel(target).estimate(query).timeNs;
}

TEST(NcclModel, RingOnOneNode) {
  Target t = makeHopper();
  // Simple: latency 8.4 + 7 * 3.4 = 32.2; rate 360 * 8 / 7.
  expectUs(t, {AllGather, gigabyte, 8, 8}, Ring, Simple, 32.2 + 2430.5556);
  // LL: 6.6 + 14 * 0.6 = 15; rate min(141, 180) * 8 / 14 = 80.5714.
  expectUs(t, {AllReduce, 65536, 8, 8}, Ring, LL, 15.0 + 0.81339);
  // LL128: 14 + 7 * 1.9 = 27.3; rate min(0.92 * 360, 12 * 36.7) * 8 / 7.
  expectUs(t, {Kind::ReduceScatter, 16777216, 8, 8}, Ring, LL128,
           27.3 + 44.3239);
  // Broadcast: 8.4 + 3.4; rate 360.
  expectUs(t, {Kind::Broadcast, gigabyte, 8, 8}, Ring, Simple,
           11.8 + 2777.7778);
}

TEST(NcclModel, TreeWithCorrection) {
  Target t = makeHopper();
  // LL at 64 KiB, bin log2(1024) = 10, factor 0.6: latency 6.8 + 2 * 7 * 0.6;
  // rate 0.92 * 360 / 3.8 * 0.5 * 0.6 = 26.1474.
  expectUs(t, {AllReduce, 65536, 8, 8}, Tree, LL, 15.2 + 2.50640);
  // LL128 at 1 MiB, bin 14, factor 0.6: 14 + 14 * 1.25 = 31.5;
  // rate 331.2 * 7 / 9 * 0.5 * 0.6 = 77.28.
  expectUs(t, {AllReduce, 1048576, 8, 8}, Tree, LL128, 31.5 + 13.5685);
}

TEST(NcclModel, TwoNodes) {
  Target t = makeHopper();
  // Tree: the NIC may be crossed at twice its 200 GB/s a node, capped by the
  // node's 360: 0.92 * 360 * 0.5 = 165.6. Latency 8.4 + 2 * (7 * 4 + 14).
  expectUs(t, {AllReduce, gigabyte, 16, 8}, Tree, Simple, 92.4 + 6038.6473);
  // Ring: (8.4 + 28 * 3.4 + 2 * 14) * 1.4; rate 200 * 16 / 30.
  expectUs(t, {AllReduce, gigabyte, 16, 8}, Ring, Simple, 184.24 + 9375);
  // Below 64 bytes for each of 16 channels and 16 ranks there is no plateau:
  // 131.6 us, and 16000 bytes at 106.667 GB/s.
  expectUs(t, {AllReduce, 16000, 16, 8}, Ring, Simple, 131.6 + 0.15);
  // An AMD host posts in 2 us, three times that for Simple:
  // (8.4 + 28 * 6 + 2 * 14) * 1.4.
  t.amdCpu = 1;
  expectUs(t, {AllReduce, gigabyte, 16, 8}, Ring, Simple, 286.16 + 9375);
  // LL is capped by the host, AMD on two nodes: 22.5; 6.6 + 28 * 2 + 2 * 2.7;
  // rate 22.5 * 16 / 30 = 12.
  expectUs(t, {AllReduce, 120000, 16, 8}, Ring, LL, 68.0 + 10);
  // The network's latency counts twice for Simple: tree 92.4 + 2 * 2 * 5.
  t.netLatencyUs = 5;
  expectUs(t, {AllReduce, gigabyte, 16, 8}, Tree, Simple, 112.4 + 6038.6473);
}

TEST(NcclModel, NvlsFamily) {
  Target t = makeHopper();
  // 370.8 / 9 = 41.2 fits channels of 40: 8 * 2 * 40 * 0.85 * 7 / 8 = 476;
  // 476 * 8 / 14 = 272.
  expectUs(t, {AllReduce, gigabyte, 8, 8}, NVLS, Simple, 25 + 3676.4706);
  // Gathers use one direction: 8 * 40 * 0.85 * (7 / 8) ^ 2 = 208.25.
  expectUs(t, {AllGather, gigabyte, 8, 8}, NVLS, Simple, 25 + 4801.9208);
  // Four nodes with 48 GB/s NICs: min(59.5, 48, 45.5) * 8 * 32 / 62;
  // latency 25 + 2 * 2 * 20.9.
  t.nicGBs = 48;
  expectUs(t, {AllReduce, gigabyte, 32, 8}, Algorithm::NVLSTree, Simple,
           108.6 + 5322.8022);
  // Eight nodes whose switches reduce: min(59.5, 48) * 8 * 64 / 126; 25 + 18.
  EXPECT_FALSE(findUs(t, {AllReduce, gigabyte, 64, 8}, NVLS, Simple));
  t.collnet = 1;
  expectUs(t, {AllReduce, gigabyte, 64, 8}, NVLS, Simple, 43 + 5126.9531);
}

TEST(NcclModel, PatNeedsOneRankANode) {
  Target t = makeHopper();
  // 0.75 * 25 = 18.75; latency 8 + 2 * 14 / 3.5 + 2.8 * 4.
  expectUs(t, {AllGather, 1000000, 4, 1}, PAT, Simple, 27.2 + 53.3333);
  EXPECT_FALSE(findUs(t, {AllGather, 1000000, 4, 2}, PAT, Simple));
  EXPECT_FALSE(findUs(t, {AllReduce, 1000000, 4, 1}, PAT, Simple));
}

TEST(NcclModel, Gating) {
  Target t = makeHopper();
  auto ll128 = [&](int32_t ranks) {
    return findUs(t, {AllReduce, 1000, ranks, 8}, Ring, LL128).has_value();
  };
  EXPECT_TRUE(ll128(8));
  EXPECT_TRUE(ll128(16));
  t.ll128Network = 0;
  EXPECT_TRUE(ll128(8));
  EXPECT_FALSE(ll128(16));
  t.nvlink = 0;
  EXPECT_FALSE(ll128(8));
  auto nvls = [&](double capability) {
    Target other = makeHopper();
    other.computeCapability = capability;
    return findUs(other, {AllReduce, 1000, 8, 8}, NVLS, Simple).has_value();
  };
  EXPECT_TRUE(nvls(100));
  EXPECT_FALSE(nvls(80));
}

TEST(NcclModel, SmallestTimeWins) {
  NcclModel model(makeHopper());
  auto winner = [&](int64_t bytes) {
    NcclEstimate e = model.estimate({AllReduce, bytes, 8, 8});
    return std::make_pair(e.algorithm, e.protocol);
  };
  EXPECT_EQ(winner(1024), std::make_pair(Ring, LL));
  EXPECT_EQ(winner(gigabyte), std::make_pair(NVLS, Simple));
  EXPECT_EQ(model.estimate({AllReduce, gigabyte, 8, 8}).timeNs, 3701471);
}

TEST(NcclModel, PointToPointAndBarrier) {
  NcclModel model(makeHopper());
  // 8.4 + 3.4 us, and 7/8 of the buffer at 360 GB/s.
  NcclEstimate e = model.estimate({Kind::AllToAll, gigabyte, 8, 8});
  EXPECT_EQ(e.timeNs, 2442356);
  EXPECT_EQ(e.algorithm, Algorithm::PointToPoint);
  // 16 ranks on two nodes: two batches of 14 us, half of the buffer over the
  // NIC: 8.4 + 28 + 20000 us.
  EXPECT_EQ(model.estimate({Kind::AllToAll, gigabyte, 16, 8}).timeNs, 20036400);
  for (CollectiveKind kind : {Kind::Permute, Kind::Send, Kind::Recv}) {
    EXPECT_EQ(model.estimate({kind, gigabyte, 8, 8}).timeNs, 2789578);
    EXPECT_EQ(model.estimate({kind, gigabyte, 16, 8}).timeNs, 40022400);
  }
  // An all_reduce of 4 bytes, whatever the query says.
  EXPECT_EQ(model.estimate({Kind::Barrier, 0, 8, 8}).timeNs, 15000);
  EXPECT_EQ(model.estimate({Kind::Barrier, gigabyte, 8, 8}).timeNs, 15000);
}

TEST(NcclModel, TermsBeyondNccl) {
  Target t = makeHopper();
  t.collectiveLaunchUs = 10;
  t.localCopyGBs = 1000;
  // 32.2 + 2430.5556 + 10 + 125 us.
  EXPECT_EQ(timeNs(t, {AllGather, gigabyte, 8, 8}), 2597756);
  t.localReduceGBs = 500;
  // 32.2 + 2430.5556 + 10 + 250 us.
  EXPECT_EQ(timeNs(t, {Kind::ReduceScatter, gigabyte, 8, 8}), 2722756);
  // NVLS reduces in the switch; the first 100 MB take twice as long:
  // 25 + 3676.4706 + 367.6471 + 10 us.
  t.fillBytes = 100000000;
  EXPECT_EQ(timeNs(t, {AllReduce, gigabyte, 8, 8}), 4079118);
}

TEST(NcclModel, NetworkFill) {
  Target t = makeHopper();
  t.nicGBs = 48;
  t.netFillBytes = 100000000;
  // Four nodes are two levels: 200 MB more at 187.871 GB/s, and the 5431.4022
  // us of the NVLS tree.
  EXPECT_EQ(timeNs(t, {AllReduce, gigabyte, 32, 8}), 6495963);
  // Point to point has one level: 22.4 us and 1.1 GB at 48 GB/s.
  EXPECT_EQ(timeNs(t, {Kind::Permute, gigabyte, 32, 8}), 22939067);
  // The network's switches reduce: nothing to fill.
  t.collnet = 1;
  EXPECT_EQ(timeNs(t, {AllReduce, gigabyte, 64, 8}), 5169953);
}

/// A channel runs its share of several tensors one after the other.
TEST(NcclModel, SeveralTensors) {
  Target t = makeHopper();
  auto ring = [&](int32_t ranks, int32_t tensors) {
    return *NcclModel(t).candidateUs({AllReduce, gigabyte, ranks, 8, tensors},
                                     Ring, Simple);
  };
  // One node: 56 us of latency, 8.4 + 14 * 3.4, for each 24 tensors; the search
  // found 12 channels, of which the library makes two each. Rate 360 * 8 / 14.
  EXPECT_EQ(ring(8, 24), ring(8, 1));
  EXPECT_NEAR(ring(8, 1), 56 + 4861.1111, 1e-3);
  EXPECT_NEAR(ring(8, 25), 2 * 56 + 4861.1111, 1e-3);
  EXPECT_NEAR(ring(8, 48), 2 * 56 + 4861.1111, 1e-3);
  EXPECT_NEAR(ring(8, 49), 3 * 56 + 4861.1111, 1e-3);
  // Two nodes: 184.24 us for each 16.
  EXPECT_EQ(ring(16, 16), ring(16, 1));
  EXPECT_NEAR(ring(16, 17), 2 * 184.24 + 9375, 1e-3);
  // The tree and NVLS take ten rounds of 24 at once.
  auto others = [&](NcclAlgorithm algorithm, int32_t tensors) {
    return *NcclModel(t).candidateUs({AllReduce, gigabyte, 8, 8, tensors},
                                     algorithm, Simple);
  };
  for (auto [algorithm, latency] :
       {std::make_pair(Tree, 8.4 + 14 * 4), std::make_pair(NVLS, 25.0)}) {
    double one = others(algorithm, 1);
    EXPECT_EQ(others(algorithm, 240), one);
    EXPECT_NEAR(others(algorithm, 241), one + latency, 1e-6);
    EXPECT_NEAR(others(algorithm, 481), one + 2 * latency, 1e-6);
  }
  // No more than 64 channels.
  t.intraChannels = 40;
  EXPECT_EQ(ring(8, 64), ring(8, 1));
  EXPECT_NEAR(ring(8, 65), ring(8, 1) + 56, 1e-6);
}

TEST(NcclModel, SeveralTensorsPointToPoint) {
  NcclModel model(makeHopper());
  auto time = [&](CollectiveKind kind, int32_t ranks, int32_t tensors) {
    return model.estimate({kind, gigabyte, ranks, 8, tensors}).timeNs;
  };
  // A hop of 3.4 us for each tensor, 8.4 us and the transfer for all.
  EXPECT_EQ(time(Kind::AllToAll, 8, 3), 2442356 + 2 * 3400);
  EXPECT_EQ(time(Kind::Permute, 8, 2), 2789578 + 3400);
  // Two batches of 14 us for each.
  EXPECT_EQ(time(Kind::AllToAll, 16, 5), 20036400 + 4 * 2 * 14000);
  EXPECT_EQ(time(Kind::Barrier, 8, 1000), 15000);
  for (CollectiveKind kind : allCollectiveKinds)
    for (int32_t none : {0, -1, std::numeric_limits<int32_t>::min()})
      EXPECT_EQ(time(kind, 16, none), time(kind, 16, 1));
}

TEST(NcclModel, NothingToDoCostsNothing) {
  for (llvm::StringRef name : targetPresetNames()) {
    NcclModel model(*getTargetPreset(name));
    for (CollectiveKind kind : allCollectiveKinds) {
      bool isAlone = !isHostTransfer(kind);
      EXPECT_EQ(model.estimate({kind, gigabyte, 1, 8}).timeNs == 0, isAlone);
      EXPECT_EQ(model.estimate({kind, gigabyte, 0, 8}).timeNs == 0, isAlone);
      bool barrier = kind == Kind::Barrier;
      EXPECT_EQ(model.estimate({kind, 0, 8, 8}).timeNs != 0, barrier);
      EXPECT_EQ(model.estimate({kind, -4, 8, 8}).timeNs != 0, barrier);
    }
  }
}

TEST(NcclModel, TransfersToTheHost) {
  Target t = *getTargetPreset("h100");
  EXPECT_EQ(t.hostGBs, 55);
  EXPECT_EQ(getTargetPreset("gh200")->hostGBs, 450);
  for (CollectiveKind kind : {Kind::Offload, Kind::Reload}) {
    auto time = [&](int64_t bytes, int32_t ranks, int32_t tensors) {
      return timeNs(t, {kind, bytes, ranks, 8, tensors});
    };
    // 55 bytes a nanosecond behind 10 us for each tensor, on any group.
    t.hostLatencyUs = 10;
    EXPECT_EQ(time(55000000, 1, 1), 1010000);
    EXPECT_EQ(time(55000000, 64, 3), 1030000);
    EXPECT_EQ(time(0, 1, 1), 0);
    EXPECT_EQ(time(std::numeric_limits<int64_t>::max(), 1, 1) > int64_t(1)
                                                                    << 57,
              true);
  }
}

TEST(NcclModel, HugeSizesSaturate) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  Target t = makeHopper();
  t.nicGBs = 1e-3;
  EXPECT_EQ(timeNs(t, {AllReduce, huge, 64, 8}), huge);
  EXPECT_GT(
      NcclModel(makeHopper())
          .estimate({AllReduce, huge, std::numeric_limits<int32_t>::max(), 8})
          .timeNs,
      0);
}

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

TEST(NcclMonotone, InBytesAndTensors) {
  std::vector<int64_t> sizes = makeSizes();
  const std::pair<int32_t, int32_t> groups[] = {
      {2, 8}, {3, 8},  {8, 8},   {16, 8},   {24, 8}, {4, 1},
      {2, 1}, {12, 8}, {512, 8}, {4096, 8}, {72, 72}};
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
            ASSERT_GE(time, std::max<int64_t>({smaller, fewer[index], 1}))
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
    return *model.candidateUs({CollectiveKind::AllReduce, bytes, 8, 8}, Tree,
                              LL);
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
  for (NcclAlgorithm algorithm : {Tree, Ring})
    for (NcclProtocol protocol : {LL, LL128, Simple})
      best = std::min(best, *model.candidateUs(query, algorithm, protocol));
  EXPECT_NEAR(model.estimate(query).timeNs, 1000 * best, 0.5);
}

} // namespace
