//===- ScheduleTest.cpp - The C interface of the scheduler ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface answers as the C++ interface does, in several threads as in
// one, and no value makes it crash.
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include "commsched-c/Schedule.h"

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "TestProblems.h"

#include <memory>
#include <thread>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using mlir::commsched::testing::Random;
using mlir::commsched::testing::Seeds;
using schedule::testing::makeRandomOrder;
using schedule::testing::makeRandomProblem;
using schedule::testing::RandomProblemOptions;

namespace {

template <typename T, void (*destroy)(T *)> struct Deleter {
  void operator()(T *pointer) const { destroy(pointer); }
};
using OwnedProblem =
    std::unique_ptr<CommSchedProblem,
                    Deleter<CommSchedProblem, commschedProblemDestroy>>;
using OwnedOptions =
    std::unique_ptr<CommSchedOptions,
                    Deleter<CommSchedOptions, commschedOptionsDestroy>>;
using OwnedResult =
    std::unique_ptr<CommSchedResult,
                    Deleter<CommSchedResult, commschedResultDestroy>>;

/// The text of an error; empty for NULL.
std::string take(char *error) {
  std::string text = error ? error : "";
  commschedErrorDestroy(error);
  return text;
}

/// The same problem, built one by one or by arrays.
OwnedProblem copy(const Problem &problem, bool asArrays) {
  OwnedProblem made(commschedProblemCreate());
  std::vector<uint8_t> kinds, dependenceKinds, freed;
  std::vector<int64_t> costs, bytes;
  std::vector<int32_t> streams, starts, from, to, producers, used, users;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    kinds.push_back(static_cast<uint8_t>(problem.kind(node)));
    costs.push_back(problem.costNs(node));
    streams.push_back(problem.stream(node));
    starts.push_back(problem.startOf(node));
    for (DependenceEnd end : problem.predecessors(node)) {
      if (problem.startOf(node) == end.node && end.kind == DependenceKind::Data)
        continue;
      from.push_back(end.node);
      to.push_back(node);
      dependenceKinds.push_back(static_cast<uint8_t>(end.kind));
    }
  }
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    bytes.push_back(problem.buffer(id).bytes);
    producers.push_back(problem.buffer(id).producer);
    freed.push_back(problem.buffer(id).freed);
    for (NodeId user : problem.users(id)) {
      used.push_back(id);
      users.push_back(user);
    }
  }
  CommSchedProblem *handle = made.get();
  if (asArrays) {
    commschedProblemAddNodes(handle, kinds.size(), kinds.data(), costs.data(),
                             streams.data(), starts.data(), nullptr);
    commschedProblemAddDependences(handle, from.size(), from.data(), to.data(),
                                   dependenceKinds.data(), nullptr);
    commschedProblemAddBuffers(handle, bytes.size(), bytes.data(),
                               producers.data(), freed.data(), nullptr);
    commschedProblemAddUses(handle, used.size(), used.data(), users.data(),
                            nullptr);
  } else {
    for (size_t i = 0; i < kinds.size(); ++i)
      if (kinds[i] == COMMSCHED_WAIT)
        commschedProblemAddWait(handle, starts[i]);
      else
        commschedProblemAddNode(handle, kinds[i], costs[i], streams[i]);
    for (size_t i = 0; i < from.size(); ++i)
      commschedProblemAddDependence(handle, from[i], to[i], dependenceKinds[i]);
    for (size_t i = 0; i < bytes.size(); ++i)
      commschedProblemAddBuffer(handle, bytes[i], producers[i], freed[i]);
    for (size_t i = 0; i < used.size(); ++i)
      commschedProblemAddUse(handle, used[i], users[i]);
  }
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.isExpensive(node))
      commschedProblemSetExpensive(handle, node);
  char *error = nullptr;
  EXPECT_EQ(commschedProblemFinalize(handle, &error), COMMSCHED_SUCCESS);
  EXPECT_EQ(take(error), "");
  return made;
}

RandomProblemOptions makeOptions() {
  RandomProblemOptions options;
  options.expensivePercent = 20;
  options.unevenBuffers = true;
  return options;
}

OwnedOptions makeOptions(const StepSchedulerOptions &with) {
  OwnedOptions options(commschedOptionsCreate());
  commschedOptionsSetMemoryLimit(options.get(), with.limitBytes);
  commschedOptionsSetSlackPercent(options.get(), with.slackPercent);
  commschedOptionsSetEffort(options.get(), with.effort);
  for (auto [first, second] : with.contention.exclusive)
    commschedOptionsAddExclusiveStreams(options.get(), first, second);
  return options;
}

/// Schedules, and expects that it succeeds.
OwnedResult run(const CommSchedProblem *problem,
                const CommSchedOptions *options) {
  CommSchedResult *result = nullptr;
  char *error = nullptr;
  EXPECT_EQ(commschedSchedule(problem, options, &result, &error),
            COMMSCHED_SUCCESS)
      << take(error);
  return OwnedResult(result);
}

Order getOrder(const CommSchedResult *result) {
  const int32_t *order = commschedResultGetOrder(result);
  return Order(order, order + commschedResultGetNumNodes(result));
}

} // namespace

TEST(CScheduleTest, AnswersAsTheCxxInterface) {
  for (uint64_t seed : Seeds(100)) {
    Problem problem = makeRandomProblem(seed, makeOptions());
    OwnedProblem same = copy(problem, /*asArrays=*/seed % 2);
    StepSchedulerOptions with;
    with.slackPercent = static_cast<int32_t>(seed % 60);
    if (seed % 3)
      with.limitBytes = 20 * static_cast<int64_t>(seed);
    if (problem.numStreams() > 1 && seed % 5 == 0)
      with.contention.exclusive.push_back({0, 1});
    Result<StepSchedule> expected = scheduleStep(problem, with);
    ASSERT_TRUE(expected) << expected.error();
    OwnedResult found = run(same.get(), makeOptions(with).get());
    EXPECT_EQ(getOrder(found.get()), expected->order);
    EXPECT_EQ(commschedResultGetStepNs(found.get()), expected->stepNs);
    EXPECT_EQ(commschedResultGetPeakBytes(found.get()), expected->peakBytes);
    EXPECT_EQ(int(commschedResultGetOrigin(found.get())),
              int(expected->origin));
    Timeline timeline = *simulate(problem, expected->order, with.contention);
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      EXPECT_EQ(commschedResultGetBeginNs(found.get())[node],
                timeline.beginNs[node]);
      EXPECT_EQ(commschedResultGetEndNs(found.get())[node],
                timeline.endNs[node]);
      EXPECT_EQ(commschedResultGetExposedNs(found.get())[node],
                timeline.exposedNs[node]);
    }
    int64_t boundNs = -1, tightNs = -1;
    commschedComputeLowerBound(same.get(), &boundNs, nullptr);
    commschedComputeTightLowerBound(same.get(), &tightNs, nullptr);
    EXPECT_EQ(boundNs, computeLowerBound(problem)->ns());
    EXPECT_EQ(tightNs, computeTightLowerBound(problem)->ns);
  }
}

TEST(CScheduleTest, SimulatesOrders) {
  for (uint64_t seed : Seeds(100)) {
    Problem problem = makeRandomProblem(seed, makeOptions());
    OwnedProblem same = copy(problem, /*asArrays=*/true);
    Order order = makeRandomOrder(seed, problem);
    // One in two is illegal, or the same.
    Random random(seed);
    if (seed % 2 && order.size() > 1)
      std::swap(order[random.below(order.size())],
                order[random.below(order.size())]);
    CommSchedResult *result = nullptr;
    char *error = nullptr;
    CommSchedStatus status = commschedSimulate(
        same.get(), nullptr, order.data(), order.size(), &result, &error);
    OwnedResult owned(result);
    Status legal = verify(problem, order);
    EXPECT_EQ(take(error), legal.error());
    EXPECT_EQ(status, legal ? COMMSCHED_SUCCESS : COMMSCHED_INVALID_ORDER);
    EXPECT_EQ(result != nullptr, static_cast<bool>(legal));
    if (legal) {
      EXPECT_EQ(commschedResultGetStepNs(result),
                simulate(problem, order)->stepNs);
    }
  }
}

TEST(CScheduleTest, SeveralThreadsShareAProblem) {
  RandomProblemOptions large = makeOptions();
  large.maxNodes = 400;
  OwnedProblem problem =
      copy(makeRandomProblem(/*seed=*/7, large), /*asArrays=*/true);
  Order expected = getOrder(run(problem.get(), nullptr).get());
  std::vector<Order> orders(4);
  std::vector<std::thread> threads;
  for (Order &order : orders)
    threads.emplace_back([&problem, &order] {
      for (int i = 0; i < 10; ++i)
        order = getOrder(run(problem.get(), nullptr).get());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Order &order : orders)
    EXPECT_EQ(order, expected);
}

namespace {

/// Mostly values that are nearly right, and some at the ends of the range.
template <typename T> T getWildValue(Random &random) {
  if (random.percent(85))
    return static_cast<T>(random.below(6));
  constexpr T values[] = {-1, -2, 100, std::numeric_limits<T>::max(),
                          std::numeric_limits<T>::min()};
  return values[random.below(5)];
}

void addWildPart(Random &random, CommSchedProblem *problem) {
  auto index = [&] { return getWildValue<int32_t>(random); };
  auto amount = [&] { return getWildValue<int64_t>(random); };
  switch (random.below(10)) {
  case 0:
  case 1:
    commschedProblemAddNode(problem, COMMSCHED_COMPUTE, amount(), -1);
    break;
  case 2: {
    int32_t start =
        commschedProblemAddNode(problem, COMMSCHED_START, amount(), 0);
    commschedProblemAddWait(problem, random.percent(90) ? start : index());
    break;
  }
  case 3:
    commschedProblemAddNode(problem, index(), amount(),
                            random.percent(50) ? -1 : index());
    break;
  case 4:
    commschedProblemAddDependence(problem, index(), index(), index());
    break;
  case 5:
    commschedProblemAddBuffer(problem, amount(), index(), index());
    break;
  case 6:
    commschedProblemAddUse(problem, index(), index());
    break;
  case 7:
    commschedProblemSetExpensive(problem, index());
    break;
  case 8: {
    const uint8_t kinds[] = {static_cast<uint8_t>(index())};
    const int64_t costs[] = {amount()};
    const int32_t streams[] = {index()}, starts[] = {index()};
    commschedProblemAddNodes(problem, 1, kinds, costs, streams,
                             random.percent(50) ? starts : nullptr, nullptr);
    break;
  }
  default:
    commschedProblemFinalize(problem, nullptr);
  }
}

} // namespace

TEST(CScheduleTest, ReadsBudgetsAsThePassesDo) {
  struct {
    const char *text;
    int64_t bytes;
  } const read[] = {{"0", 0},
                    {"68719476736", int64_t(64) << 30},
                    {"4.5GiB", int64_t(9) << 29},
                    {"640MB", 640000000},
                    {"0.000001KB", 0},
                    {"7B", 7},
                    {"7KB", 7000},
                    {"7GB", 7000000000},
                    {"7TB", 7000000000000},
                    {"7KiB", 7168},
                    {"7MiB", 7340032},
                    {"1TiB", int64_t(1) << 40},
                    {"9223372036854775807", COMMSCHED_UNLIMITED},
                    {"0%", 200},
                    {"12.5%", 225},
                    {"1e300%", COMMSCHED_UNLIMITED}};
  for (auto [text, bytes] : read) {
    SCOPED_TRACE(text);
    int64_t found = -1;
    char *error = nullptr;
    EXPECT_EQ(commschedParseMemoryBudget(text, 200, &found, &error),
              COMMSCHED_SUCCESS);
    EXPECT_EQ(found, bytes);
    CommSchedStatus status = commschedParseBytes(text, &found, &error);
    bool isPercentage = std::string(text).back() == '%';
    EXPECT_EQ(status,
              isPercentage ? COMMSCHED_INVALID_ARGUMENT : COMMSCHED_SUCCESS);
    EXPECT_EQ(take(error).empty(), !isPercentage);
  }
  const std::pair<const char *, std::vector<const char *>> refused[] = {
      {"must be bytes such as",
       {"", "5 GiB", "64gib", "64G", "5iB", "KiB", "GB", "5PiB", "1.5", "1.5B",
        ".5GiB", "1.GiB", "1.0000001KB", "1.5.5MB", "nan%", "inf%", "%", "5%%",
        "0x10"}},
      {"must not be negative", {"-5", "-5%"}},
      {"must be at most 9223372036854775807 bytes",
       {"9223372036854775808", "9007199254740992KiB", "8388608TiB",
        "9223372036855MB"}}};
  for (const auto &[words, texts] : refused)
    for (const char *text : texts) {
      SCOPED_TRACE(text);
      int64_t found = -1;
      char *error = nullptr;
      EXPECT_EQ(commschedParseMemoryBudget(text, 200, &found, &error),
                COMMSCHED_INVALID_ARGUMENT);
      std::string message = take(error);
      EXPECT_EQ(message.find(words), 0u) << message;
      EXPECT_NE(message.find("'" + std::string(text) + "'"), std::string::npos);
      EXPECT_EQ(found, -1);
    }
  int64_t found = -1;
  char *error = nullptr;
  EXPECT_EQ(commschedParseMemoryBudget("5%", -1, &found, &error),
            COMMSCHED_INVALID_ARGUMENT);
  EXPECT_EQ(take(error), "needs a peak that is not negative, but that is -1");
}

TEST(CScheduleTest, NoValueCrashes) {
  int64_t numScheduled = 0, numRefused = 0;
  for (uint64_t seed : Seeds(20000)) {
    Random random(seed);
    OwnedProblem problem(commschedProblemCreate());
    for (int64_t i = random.below(8); i >= 0; --i)
      addWildPart(random, problem.get());
    char *error = nullptr;
    CommSchedStatus status = commschedProblemFinalize(problem.get(), &error);
    EXPECT_EQ(take(error).empty(), status == COMMSCHED_SUCCESS);
    OwnedOptions options(commschedOptionsCreate());
    if (random.percent(30))
      commschedOptionsSetMemoryLimit(options.get(),
                                     getWildValue<int64_t>(random));
    if (random.percent(30))
      commschedOptionsSetSlackPercent(options.get(),
                                      getWildValue<int32_t>(random));
    if (random.percent(30))
      commschedOptionsSetEffort(options.get(), getWildValue<int64_t>(random));
    if (random.percent(20))
      commschedOptionsAddExclusiveStreams(options.get(),
                                          getWildValue<int32_t>(random),
                                          getWildValue<int32_t>(random));
    if (random.percent(20)) {
      const int32_t links[] = {getWildValue<int32_t>(random)};
      commschedOptionsSetLinks(options.get(), 1, links);
    }
    if (random.percent(20))
      commschedOptionsSetComputeSlowdown(options.get(),
                                         getWildValue<int64_t>(random));
    CommSchedResult *result = nullptr;
    CommSchedStatus scheduled =
        commschedSchedule(problem.get(), options.get(), &result, &error);
    OwnedResult owned(result);
    std::string text = take(error);
    EXPECT_NE(scheduled, COMMSCHED_INTERNAL_ERROR) << text;
    EXPECT_EQ(text.empty(), scheduled == COMMSCHED_SUCCESS);
    EXPECT_EQ(scheduled == COMMSCHED_SUCCESS, result != nullptr);
    if (status != COMMSCHED_SUCCESS) {
      EXPECT_EQ(scheduled, status);
    }
    scheduled == COMMSCHED_SUCCESS ? ++numScheduled : ++numRefused;
    commschedProblemGetPartner(problem.get(), getWildValue<int32_t>(random));
  }
  // Both are well covered.
  EXPECT_GT(numScheduled, 300);
  EXPECT_GT(numRefused, 300);
}
