//===- EditableScheduleTest.cpp - Tests of orders that change -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Model/EditableSchedule.h"
#include "Model/OrderTree.h"
#include "Model/RangeMaximum.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Compares everything that `schedule` knows with a simulation from scratch.
void expectExact(const EditableSchedule &schedule, const Order &order) {
  const Problem &problem = schedule.getProblem();
  ASSERT_EQ(schedule.order(), order);
  MemoryTimeline memory = need(simulateMemory(problem, order));
  EXPECT_EQ(schedule.initialBytes(), memory.initialBytes);
  EXPECT_EQ(schedule.peakBytes(), memory.peakBytes);
  for (size_t place = 0; place < order.size(); ++place) {
    NodeId node = order[place];
    ASSERT_EQ(schedule.allocatedBytes(node), memory.allocatedBytes[place]);
    ASSERT_EQ(schedule.remainingBytes(node), memory.remainingBytes[place]);
    ASSERT_EQ(schedule.bytesBefore(node),
              place == 0 ? memory.initialBytes
                         : memory.remainingBytes[place - 1]);
  }
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    NodeId last = buffer.freed ? buffer.producer : noNode;
    auto placeOf = [&](NodeId node) {
      return std::find(order.begin(), order.end(), node) - order.begin();
    };
    if (buffer.freed)
      for (NodeId user : problem.users(id))
        if (last == noNode || placeOf(user) > placeOf(last))
          last = user;
    ASSERT_EQ(schedule.lastUser(id), last) << "buffer " << id;
  }
}

TEST(EditableSchedule, RejectsWhatItCannotHold) {
  TimelineExample example;
  EXPECT_EQ(EditableSchedule::create(example.problem, {}).error(),
            "the order has 0 entries for a problem of 7 nodes");
  Problem open;
  EXPECT_EQ(EditableSchedule::create(open, {}).error(),
            "the problem is not finalized");
}

TEST(EditableSchedule, SeesWhereItsMemoryIsNotTheSimulations) {
  // `late` uses the buffer last, below the peak that `large` makes.
  TextProblem problem(R"(
    make = 1 -> 8; early = 1 make; late = 1 early use:make
    large = 1 late -> 100)");
  NodeId early = problem["early"];
  BufferId buffer = problem.bufferOf("make");
  EditableSchedule schedule =
      need(EditableSchedule::create(problem, programOrder(problem)));
  EXPECT_TRUE(schedule.compareWithSimulation());
  int64_t peakBytes = schedule.peakBytes();
  schedule.setLastUser(buffer, early);
  EXPECT_EQ(schedule.peakBytes(), peakBytes);
  Status status = schedule.compareWithSimulation();
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error(),
      "the live bytes of node 1 (compute) are kept as 8 and then 0, but a "
      "simulation gives 8 and 8");
}

TEST(EditableSchedule, AgreesWithSimulationAfterEveryMove) {
  int numMoves = 0;
  for (uint64_t seed : Seeds(300)) {
    Problem problem = makeEitherProblem(seed);
    Order order = makeRandomOrder(seed, problem);
    EditableSchedule schedule = need(EditableSchedule::create(problem, order));
    expectExact(schedule, order);
    std::mt19937_64 engine(seed);
    for (int move = 0; move < 100; ++move) {
      int32_t cuts[3];
      for (int32_t &cut : cuts)
        cut = static_cast<int32_t>(engine() % (order.size() + 1));
      std::sort(cuts, cuts + 3);
      Order moved = order;
      std::rotate(moved.begin() + cuts[0], moved.begin() + cuts[1],
                  moved.begin() + cuts[2]);
      if (!verify(problem, moved))
        continue;
      order = moved;
      if (engine() % 2)
        schedule.moveUp(cuts[1], cuts[2], cuts[0]);
      else
        schedule.moveDown(cuts[0], cuts[1], cuts[2]);
      expectExact(schedule, order);
      if (HasFatalFailure() || HasNonfatalFailure())
        return;
      ++numMoves;
    }
  }
  EXPECT_GT(numMoves, 600);
}

/// The letters of a stretch: a summary whose order shows.
struct Letters {
  Letters() = default;
  explicit Letters(char letter) : text(1, letter) {}
  Letters then(const Letters &next) const {
    Letters both;
    both.text = text + next.text;
    return both;
  }
  std::string text;
};

std::string textOf(const Order &order, const std::vector<char> &letters) {
  std::string text;
  for (NodeId node : order)
    text += letters[node];
  return text;
}

TEST(OrderTree, EmptyOrder) {
  OrderTree<char, Letters> tree({}, {});
  EXPECT_EQ(tree.size(), 0);
  EXPECT_EQ(tree.total().text, "");
  EXPECT_TRUE(tree.order().empty());
  tree.exchange(0, 0, 0);
  EXPECT_EQ(tree.findLast(0, 0, [](auto &, auto &) { return true; }), -1);
}

TEST(OrderTree, AgreesWithAVector) {
  std::mt19937_64 engine(7);
  auto below = [&](int32_t bound) {
    return static_cast<int32_t>(engine() % static_cast<uint64_t>(bound));
  };
  for (int32_t size : {1, 2, 3, 10, 60}) {
    Order order(size);
    std::iota(order.begin(), order.end(), 0);
    for (int32_t i = size; i > 1; --i)
      std::swap(order[i - 1], order[below(i)]);
    std::vector<char> letters(size);
    for (char &letter : letters)
      letter = static_cast<char>('a' + below(4));
    OrderTree<char, Letters> tree(order, letters);
    for (int step = 0; step < 200; ++step) {
      int32_t cuts[3] = {below(size + 1), below(size + 1), below(size + 1)};
      std::sort(cuts, cuts + 3);
      tree.exchange(cuts[0], cuts[1], cuts[2]);
      std::rotate(order.begin() + cuts[0], order.begin() + cuts[1],
                  order.begin() + cuts[2]);
      NodeId changed = below(size);
      letters[changed] = static_cast<char>('a' + below(4));
      tree.setLeaf(changed, letters[changed]);

      ASSERT_EQ(tree.order(), order);
      std::string text = textOf(order, letters);
      ASSERT_EQ(tree.total().text, text);
      int32_t first = below(size + 1), end = below(size + 1);
      if (first > end)
        std::swap(first, end);
      ASSERT_EQ(tree.range(first, end).text, text.substr(first, end - first));
      for (int32_t place = 0; place < size; ++place) {
        ASSERT_EQ(tree.at(place), order[place]);
        ASSERT_EQ(tree.position(order[place]), place);
        ASSERT_EQ(tree.before(order[place]).text, text.substr(0, place));
        ASSERT_EQ(tree.leaf(order[place]), text[place]);
      }

      // A letter with an odd number of others before it. For a stretch, whether
      // the letter is there at all.
      auto isHit = [&](const Letters &before, const Letters &stretch) {
        if (stretch.text.size() == 1)
          return stretch.text == "a" && before.text.size() % 2 == 1;
        return stretch.text.find('a') != std::string::npos;
      };
      int32_t last = -1, earliest = -1;
      for (int32_t place = first; place < end; ++place)
        if (text[place] == 'a' && place % 2 == 1) {
          last = place;
          earliest = earliest < 0 ? place : earliest;
        }
      ASSERT_EQ(tree.findLast(first, end, isHit), last);
      ASSERT_EQ(tree.findFirst(first, end, isHit), earliest);
    }
  }
}

/// Whether the largest of the values at [first, last) is `expected`.
bool hasMaximum(const RangeMaximum &maxima, int32_t first, int32_t last,
                int64_t expected) {
  return maxima.exceeds(first, last, expected - 1) &&
         !maxima.exceeds(first, last, expected);
}

TEST(RangeMaximum, OfNothing) {
  constexpr int64_t low = std::numeric_limits<int64_t>::min() / 2;
  RangeMaximum none({});
  none.add(0, 0, 1);
  EXPECT_FALSE(none.exceeds(0, 0, low));
  RangeMaximum one({7});
  one.add(1, 0, 1);
  EXPECT_FALSE(one.exceeds(0, 0, low));
  EXPECT_FALSE(one.exceeds(1, 0, low));
  EXPECT_TRUE(hasMaximum(one, 0, 1, 7));
}

TEST(RangeMaximum, EqualsTheMaximumOfAVector) {
  for (uint64_t seed : Seeds(300)) {
    Random random(seed);
    std::vector<int64_t> values(1 + random.below(40));
    for (int64_t &value : values)
      value = random.below(200) - 100;
    RangeMaximum maxima(values);
    auto size = static_cast<int64_t>(values.size());
    for (int i = 0; i < 100; ++i) {
      int64_t first = random.below(size);
      int64_t last = first + 1 + random.below(size - first);
      if (random.percent(50)) {
        int64_t amount = random.below(100) - 50;
        for (int64_t place = first; place < last; ++place)
          values[place] += amount;
        maxima.add(static_cast<int32_t>(first), static_cast<int32_t>(last),
                   amount);
        continue;
      }
      ASSERT_TRUE(hasMaximum(
          maxima, static_cast<int32_t>(first), static_cast<int32_t>(last),
          *std::max_element(values.begin() + first, values.begin() + last)));
    }
  }
}

} // namespace
