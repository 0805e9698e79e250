//===- SplitScheduleTest.cpp - Schedules of split programs ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small programs whose regions are split in all ways and scheduled: the best
// way is close to the optimum over all orders and numbers of chunks.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Splitting/RegionSketch.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "ExactStep.h"
#include "TestProblems.h"
#include "ValueProgram.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Blocks of one region each, behind computation that nothing splits: gathers,
/// exchanges and scatters with products around them, and computation beside.
class BlockWriter {
public:
  explicit BlockWriter(uint64_t seed) : random(seed) {}

  ValueProgram write(int32_t numBlocks, int32_t numCollectives) {
    program.argumentBytes = {64};
    ValueId value = -1;
    for (int32_t block = 0; block < numBlocks; ++block) {
      value = compute(-1, 20 + random.below(60), {{value}});
      ValueId beside = noNode;
      if (random.percent(30))
        beside = compute(-1, 10 + random.below(60), {{value}});
      value = addRegion(block, numCollectives, value);
      std::vector<ValueOperation::Operand> operands = {{value}};
      if (beside != noNode)
        operands.push_back({beside});
      value = compute(-1, 10 + random.below(30), operands);
    }
    program.operations.back().isReturned = true;
    return program;
  }

private:
  ValueId add(ValueOperation op, int32_t region) {
    op.label = std::to_string(program.operations.size());
    op.region = region;
    op.bytes = 64;
    program.operations.push_back(op);
    return static_cast<ValueId>(program.operations.size()) - 1;
  }

  ValueId compute(int32_t region, int64_t costNs,
                  const std::vector<ValueOperation::Operand> &operands) {
    ValueOperation op;
    op.costNs = costNs;
    op.operands = operands;
    return add(op, region);
  }

  ValueId communicate(int32_t region, ValueOperation::Operand operand) {
    ValueOperation start, wait;
    start.kind = NodeKind::Start;
    start.stream = random.percent(80) ? 0 : 1;
    start.costNs = 20 + random.below(150);
    start.operands = {operand};
    wait.kind = NodeKind::Wait;
    wait.isView = true;
    wait.operands = {{add(start, region), Way::Chunk}};
    return add(wait, region);
  }

  ValueId addRegion(int32_t region, int32_t numCollectives, ValueId value) {
    Way way = random.percent(50) ? Way::Free : Way::Copied;
    if (random.percent(50)) {
      value = compute(region, 20 + random.below(100), {{value, way}});
      way = Way::Chunk;
    }
    for (int32_t i = 0; i < numCollectives; ++i) {
      value = communicate(region, {value, way});
      way = Way::Chunk;
      int64_t count = random.below(3) + (i == 0);
      for (; count > 0; --count)
        value = compute(region, 10 + random.below(150), {{value, way}});
    }
    return value;
  }

  Random random;
  ValueProgram program;
};

/// What a chunk of an operation costs and allocates.
void setChunks(ValueProgram &program, const std::vector<int32_t> &counts) {
  for (ValueOperation &op : program.operations) {
    if (op.region < 0 || op.kind == NodeKind::Wait)
      continue;
    int32_t count = counts[op.region];
    op.chunkCostNs = op.costNs / count + (op.kind == NodeKind::Start ? 4 : 1);
    op.chunkBytes = op.bytes / count;
  }
}

/// The problem with each region in a number of chunks, 1 for whole.
Problem split(ValueProgram program, const Problem &original,
              const std::vector<int32_t> &counts) {
  std::vector<int32_t> kept, numbers(counts.size(), -1);
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 1) {
      numbers[i] = static_cast<int32_t>(kept.size());
      kept.push_back(counts[i]);
    }
  setChunks(program, counts);
  for (ValueOperation &op : program.operations) {
    op.region = op.region < 0 ? -1 : numbers[op.region];
    for (ValueOperation::Operand &operand : op.operands)
      if (op.region < 0)
        operand.way = Way::Free;
  }
  SplitProblem result =
      need(SplitProblem::create(original, makeSpecs(program, kept)));
  return result.getProblem();
}

TEST(SplitSchedule, TheBestWayIsCloseToTheOptimum) {
  std::vector<double> gaps;
  // The same programs always: what is compared is a figure over all.
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ValueProgram program = BlockWriter(seed).write(1, 1 + (seed % 4 == 0));
    Problem original = program.makeProblem();
    StepSchedulerOptions options;
    options.limitBytes =
        simulateMemory(original, original.programOrder())->peakBytes *
        (100 + int64_t(seed % 3) * 20) / 100;
    int64_t bestNs = std::numeric_limits<int64_t>::max();
    int64_t optimumNs = bestNs;
    for (int32_t chunks = 1; chunks <= 3; ++chunks) {
      Problem problem = split(program, original, {chunks});
      StepSchedule found = need(scheduleStep(problem, options));
      std::optional<int64_t> exactNs =
          ExactStep(problem, options.limitBytes).find();
      ASSERT_EQ(found.fits(options.limitBytes), exactNs.has_value());
      if (!exactNs)
        continue;
      ASSERT_LE(*exactNs, found.stepNs);
      bestNs = std::min(bestNs, found.stepNs);
      optimumNs = std::min(optimumNs, *exactNs);
    }
    gaps.push_back(double(bestNs - optimumNs) / double(optimumNs));
  }
  std::sort(gaps.begin(), gaps.end());
  EXPECT_EQ(gaps[20], 0);
  EXPECT_LT(gaps[37], 0.01);
  EXPECT_LT(gaps[39], 0.03);
}

} // namespace
