//===- BootstrapTest.cpp - Tests of the rendezvous in a folder ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bootstrap/Bootstrap.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace commsched::runtime;
using std::chrono::milliseconds;

namespace {

/// A folder of one test, which must be gone at its end.
class BootstrapTest : public ::testing::Test {
protected:
  BootstrapTest() {
    std::string name = ::testing::TempDir() + "/commsched-XXXXXX";
    folder = mkdtemp(name.data());
    parent = folder;
    folder += "/ranks";
  }
  ~BootstrapTest() override {
    EXPECT_TRUE(std::filesystem::is_empty(parent)) << "files are left";
    std::filesystem::remove_all(parent);
  }

  JobPlace makePlace(int32_t rank, int32_t numRanks) const {
    JobPlace result;
    result.rank = rank;
    result.numRanks = numRanks;
    result.folder = folder;
    return result;
  }

  using Body = std::function<std::string(int32_t rank, Bootstrap &bootstrap)>;
  std::vector<std::string> runRanks(int32_t numRanks, int64_t ms,
                                    const Body &body,
                                    std::vector<int32_t> present = {});
  pid_t forkRank(const JobPlace &place, const Body &body);

  std::string parent, folder;
};

Deadline in(int64_t ms) { return Clock::now() + milliseconds(ms); }

std::string
joinAndRun(const JobPlace &place, int64_t ms,
           const std::function<std::string(int32_t, Bootstrap &)> &body) {
  std::unique_ptr<Bootstrap> bootstrap;
  int32_t rank = place.rank;
  Status status = Bootstrap::join(
      place, [rank] { return "status " + std::to_string(rank); }, in(ms),
      bootstrap);
  if (!status)
    return status.getMessage();
  std::string result = body(rank, *bootstrap);
  bootstrap->leave(/*failed=*/false, in(5000));
  return result;
}

// What ranks do.

std::string justJoin(int32_t, Bootstrap &) { return "joined"; }

/// Meets the others: "met", or why not.
std::string meetWithin(int64_t ms, Bootstrap &bootstrap) {
  std::vector<std::string> all;
  Status status = bootstrap.exchange("x", all, in(ms));
  return status ? "met" : status.getMessage();
}
std::string meet(int32_t, Bootstrap &bootstrap) {
  return meetWithin(5000, bootstrap);
}

/// Returns the results of `body` on `numRanks` threads, or the error of the
/// start. Ranks not in `present` never come.
std::vector<std::string> BootstrapTest::runRanks(int32_t numRanks, int64_t ms,
                                                 const Body &body,
                                                 std::vector<int32_t> present) {
  std::vector<std::string> results(numRanks);
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < numRanks; ++rank)
    if (present.empty() ||
        std::count(present.begin(), present.end(), rank) == 1)
      threads.emplace_back([&, rank] {
        results[rank] = joinAndRun(makePlace(rank, numRanks), ms, body);
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

TEST_F(BootstrapTest, ExchangesTextsInTheOrderOfRanks) {
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

TEST_F(BootstrapTest, OneRankNeedsNoFolder) {
  std::string result =
      joinAndRun(makePlace(0, 1), 100, [](int32_t, Bootstrap &bootstrap) {
        std::vector<std::string> all;
        Status status = bootstrap.exchange("alone", all, in(0));
        return status ? all.at(0) : status.getMessage();
      });
  EXPECT_EQ(result, "alone");
}

TEST_F(BootstrapTest, NamesTheRanksThatDoNotCome) {
  auto results = runRanks(4, 400, justJoin, {0, 2});
  std::string missing = "ms in the start of 4 ranks in '" + folder +
                        "': rank 1 has not come; rank 3 has not come";
  EXPECT_NE(results[0].find(missing), std::string::npos) << results[0];
  EXPECT_NE(results[2].find(missing), std::string::npos) << results[2];
  results = runRanks(2, 300, justJoin, {1});
  EXPECT_NE(results[1].find("': rank 0 has not come"), std::string::npos)
      << results[1];
}

TEST_F(BootstrapTest, AnExchangeNamesTheRankThatStaysAway) {
  std::atomic<int> done{0};
  auto results = runRanks(3, 5000, [&](int32_t rank, Bootstrap &bootstrap) {
    std::string result = rank == 1 ? "stayed away" : meetWithin(200, bootstrap);
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

TEST_F(BootstrapTest, AFailureEndsAllExchanges) {
  auto results = runRanks(3, 5000, [](int32_t rank, Bootstrap &bootstrap) {
    if (rank == 2) {
      bootstrap.fail("out of luck");
      return std::string("failed");
    }
    std::string result = meet(rank, bootstrap);
    EXPECT_EQ(bootstrap.getFailure(), result);
    return result;
  });
  EXPECT_EQ(results[0], "rank 2 failed: out of luck");
  EXPECT_EQ(results[1], "rank 2 failed: out of luck");
}

TEST_F(BootstrapTest, WhoHasLeftIsMissed) {
  auto results = runRanks(3, 5000, [](int32_t rank, Bootstrap &bootstrap) {
    if (rank == 1)
      return std::string("left");
    return meet(rank, bootstrap);
  });
  EXPECT_EQ(results[0], "rank 1 has left");
  EXPECT_EQ(results[2], "rank 1 has left");
}

TEST_F(BootstrapTest, RanksSayHowTheyStand) {
  auto results = runRanks(3, 5000, [](int32_t rank, Bootstrap &bootstrap) {
    std::string result;
    if (rank == 2)
      for (const Standing &standing : bootstrap.ask())
        result += standing.status.value_or("?") + ";";
    std::string met = meet(rank, bootstrap);
    return met == "met" ? result : met;
  });
  EXPECT_EQ(results[2], "status 0;status 1;status 2;");
}

/// Joins as `rank` in another process and runs `body` there.
pid_t BootstrapTest::forkRank(const JobPlace &place, const Body &body) {
  pid_t child = fork();
  if (child == 0) {
    joinAndRun(place, 5000, body);
    _exit(0);
  }
  return child;
}

TEST_F(BootstrapTest, ADeadProcessIsNoticed) {
  for (int32_t dead : {0, 1}) {
    pid_t child = forkRank(makePlace(dead, 2), [](int32_t, Bootstrap &) {
      std::this_thread::sleep_for(milliseconds(100));
      kill(getpid(), SIGKILL);
      return "";
    });
    std::string result = joinAndRun(makePlace(1 - dead, 2), 5000, meet);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(result, "rank " + std::to_string(dead) + " is gone");
  }
}

TEST_F(BootstrapTest, AStoppedProcessDoesNotAnswer) {
  pid_t child = forkRank(makePlace(1, 2), [](int32_t, Bootstrap &) {
    kill(getpid(), SIGSTOP);
    return "";
  });
  std::string result =
      joinAndRun(makePlace(0, 2), 5000, [&](int32_t, Bootstrap &bootstrap) {
        int childStatus = 0;
        waitpid(child, &childStatus, WUNTRACED);
        std::string result = meetWithin(100, bootstrap);
        kill(child, SIGKILL);
        return result;
      });
  waitpid(child, nullptr, 0);
  EXPECT_EQ(result, "timed out after 100 ms in the meeting of all ranks: "
                    "rank 1 does not answer");
}

TEST_F(BootstrapTest, RanksMustAgreeOnTheirJobAndNumber) {
  JobPlace places[] = {makePlace(0, 2), makePlace(1, 3)};
  auto join = [&] {
    std::string results[2];
    std::thread first(
        [&] { results[0] = joinAndRun(places[0], 300, justJoin); });
    results[1] = joinAndRun(places[1], 300, justJoin);
    first.join();
    return results[0] + "\n" + results[1];
  };
  std::string text = join();
  EXPECT_NE(text.find("rank 1 says that there are 3 ranks, but rank 0 says 2"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rank 0 says that there are 2 ranks, but rank 1 says 3"),
            std::string::npos)
      << text;
  places[1] = makePlace(1, 2);
  places[1].job = "another";
  text = join();
  EXPECT_NE(text.find("rank 1 belongs to the job \"another\", but rank 0 to "
                      "\"\""),
            std::string::npos)
      << text;
}

TEST_F(BootstrapTest, NoTwoProcessesAreOneRank) {
  std::string second;
  auto results = runRanks(2, 5000, [&](int32_t rank, Bootstrap &bootstrap) {
    if (rank == 0)
      second = joinAndRun(makePlace(1, 2), 100, justJoin);
    return meet(rank, bootstrap);
  });
  EXPECT_EQ(second, "two processes say that they are rank 1, or another job "
                    "meets in '" +
                        folder +
                        "': give each a COMMSCHED_RENDEZVOUS of its "
                        "own");
  EXPECT_EQ(results, std::vector<std::string>(2, "met"));
}

TEST_F(BootstrapTest, JobsFollowEachOtherInOneFolder) {
  std::vector<std::thread> threads;
  std::string results[2];
  for (int32_t rank : {0, 1})
    threads.emplace_back([&, rank] {
      for (int job = 0; job < 50 && results[rank].empty(); ++job) {
        std::string result = joinAndRun(makePlace(rank, 2), 5000, justJoin);
        if (result != "joined")
          results[rank] = result;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(results[0], "");
  EXPECT_EQ(results[1], "");
}

TEST_F(BootstrapTest, TheFolderMayVanishWhileRanksCome) {
  std::atomic<bool> isDone = false;
  std::thread remover([&] {
    while (!isDone)
      rmdir(folder.c_str());
  });
  std::map<std::string, int32_t> results;
  for (int32_t i = 0; i < 50; ++i)
    for (const std::string &result : runRanks(2, 5000, justJoin))
      ++results[result];
  isDone = true;
  remover.join();
  EXPECT_EQ(results, (std::map<std::string, int32_t>{{"joined", 100}}));
}

/// Ranks do not wait for each other when they leave, but join again at once.
TEST_F(BootstrapTest, JobsFollowFailures) {
  std::vector<std::string> results(3);
  std::vector<std::thread> threads;
  for (int32_t rank : {0, 1, 2})
    threads.emplace_back([&, rank] {
      for (int job = 0; job < 20; ++job) {
        std::unique_ptr<Bootstrap> bootstrap;
        Status status = Bootstrap::join(
            makePlace(rank, 3), [] { return ""; }, in(5000), bootstrap);
        std::vector<std::string> all;
        if (status)
          status = bootstrap->exchange(std::to_string(job), all, in(5000));
        if (!status || all[1] != all[2]) {
          results[rank] = status ? "other job" : status.getMessage();
          return;
        }
        // The others are still there.
        std::this_thread::sleep_for(milliseconds(5 * ((rank + job) % 3)));
        bootstrap->leave(/*failed=*/true, in(0));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(results, std::vector<std::string>(3));
}

/// What a job has left that was killed, and what is no file of a rank.
TEST_F(BootstrapTest, OtherFilesAreNotRead) {
  std::filesystem::create_directory(folder);
  for (const char *name : {"rank0", "rank1", "roster"})
    std::ofstream(folder + "/" + name) << R"(["x", "y"])";
  auto results = runRanks(2, 5000, [](int32_t rank, Bootstrap &bootstrap) {
    std::vector<std::string> all;
    Status status = bootstrap.exchange(std::to_string(rank), all, in(5000));
    return status ? all[0] + all[1] : status.getMessage();
  });
  EXPECT_EQ(results, std::vector<std::string>(2, "01"));
}

TEST_F(BootstrapTest, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(folder) << "a file";
  EXPECT_EQ(joinAndRun(makePlace(0, 2), 1000, justJoin),
            "the ranks cannot meet in '" + folder +
                "', which is no folder of this user; set "
                "COMMSCHED_RENDEZVOUS to another");
  std::filesystem::remove(folder);
  folder += "/missing/ranks";
  EXPECT_EQ(joinAndRun(makePlace(0, 2), 1000, justJoin),
            "the ranks cannot meet in the folder '" + folder +
                "': No such file or directory; set COMMSCHED_RENDEZVOUS to "
                "another");
}

TEST(JobPlaceTest, ReadsTheEnvironment) {
  std::map<std::string, std::string> environment;
  JobPlace place;
  auto read = [&] {
    place = JobPlace();
    return readJobPlace(
        [&](const char *name) {
          auto it = environment.find(name);
          return it == environment.end() ? nullptr : it->second.c_str();
        },
        place);
  };
  std::string user = std::to_string(getuid());
  ASSERT_EQ(read(), Status());
  EXPECT_EQ(place.folder, "/tmp/commsched-" + user + "--");
  EXPECT_TRUE(place.isTemporary);
  environment = {{"TMPDIR", "/scratch"},
                 {"MASTER_PORT", "4000"},
                 {"TORCHELASTIC_RUN_ID", "job/7"}};
  ASSERT_EQ(read(), Status());
  EXPECT_EQ(place.folder, "/scratch/commsched-" + user + "-job_7-4000");
  EXPECT_EQ(place.job, "job/7");
  environment = {{"WORLD_SIZE", "16"}, {"LOCAL_WORLD_SIZE", "8"}};
  EXPECT_EQ(read(), "only 8 of 16 ranks are on this machine: set "
                    "COMMSCHED_RENDEZVOUS to a folder that all machines share");
  environment["COMMSCHED_RENDEZVOUS"] = "/shared/job7";
  ASSERT_EQ(read(), Status());
  EXPECT_EQ(place.folder, "/shared/job7");
  EXPECT_FALSE(place.isTemporary);
}
