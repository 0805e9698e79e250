//===- BootstrapTest.cpp - Tests of the rendezvous by TCP -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap/Bootstrap.h"
#include "../FreePort.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <csignal>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace commsched::runtime;
using commsched::test::findFreePort;
using std::chrono::milliseconds;

namespace {

JobAddress makeAddress(int32_t rank, int32_t numRanks, int32_t port) {
  JobAddress result;
  result.rank = rank;
  result.numRanks = numRanks;
  result.port = port;
  return result;
}

Deadline in(int64_t ms) { return Clock::now() + milliseconds(ms); }

using Body = std::function<std::string(int32_t rank, Bootstrap &bootstrap)>;

std::string joinAndRun(const JobAddress &address, int64_t ms,
                       const Body &body) {
  std::unique_ptr<Bootstrap> bootstrap;
  int32_t rank = address.rank;
  Status status = Bootstrap::join(
      address, [rank] { return "status " + std::to_string(rank); }, in(ms),
      bootstrap);
  if (!status)
    return status.getMessage();
  std::string result = body(rank, *bootstrap);
  bootstrap->leave(/*failed=*/false, in(5000));
  return result;
}

/// Returns the results of `body` on `numRanks` threads, or the error of the
/// start. Ranks not in `present` never come.
std::vector<std::string> runRanks(int32_t numRanks, int64_t ms,
                                  const Body &body,
                                  std::vector<int32_t> present = {}) {
  int32_t port = findFreePort();
  std::vector<std::string> results(numRanks);
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < numRanks; ++rank)
    if (present.empty() ||
        std::count(present.begin(), present.end(), rank) == 1)
      threads.emplace_back([&, rank] {
        results[rank] = joinAndRun(makeAddress(rank, numRanks, port), ms, body);
      });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

/// A text of `bytes` bytes that differs between ranks and holds zero bytes.
std::string makeText(int32_t rank, size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i)
    text[i] = static_cast<char>(i * 31 + rank);
  return text;
}

} // namespace

TEST(BootstrapTest, ExchangesTextsInTheOrderOfRanks) {
  auto results = runRanks(4, 5000, [](int32_t rank, Bootstrap &bootstrap) {
    for (size_t bytes : {0, 1, 100, 3000000}) {
      std::vector<std::string> all;
      if (Status status =
              bootstrap.exchange(makeText(rank, bytes), all, in(5000));
          !status)
        return status.getMessage();
      for (int32_t other = 0; other < 4; ++other)
        if (all.at(other) != makeText(other, bytes))
          return "wrong text of " + std::to_string(other);
    }
    return std::string("right");
  });
  EXPECT_EQ(results, std::vector<std::string>(4, "right"));
}

TEST(BootstrapTest, OneRankNeedsNoPort) {
  std::string result =
      joinAndRun(makeAddress(0, 1, 1), 100, [](int32_t, Bootstrap &bootstrap) {
        std::vector<std::string> all;
        Status status = bootstrap.exchange("alone", all, in(0));
        return status ? all.at(0) : status.getMessage();
      });
  EXPECT_EQ(result, "alone");
}

TEST(BootstrapTest, NamesTheRanksThatDoNotCome) {
  auto results =
      runRanks(4, 400, [](int32_t, Bootstrap &) { return "joined"; }, {0, 2});
  // The first rank that gives up notifies the other.
  std::string missing =
      "ms in the start of 4 ranks: rank 1 has not come; rank 3 has not come";
  EXPECT_NE(results[0].find(missing), std::string::npos) << results[0];
  EXPECT_NE(results[2].find(missing), std::string::npos) << results[2];
}

TEST(BootstrapTest, SaysThatRankZeroIsNotThere) {
  auto results =
      runRanks(2, 300, [](int32_t, Bootstrap &) { return "joined"; }, {1});
  EXPECT_NE(results[1].find("rank 1 cannot reach rank 0 at 127.0.0.1:"),
            std::string::npos)
      << results[1];
  EXPECT_NE(results[1].find("within 300 ms: Connection refused"),
            std::string::npos)
      << results[1];
}

TEST(BootstrapTest, ALateRankIsWaitedFor) {
  auto results = runRanks(3, 5000, [](int32_t rank, Bootstrap &bootstrap) {
    if (rank == 1)
      std::this_thread::sleep_for(milliseconds(200));
    std::vector<std::string> all;
    Status status = bootstrap.exchange("x", all, in(5000));
    return status ? std::string("met") : status.getMessage();
  });
  EXPECT_EQ(results, std::vector<std::string>(3, "met"));
}

TEST(BootstrapTest, AnExchangeNamesTheRankThatStaysAway) {
  std::atomic<int> done{0};
  auto results = runRanks(3, 5000, [&](int32_t rank, Bootstrap &bootstrap) {
    std::string result = "stayed away";
    if (rank != 1) {
      std::vector<std::string> all;
      Status status = bootstrap.exchange("x", all, in(200));
      result = status ? "met" : status.getMessage();
    }
    for (++done; done < 3;)
      std::this_thread::sleep_for(milliseconds(5));
    return result;
  });
  std::string missing =
      "timed out after 200 ms in the meeting of all ranks: rank 1 has not come";
  EXPECT_EQ(results[0], missing);
  EXPECT_EQ(results[1], "stayed away");
  EXPECT_EQ(results[2], missing);
}

TEST(BootstrapTest, AFailureEndsAllExchanges) {
  auto results = runRanks(3, 5000, [](int32_t rank, Bootstrap &bootstrap) {
    if (rank == 2) {
      bootstrap.fail("out of luck");
      return std::string("failed");
    }
    std::vector<std::string> all;
    Status status = bootstrap.exchange("x", all, in(5000));
    EXPECT_EQ(bootstrap.getFailure(), status);
    return status ? std::string("met") : status.getMessage();
  });
  EXPECT_EQ(results[0], "rank 2 failed: out of luck");
  EXPECT_EQ(results[1], "rank 2 failed: out of luck");
}

TEST(BootstrapTest, WhoHasLeftIsMissed) {
  auto results = runRanks(3, 5000, [](int32_t rank, Bootstrap &bootstrap) {
    if (rank == 1)
      return std::string("left");
    std::vector<std::string> all;
    Status status = bootstrap.exchange("x", all, in(5000));
    return status ? std::string("met") : status.getMessage();
  });
  EXPECT_EQ(results[0], "rank 1 has left");
  EXPECT_EQ(results[2], "rank 1 has left");
}

TEST(BootstrapTest, RanksSayHowTheyStand) {
  auto results = runRanks(3, 5000, [](int32_t rank, Bootstrap &bootstrap) {
    std::string result;
    if (rank == 2)
      for (const Standing &standing : bootstrap.ask())
        result += standing.status.value_or("?") + ";";
    std::vector<std::string> all;
    Status status = bootstrap.exchange("x", all, in(5000));
    return status ? result : status.getMessage();
  });
  EXPECT_EQ(results[2], "status 0;status 1;status 2;");
}

/// Joins as `rank` in another process and runs `body` there.
static pid_t forkRank(const JobAddress &address, const Body &body) {
  pid_t child = fork();
  if (child == 0) {
    joinAndRun(address, 5000, body);
    _exit(0);
  }
  return child;
}

TEST(BootstrapTest, ADeadProcessIsNoticed) {
  int32_t port = findFreePort();
  pid_t child = forkRank(makeAddress(1, 2, port), [](int32_t, Bootstrap &) {
    kill(getpid(), SIGKILL);
    return "";
  });
  std::string result = joinAndRun(
      makeAddress(0, 2, port), 5000, [](int32_t, Bootstrap &bootstrap) {
        std::vector<std::string> all;
        Status status = bootstrap.exchange("x", all, in(5000));
        return status ? std::string("met") : status.getMessage();
      });
  waitpid(child, nullptr, 0);
  EXPECT_EQ(result, "rank 1 is gone");
}

TEST(BootstrapTest, TheDeathOfRankZeroIsNoticed) {
  int32_t port = findFreePort();
  pid_t child = forkRank(makeAddress(0, 2, port), [](int32_t, Bootstrap &) {
    std::this_thread::sleep_for(milliseconds(100));
    kill(getpid(), SIGKILL);
    return "";
  });
  std::string result = joinAndRun(
      makeAddress(1, 2, port), 5000, [](int32_t, Bootstrap &bootstrap) {
        std::vector<std::string> all;
        Status status = bootstrap.exchange("x", all, in(5000));
        return status ? std::string("met") : status.getMessage();
      });
  waitpid(child, nullptr, 0);
  EXPECT_EQ(result, "rank 0 is gone");
}

TEST(BootstrapTest, AStoppedProcessDoesNotAnswer) {
  int32_t port = findFreePort();
  pid_t child = forkRank(makeAddress(1, 2, port), [](int32_t, Bootstrap &) {
    kill(getpid(), SIGSTOP);
    return "";
  });
  std::string result = joinAndRun(
      makeAddress(0, 2, port), 5000, [&](int32_t, Bootstrap &bootstrap) {
        int childStatus = 0;
        waitpid(child, &childStatus, WUNTRACED);
        std::vector<std::string> all;
        Status status = bootstrap.exchange("x", all, in(100));
        kill(child, SIGKILL);
        return status ? std::string("met") : status.getMessage();
      });
  waitpid(child, nullptr, 0);
  EXPECT_EQ(result, "timed out after 100 ms in the meeting of all ranks: "
                    "rank 1 does not answer");
}

TEST(BootstrapTest, RanksMustAgreeOnTheirNumber) {
  int32_t port = findFreePort();
  auto body = [](int32_t, Bootstrap &) { return "joined"; };
  std::string results[2];
  std::thread first(
      [&] { results[0] = joinAndRun(makeAddress(0, 2, port), 5000, body); });
  results[1] = joinAndRun(makeAddress(1, 3, port), 5000, body);
  first.join();
  std::string expected =
      "rank 1 says that there are 3 ranks, but rank 0 says 2";
  EXPECT_EQ(results[0], expected);
  EXPECT_EQ(results[1], expected);
}

TEST(BootstrapTest, NoTwoProcessesAreOneRank) {
  int32_t port = findFreePort();
  auto body = [](int32_t, Bootstrap &) { return "joined"; };
  std::string results[3];
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      results[i] = joinAndRun(makeAddress(i ? 1 : 0, 3, port), 5000, body);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &result : results)
    EXPECT_EQ(result, "two processes say that they are rank 1");
}

TEST(BootstrapTest, AStrangerDoesNotEndTheJob) {
  auto results = runRanks(
      2, 5000, [](int32_t rank, Bootstrap &) { return std::to_string(rank); });
  EXPECT_EQ(results[0], "0");

  int32_t port = findFreePort();
  std::atomic<bool> refused{false};
  auto body = [&](int32_t, Bootstrap &bootstrap) {
    while (!refused)
      std::this_thread::sleep_for(milliseconds(5));
    std::vector<std::string> all;
    Status status = bootstrap.exchange("x", all, in(5000));
    return status ? std::string("met") : status.getMessage();
  };
  std::vector<std::thread> threads;
  std::vector<std::string> met(2);
  for (int32_t rank : {0, 1})
    threads.emplace_back([&, rank] {
      met[rank] = joinAndRun(makeAddress(rank, 2, port), 5000, body);
    });
  JobAddress stranger = makeAddress(1, 2, port);
  stranger.job = "another";
  std::string reason = joinAndRun(stranger, 200, body);
  refused = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_NE(reason.find("within 200 ms: another job is there: rank 1 belongs "
                        "to the job 'another', but rank 0 to ''"),
            std::string::npos)
      << reason;
  EXPECT_EQ(met, std::vector<std::string>(2, "met"));
}

TEST(BootstrapTest, JobsFollowEachOtherAtOnePort) {
  int32_t port = findFreePort();
  std::vector<std::thread> threads;
  std::string results[2];
  for (int32_t rank : {0, 1})
    threads.emplace_back([&, rank] {
      for (int job = 0; job < 50 && results[rank].empty(); ++job) {
        std::string result =
            joinAndRun(makeAddress(rank, 2, port), 5000,
                       [](int32_t, Bootstrap &) { return "joined"; });
        if (result != "joined")
          results[rank] = result;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(results[0], "");
  EXPECT_EQ(results[1], "");
}

TEST(BootstrapTest, GarbageIsShutOut) {
  int32_t port = findFreePort();
  std::string results[2];
  auto body = [](int32_t, Bootstrap &bootstrap) {
    std::vector<std::string> all;
    Status status = bootstrap.exchange("x", all, in(5000));
    return status ? std::string("met") : status.getMessage();
  };
  std::thread first(
      [&] { results[0] = joinAndRun(makeAddress(0, 2, port), 5000, body); });
  // Something that is no rank, and something that says nothing.
  Descriptor garbage, silent;
  std::string reason;
  while (!garbage)
    connectTo("127.0.0.1", port, in(5000), garbage, reason);
  connectTo("127.0.0.1", port, in(5000), silent, reason);
  std::string text = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
  EXPECT_EQ(::send(garbage.get(), text.data(), text.size(), 0),
            static_cast<ssize_t>(text.size()));
  results[1] = joinAndRun(makeAddress(1, 2, port), 5000, body);
  first.join();
  EXPECT_EQ(results[0], "met");
  EXPECT_EQ(results[1], "met");
}

TEST(BootstrapTest, APortInUseIsNamed) {
  int32_t port = findFreePort();
  Descriptor other;
  ASSERT_EQ(listenAt("127.0.0.1", port, other), Status());
  std::unique_ptr<Bootstrap> bootstrap;
  Status status = Bootstrap::join(
      makeAddress(0, 2, port), [] { return ""; }, in(1000), bootstrap);
  EXPECT_EQ(status,
            "rank 0 cannot listen at 127.0.0.1:" + std::to_string(port) +
                ": Address already in use; set COMMSCHED_PORT to a "
                "free port");
}

TEST(BootstrapTest, SomethingElseAtThePortIsNoRankZero) {
  int32_t port = findFreePort();
  Descriptor other;
  ASSERT_EQ(listenAt("127.0.0.1", port, other), Status());
  std::unique_ptr<Bootstrap> bootstrap;
  Status status = Bootstrap::join(
      makeAddress(1, 2, port), [] { return ""; }, in(200), bootstrap);
  ASSERT_FALSE(status);
  EXPECT_NE(status.getMessage().find(
                "what listens there does not answer as a rank 0"),
            std::string::npos)
      << status.getMessage();
}
