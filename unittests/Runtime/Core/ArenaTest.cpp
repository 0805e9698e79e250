//===- ArenaTest.cpp - Tests of the reuse of buffers ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Rank.h"

#include "../StatusText.h"
#include "CommSched/Runtime/Backend.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>

using namespace commsched::runtime;

namespace {

/// A backend for tests of the core's use of a backend's memory.
class StubBackend : public Backend {
public:
  int64_t bytesLeft = int64_t(1) << 30;
  int64_t numAllocations = 0;
  std::map<void *, int64_t> live;

  ~StubBackend() override {
    for (const auto &[buffer, bytes] : live)
      std::free(buffer);
  }

  void *allocate(int64_t bytes, int64_t alignment, Status &status) override {
    if (bytes > bytesLeft) {
      status = "no memory left";
      return nullptr;
    }
    bytesLeft -= bytes;
    ++numAllocations;
    void *buffer = std::aligned_alloc(alignment, (bytes + alignment - 1) /
                                                     alignment * alignment);
    live[buffer] = bytes;
    return buffer;
  }
  void release(void *buffer) override {
    bytesLeft += live.at(buffer);
    live.erase(buffer);
    std::free(buffer);
  }

  int32_t getRank() const override { return 0; }
  int32_t getNumRanks() const override { return 1; }
  Status exchange(const std::string &mine, std::vector<std::string> &all,
                  Deadline) override {
    all = {mine};
    return Status();
  }
  void fail(const std::string &) override {}
  Status checkSite(const Site &) const override { return Status(); }
  Status checkHostCode(const std::string &) const override { return Status(); }
  Status createGroup(const Group &, Deadline) override { return Status(); }
  std::unique_ptr<Request> start(Launch, Status &) override { return nullptr; }
  bool test(Request &, Status &) override { return true; }
  Status wait(Request &, Deadline) override { return Status(); }
  Status poll() override { return Status(); }
  Status compute(const Operator &, int64_t, const void *const *,
                 void *const *) override {
    return Status();
  }
  Status copy(const StridedCopy &) override { return Status(); }
  Status zero(void *, int64_t) override { return Status(); }
  Status upload(void *, const void *, int64_t) override { return Status(); }
  Status download(void *, const void *, int64_t) override { return Status(); }
  Status beginStep() override { return Status(); }
  Status endStep(int64_t &, Deadline) override { return Status(); }
  Status synchronize(Deadline) override { return Status(); }
  Status shutdown(bool, Deadline) override { return Status(); }
};

struct ArenaTest : ::testing::Test {
  void *allocate(int64_t bytes, int64_t alignment = 0) {
    Status status;
    void *buffer = arena.allocate(bytes, alignment, status);
    EXPECT_EQ(status, Status());
    return buffer;
  }

  std::string allocateError(int64_t bytes, int64_t alignment) {
    Status status;
    EXPECT_EQ(arena.allocate(bytes, alignment, status), nullptr);
    return toText(status);
  }

  StubBackend backend;
  Arena arena{backend};
};
} // namespace

TEST_F(ArenaTest, ReusesBlocksOfTheSameClass) {
  void *first = allocate(1000);
  EXPECT_EQ(arena.release(first), Status());
  EXPECT_EQ(allocate(1010), first);
  EXPECT_NE(allocate(1000), first);
  EXPECT_EQ(backend.numAllocations, 2);
  // Another size, or alignment, is another block.
  EXPECT_EQ(arena.release(first), Status());
  EXPECT_NE(allocate(100), first);
  EXPECT_NE(allocate(1000, 4096), first);
}

TEST_F(ArenaTest, CountsWhatWasAskedFor) {
  void *a = allocate(100);
  void *b = allocate(50);
  EXPECT_EQ(arena.getLiveBytes(), 150);
  EXPECT_EQ(arena.release(a), Status());
  EXPECT_EQ(arena.getLiveBytes(), 50);
  EXPECT_EQ(arena.getPeakBytes(), 150);
  arena.resetPeak();
  EXPECT_EQ(arena.getPeakBytes(), 50);
  EXPECT_EQ(arena.release(b), Status());
  EXPECT_EQ(arena.release(b), "released a buffer that is not allocated");
}

TEST_F(ArenaTest, ZeroBytesAreBlocks) {
  void *a = allocate(0);
  void *b = allocate(0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(arena.getLiveBytes(), 0);
  EXPECT_EQ(arena.release(a), Status());
}

TEST_F(ArenaTest, ClassesWasteAtMostAQuarter) {
  int64_t last = 0;
  for (int64_t bytes = 0; bytes < 100000; ++bytes) {
    int64_t rounded = Arena::roundUp(bytes);
    ASSERT_GE(rounded, std::max<int64_t>(bytes, last));
    ASSERT_EQ(rounded % 64, 0);
    ASSERT_LE(rounded, bytes + std::max<int64_t>(64, bytes / 4));
    last = rounded;
  }
}

TEST_F(ArenaTest, Errors) {
  EXPECT_EQ(allocateError(-1, 0), "cannot allocate -1 bytes");
  EXPECT_EQ(allocateError(INT64_MAX, 0),
            "cannot allocate 9223372036854775807 bytes");
  EXPECT_EQ(allocateError(8, 48), "an alignment of 48 is no power of two");
  EXPECT_EQ(allocateError(8, -64), "an alignment of -64 is no power of two");
  allocate(10);
  backend.bytesLeft = 0;
  EXPECT_EQ(allocateError(1000, 0),
            "cannot allocate 1000 bytes with 10 in use: no memory left");
}

TEST_F(ArenaTest, GivesBackWhatIsCachedBeforeItFails) {
  backend.bytesLeft = 4096;
  void *small = allocate(2000);
  EXPECT_EQ(arena.release(small), Status());
  EXPECT_NE(allocate(4096), nullptr);
  EXPECT_EQ(backend.live.size(), 1u);
}

TEST_F(ArenaTest, GivesBackEverything) {
  allocate(10);
  EXPECT_EQ(arena.release(allocate(20)), Status());
  arena.releaseAll();
  EXPECT_TRUE(backend.live.empty());
}
