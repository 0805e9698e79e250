//===- BucketCostsTest.cpp - Tests of the costs of buckets ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The members of a bucket are priced, then merged: the estimate must be what
// the operations cost that the merge has made.
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/BucketCosts.h"

#include "Bucketing/MergeCollectives.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CostsTest.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::commsched;

using cost::MeasuredTable;
using schedule::BucketCost;

namespace {

class BucketCosts : public CostsTest {
protected:
  BucketCosts() { context.allowUnregisteredDialects(); }

  /// Parses the body of a function; @dp is eight nodes of 8.
  void parse(StringRef body) {
    ASSERT_NO_FATAL_FAILURE(
        parseFunction("dp size(64) ranks_per_node(8)", body));
    module->walk([&](CollectiveOpInterface collective) {
      members.push_back(collective);
    });
    ASSERT_GE(members.size(), 2u);
  }

  /// Merges the members and adds up what is new before the start, the start,
  /// and what is new after it.
  BucketCost merge(OperationCosts &costs, BucketMode mode) {
    DenseSet<Operation *> old;
    Block *block = members.front()->getBlock();
    for (Operation &op : *block)
      old.insert(&op);
    IRRewriter rewriter(&context);
    Operation *start =
        mergeCollectives(rewriter, members, mode, /*multiDtype=*/true).start;
    EXPECT_TRUE(succeeded(verify(*module)));
    BucketCost cost;
    for (Operation &op : *block) {
      if (old.contains(&op))
        continue;
      int64_t &part = &op == start                ? cost.collectiveNs
                      : op.isBeforeInBlock(start) ? cost.copyInNs
                                                  : cost.copyOutNs;
      part += costs.getRuntimeNs(&op);
    }
    return cost;
  }

  /// Returns the estimate, having compared it with the merge.
  BucketCost expectAgreement(BucketMode mode,
                             const MeasuredTable *profile = nullptr) {
    for (CollectiveOpInterface member : members)
      EXPECT_EQ(getUnmergeableReason(member, mode), std::nullopt);
    OperationCosts costs = makeCosts(profile);
    SmallVector<Operation *> casts = getAbsorbedCasts(members, mode);
    std::optional<BucketCost> estimate =
        estimateBucket(costs, members, mode, casts);
    if (!estimate) {
      ADD_FAILURE() << "no estimate";
      return {};
    }
    BucketCost merged = merge(costs, mode);
    EXPECT_EQ(estimate->copyInNs, merged.copyInNs);
    EXPECT_EQ(estimate->collectiveNs, merged.collectiveNs);
    EXPECT_EQ(estimate->copyOutNs, merged.copyOutNs);
    EXPECT_TRUE(estimate->absorbed.empty());
    return *estimate;
  }

  SmallVector<CollectiveOpInterface> members;
};

/// A cast that is absorbed, one with another user, and none.
constexpr StringRef gathers = R"(
    %a: tensor<512x4096xf32>, %b: tensor<32x48xf32>, %c: tensor<256x9xbf16>) {
  %x = arith.truncf %a : tensor<512x4096xf32> to tensor<512x4096xbf16>
  %y = arith.truncf %b : tensor<32x48xf32> to tensor<32x48xbf16>
  "test.use"(%y) : (tensor<32x48xbf16>) -> ()
  %fx = commsched.all_gather %x on @dp dim(0)
      : tensor<512x4096xbf16> -> !commsched.future<tensor<32768x4096xbf16>>
  %fy = commsched.all_gather %y on @dp dim(0)
      : tensor<32x48xbf16> -> !commsched.future<tensor<2048x48xbf16>>
  %fc = commsched.all_gather %c on @dp dim(0)
      : tensor<256x9xbf16> -> !commsched.future<tensor<16384x9xbf16>>
  commsched.wait %fx : !commsched.future<tensor<32768x4096xbf16>>
  commsched.wait %fy : !commsched.future<tensor<2048x48xbf16>>
  commsched.wait %fc : !commsched.future<tensor<16384x9xbf16>>
)";

TEST_F(BucketCosts, ProfiledGathers) {
  parse(gathers);
  auto profile = llvm::cantFail(MeasuredTable::create(
      {{CollectiveKind::AllGather, 64, 8, 1 << 20, 100000},
       {CollectiveKind::AllGather, 64, 8, 1 << 30, 900000}}));
  BucketCost cost = expectAgreement(BucketMode::Copy, &profile);
  EXPECT_GT(cost.collectiveNs, 100000);
  EXPECT_LT(cost.collectiveNs, 900000);
}

/// A kernel for each member copies out, and the cast of one stays what it was.
TEST_F(BucketCosts, SeparatelyCopiedGathers) {
  parse(gathers);
  OperationCosts costs = makeCosts();
  int64_t togetherNs =
      estimateBucket(costs, members, BucketMode::Copy)->copyOutNs;
  (*module)->setAttr(separateCopiesAttrName, UnitAttr::get(&context));
  EXPECT_TRUE(getAbsorbedCasts(members, BucketMode::Copy).empty());
  BucketCost cost = expectAgreement(BucketMode::Copy);
  EXPECT_EQ(cost.copyOutNs, togetherNs + 2 * costs.getTarget().kernelLaunchNs);
}

/// Two that widen first, the second from an element type of that name.
std::string makeCastScatters(StringRef element) {
  std::string b = "tensor<128x6x" + element.str() + ">";
  return "%a: tensor<64x4096xbf16>, %b: " + b + R"() {
  %x = arith.extf %a : tensor<64x4096xbf16> to tensor<64x4096xf32>
  %y = arith.extf %b : )" +
         b + R"( to tensor<128x6xf32>
  %fx = commsched.reduce_scatter %x on @dp reduction(sum) dim(0)
      : tensor<64x4096xf32> -> !commsched.future<tensor<1x4096xf32>>
  %fy = commsched.reduce_scatter %y on @dp reduction(sum) dim(0)
      : tensor<128x6xf32> -> !commsched.future<tensor<2x6xf32>>
  commsched.wait %fx : !commsched.future<tensor<1x4096xf32>>
  commsched.wait %fy : !commsched.future<tensor<2x6xf32>>
)";
}

/// What is packed by one kernel is converted by another.
TEST_F(BucketCosts, SeparatelyPackedReduceScatters) {
  parse(makeCastScatters("bf16"));
  OperationCosts costs = makeCosts();
  SmallVector<Operation *> casts = getAbsorbedCasts(members, BucketMode::Copy);
  int64_t togetherNs =
      estimateBucket(costs, members, BucketMode::Copy, casts)->copyInNs;
  (*module)->setAttr(separateCopiesAttrName, UnitAttr::get(&context));
  EXPECT_EQ(getAbsorbedCasts(members, BucketMode::Copy), casts);
  BucketCost cost = expectAgreement(BucketMode::Copy);
  EXPECT_GT(cost.copyInNs, togetherNs + costs.getTarget().kernelLaunchNs);
}

/// No kernel converts what two types are packed in.
TEST_F(BucketCosts, SeparatelyPackedReduceScattersOfTwoTypes) {
  parse(makeCastScatters("f16"));
  EXPECT_EQ(getAbsorbedCasts(members, BucketMode::Copy).size(), 2u);
  (*module)->setAttr(separateCopiesAttrName, UnitAttr::get(&context));
  EXPECT_TRUE(getAbsorbedCasts(members, BucketMode::Copy).empty());
  expectAgreement(BucketMode::Copy);
}

/// So many that channels take a second turn.
TEST_F(BucketCosts, ManyCoalescedReduceScatters) {
  std::string body = "%a: tensor<64xbf16>) {\n", waits;
  for (int i = 0; i < 33; ++i) {
    std::string future = "%f" + std::to_string(i);
    body += future + R"( = commsched.reduce_scatter %a on @dp reduction(sum)
        dim(0) : tensor<64xbf16> -> !commsched.future<tensor<1xbf16>>
    )";
    waits +=
        "commsched.wait " + future + " : !commsched.future<tensor<1xbf16>>\n";
  }
  parse(body + waits);
  OperationCosts costs = makeCosts();
  int64_t copiedNs =
      estimateBucket(costs, members, BucketMode::Copy)->collectiveNs;
  EXPECT_GT(expectAgreement(BucketMode::Coalesced).collectiveNs, copiedNs);
}

/// Pins say how far the estimates are off.
TEST_F(BucketCosts, PinnedMembers) {
  parse(gathers);
  OperationCosts costs = makeCosts();
  int64_t estimatedNs =
      estimateBucket(costs, members, BucketMode::Copy)->collectiveNs;
  EXPECT_FALSE(hasKnownMember(costs, members));
  auto pin = [&](CollectiveOpInterface member, int64_t timeNs) {
    member->setDiscardableAttr(runtimeNsAttrName,
                               Builder(&context).getI64IntegerAttr(timeNs));
  };
  auto estimate = [&] {
    return estimateBucket(costs, members, BucketMode::Copy)->collectiveNs;
  };
  for (CollectiveOpInterface member : members)
    pin(member, 3 * costs.estimateCollective(member)->timeNs);
  EXPECT_TRUE(hasKnownMember(costs, members));
  EXPECT_EQ(estimate(), 3 * estimatedNs);

  // Never shorter than the longest member, and 0 if all are.
  for (CollectiveOpInterface member : members)
    pin(member, 0);
  EXPECT_EQ(estimate(), 0);
  pin(members.back(), 1'000'000'000);
  EXPECT_GE(estimate(), 1'000'000'000);

  // One of them counts for the others.
  members.front()->removeDiscardableAttr(runtimeNsAttrName);
  members.back()->removeDiscardableAttr(runtimeNsAttrName);
  EXPECT_LT(estimate(), estimatedNs);
  EXPECT_GT(estimate(), 0);
}

TEST_F(BucketCosts, NoneForUnknownSizes) {
  parse(R"(%a: tensor<64xbf16>, %b: tensor<?xbf16>) {
  %fa = commsched.all_gather %a on @dp dim(0)
      : tensor<64xbf16> -> !commsched.future<tensor<4096xbf16>>
  %fb = commsched.all_gather %b on @dp dim(0)
      : tensor<?xbf16> -> !commsched.future<tensor<?xbf16>>
  commsched.wait %fa : !commsched.future<tensor<4096xbf16>>
  commsched.wait %fb : !commsched.future<tensor<?xbf16>>
  )");
  OperationCosts costs = makeCosts();
  for (BucketMode mode : {BucketMode::Copy, BucketMode::Coalesced}) {
    EXPECT_FALSE(estimateBucket(costs, members, mode));
    std::swap(members.front(), members.back());
    EXPECT_FALSE(estimateBucket(costs, members, mode));
  }
}

TEST_F(BucketCosts, NoneForSumsThatDoNotFit) {
  parse(R"(%a: tensor<70000000000000000xi8>) {
  %fa = commsched.all_gather %a on @dp dim(0) : tensor<70000000000000000xi8>
      -> !commsched.future<tensor<4480000000000000000xi8>>
  %fb = commsched.all_gather %a on @dp dim(0) : tensor<70000000000000000xi8>
      -> !commsched.future<tensor<4480000000000000000xi8>>
  commsched.wait %fa : !commsched.future<tensor<4480000000000000000xi8>>
  commsched.wait %fb : !commsched.future<tensor<4480000000000000000xi8>>
  )");
  OperationCosts costs = makeCosts();
  // The launch of both fits; what their copy-out moves does not.
  EXPECT_TRUE(estimateBucket(costs, members, BucketMode::Coalesced));
  EXPECT_FALSE(estimateBucket(costs, members, BucketMode::Copy));
  members.push_back(members.front());
  EXPECT_FALSE(estimateBucket(costs, members, BucketMode::Coalesced));
}

} // namespace
