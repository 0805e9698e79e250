//===- CachingAllocatorTest.cpp - Tests of the allocator's model ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Allocator/CachingAllocator.h"
#include "TestProblems.h"

#include <chrono>

using namespace mlir::commsched::schedule::testing;

namespace {

/// The rules of docs/guide/allocator.md over plain lists of blocks, each search
/// a loop over all of them.
class ReferenceAllocator {
public:
  static constexpr int64_t mib = int64_t(1) << 20;

  explicit ReferenceAllocator(bool isExpandable) : isExpandable(isExpandable) {}

  /// Returns the address in the pool; `tag` names the block.
  int64_t allocate(int32_t tag, int64_t bytes, int64_t nowNs) {
    for (Segment &segment : segments)
      for (Block &block : segment.blocks)
        if (block.state == State::Draining && block.untilNs <= nowNs)
          block.state = State::Free;
    for (Segment &segment : segments)
      merge(segment);
    int64_t size = (bytes + 511) / 512 * 512;
    bool isSmall = size <= mib;
    Place place = findBest(isSmall, size);
    if (place.segment < 0)
      place = reserve(isSmall, size);
    return take(place, tag, size);
  }

  void free(int32_t tag, int64_t untilNs) {
    for (Segment &segment : segments)
      for (Block &block : segment.blocks)
        if (block.state == State::Used && block.tag == tag) {
          block.state = untilNs < 0 ? State::Free : State::Draining;
          block.untilNs = untilNs;
        }
    for (Segment &segment : segments)
      merge(segment);
  }

  int64_t reservedBytes() const {
    int64_t sum = 0;
    for (const Segment &segment : segments)
      for (const Block &block : segment.blocks)
        sum += block.bytes;
    return sum;
  }

private:
  enum class State { Free, Used, Draining };
  struct Block {
    int64_t bytes;
    State state;
    int32_t tag;
    int64_t untilNs;
  };
  struct Segment {
    bool isSmall;
    int64_t address;
    std::vector<Block> blocks;
  };
  struct Place {
    int32_t segment = -1;
    size_t block = 0;
  };

  static void merge(Segment &segment) {
    std::vector<Block> merged;
    for (const Block &block : segment.blocks)
      if (!merged.empty() && block.state == State::Free &&
          merged.back().state == State::Free)
        merged.back().bytes += block.bytes;
      else
        merged.push_back(block);
    segment.blocks = std::move(merged);
  }

  /// What counts as the size of a block: the last of an expandable segment can
  /// grow to any size.
  int64_t effectiveBytes(const Segment &segment, size_t block) const {
    bool canGrow = isExpandable && block + 1 == segment.blocks.size();
    return canGrow ? int64_t(1) << 60 : segment.blocks[block].bytes;
  }

  Place findBest(bool isSmall, int64_t size) const {
    Place best;
    int64_t bestBytes = 0;
    // In order of addresses, so that the first of equal ones stays.
    for (size_t i = 0; i < segments.size(); ++i)
      for (size_t j = 0; j < segments[i].blocks.size(); ++j) {
        const Block &block = segments[i].blocks[j];
        if (segments[i].isSmall != isSmall || block.state != State::Free ||
            block.bytes < size)
          continue;
        int64_t bytes = effectiveBytes(segments[i], j);
        if (best.segment >= 0 && bytes >= bestBytes)
          continue;
        best = {static_cast<int32_t>(i), j};
        bestBytes = bytes;
      }
    return best;
  }

  Place reserve(bool isSmall, int64_t size) {
    if (!isExpandable) {
      int64_t bytes = isSmall ? 2 * mib
                      : size < 10 * mib
                          ? 20 * mib
                          : (size + 2 * mib - 1) / (2 * mib) * 2 * mib;
      int64_t address = 0;
      for (const Segment &segment : segments)
        if (segment.isSmall == isSmall)
          for (const Block &block : segment.blocks)
            address += block.bytes;
      segments.push_back({isSmall, address, {{bytes, State::Free, -1, 0}}});
      return {static_cast<int32_t>(segments.size()) - 1, 0};
    }
    int32_t index = -1;
    for (size_t i = 0; i < segments.size(); ++i)
      if (segments[i].isSmall == isSmall)
        index = static_cast<int32_t>(i);
    if (index < 0) {
      index = static_cast<int32_t>(segments.size());
      segments.push_back({isSmall, 0, {}});
    }
    std::vector<Block> &blocks = segments[index].blocks;
    if (blocks.empty() || blocks.back().state != State::Free)
      blocks.push_back({0, State::Free, -1, 0});
    while (blocks.back().bytes < size)
      blocks.back().bytes += isSmall ? 2 * mib : 20 * mib;
    return {index, blocks.size() - 1};
  }

  int64_t take(Place place, int32_t tag, int64_t size) {
    Segment &segment = segments[place.segment];
    int64_t address = segment.address;
    for (size_t j = 0; j < place.block; ++j)
      address += segment.blocks[j].bytes;
    int64_t rest = segment.blocks[place.block].bytes - size;
    bool isSplit = segment.isSmall || isExpandable ? rest >= 512 : rest > mib;
    segment.blocks[place.block].state = State::Used;
    segment.blocks[place.block].tag = tag;
    if (isSplit) {
      segment.blocks[place.block].bytes = size;
      segment.blocks.insert(segment.blocks.begin() + place.block + 1,
                            {rest, State::Free, -1, 0});
    }
    return address;
  }

  bool isExpandable;
  std::vector<Segment> segments;
};

} // namespace

static constexpr int64_t kib = 1024, mib = 1024 * kib;

/// A size from the ranges that the rules tell apart, or one of a few that come
/// again and again.
static int64_t drawBytes(std::mt19937_64 &random) {
  auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % (most - least + 1));
  };
  switch (random() % 6) {
  case 0:
    return draw(1, 4 * kib);
  case 1:
    return draw(mib - 2 * kib, mib + 2 * kib);
  case 2:
    return draw(1, 2 * mib);
  case 3:
    return draw(9, 11) * mib + draw(-1, 1);
  case 4:
    return draw(1, 40) * mib;
  default:
    return draw(mib, 60 * mib);
  }
}

TEST(CachingAllocator, EqualsTheReference) {
  for (uint64_t seed : Seeds(2000)) {
    std::mt19937_64 random(seed);
    bool isExpandable = seed % 2 == 1;
    CachingAllocator allocator(isExpandable ? SegmentKind::Expandable
                                            : SegmentKind::Fixed);
    ReferenceAllocator reference(isExpandable);
    struct Used {
      CachingAllocator::BlockId block;
      int32_t tag;
    };
    std::vector<Used> used;
    int64_t nowNs = 0;
    int32_t length = 10 + static_cast<int32_t>(random() % 60);
    for (int32_t step = 0; step < length; ++step) {
      nowNs += static_cast<int64_t>(random() % 4);
      if (used.empty() || random() % 9 < 5) {
        int64_t bytes = drawBytes(random);
        CachingAllocator::BlockId block = allocator.allocate(bytes, nowNs);
        int64_t address = reference.allocate(step, bytes, nowNs);
        ASSERT_EQ(allocator.address(block), address) << step;
        used.push_back({block, step});
      } else {
        std::swap(used[random() % used.size()], used.back());
        int64_t untilNs =
            random() % 3 == 0 ? nowNs + static_cast<int64_t>(random() % 9) : -1;
        if (untilNs < 0)
          allocator.free(used.back().block);
        else
          allocator.freeAfter(used.back().block, untilNs);
        reference.free(used.back().tag, untilNs);
        used.pop_back();
      }
      ASSERT_EQ(allocator.reservedBytes(), reference.reservedBytes());
    }
  }
}

static Result<ReservedMemory> replay(const Problem &problem, const Order &order,
                                     SegmentKind kind = SegmentKind::Fixed) {
  return replayAllocations(problem, order, *simulate(problem, order), kind);
}

TEST(ReservedMemory, AllocatesWhatIsLiveFromTheStartFirst) {
  TextProblem problem("a = 10 -> 3145728; b = arg 12582912!; c = arg 0!");
  ReservedMemory memory = need(replay(problem, {0}));
  EXPECT_EQ(memory.reservedBytes, 32 * mib);
  EXPECT_EQ(memory.fragmentationBytes, 17 * mib);
}

TEST(ReservedMemory, KeepsWhatACollectiveInFlightUses) {
  // The collective delivers to a buffer that nobody reads, so it is freed while
  // the collective is in flight.
  auto reserve = [](const std::string &computeNs) {
    Problem problem = TextProblem("s = start 100; a = " + computeNs +
                                  "; b = 10 a -> 16777216; wait s");
    problem.addBuffer(16 * mib, 0, /*freed=*/true);
    problem.finalize();
    return replay(problem, problem.programOrder())->reservedBytes;
  };
  EXPECT_EQ(reserve("99"), 32 * mib);
  EXPECT_EQ(reserve("100"), 16 * mib);
}

TEST(ReservedMemory, IsNeverBelowTheLiveBytes) {
  RandomProblemOptions options;
  for (uint64_t seed : Seeds(300)) {
    Problem problem = makeRandomProblem(seed, options);
    Order order = makeRandomOrder(seed, problem);
    for (SegmentKind kind : {SegmentKind::Fixed, SegmentKind::Expandable}) {
      ReservedMemory memory = need(replay(problem, order, kind));
      EXPECT_GE(memory.fragmentationBytes, 0);
    }
  }
}

TEST(ReservedMemory, RefusesSizesThatDoNotFit) {
  Problem problem;
  problem.addBuffer(std::numeric_limits<int64_t>::max() - mib, noNode, false);
  ASSERT_TRUE(problem.finalize());
  Result<ReservedMemory> memory = replay(problem, {});
  ASSERT_FALSE(memory);
  EXPECT_NE(memory.error().find("do not fit 64 bits"), std::string::npos);
}

TEST(ReservedMemory, RefusesWhatIsNoOrder) {
  TextProblem problem("a = 1");
  Timeline timeline = *simulate(problem, {0});
  EXPECT_FALSE(replayAllocations(problem, {}, timeline, SegmentKind::Fixed));
}

TEST(ReservedMemory, IsFastOnLargeOrders) {
  // Every operation frees the buffer of one of the last thousand operations.
  constexpr int32_t numNodes = 200000;
  Problem problem;
  std::mt19937_64 random(1);
  for (int32_t i = 0; i < numNodes; ++i) {
    NodeId node = problem.addNode(NodeKind::Compute, 10);
    problem.addBuffer(drawBytes(random), node, /*freed=*/true);
    BufferId read = std::max<int64_t>(0, i - 1 - random() % 1000);
    if (i > 0)
      problem.addUse(read, node);
  }
  ASSERT_TRUE(problem.finalize());
  auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(replay(problem, problem.programOrder()));
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - begin;
  // A search over all blocks takes minutes.
  EXPECT_LT(elapsed.count(), 10);
}
