//===- SettingsTest.cpp - Tests of command-line settings ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

#include "gtest/gtest.h"

using namespace commsched::bench;

namespace {

template <typename T> std::string getError(llvm::Expected<T> value) {
  return value ? "" : llvm::toString(value.takeError());
}

TEST(SettingsTest, ReadsBytes) {
  EXPECT_EQ(llvm::cantFail(parseBytes("1", "--min-bytes")), 1);
  EXPECT_EQ(llvm::cantFail(parseBytes("3K", "--min-bytes")), 3072);
  EXPECT_EQ(llvm::cantFail(parseBytes("4M", "--min-bytes")), 4 << 20);
  EXPECT_EQ(llvm::cantFail(parseBytes("1024G", "--min-bytes")), int64_t(1)
                                                                    << 40);
  for (const char *text : {"", "K", "0", "-1", "1025G", "99999999999999999999",
                           "1k", "1.5M", "1KK", " 1"})
    EXPECT_EQ(getError(parseBytes(text, "--min-bytes")),
              std::string("--min-bytes must be a number of bytes from 1 to "
                          "1024G, with K, M or G for powers of 1024, not '") +
                  text + "'");
}

TEST(SettingsTest, MakesSizesUpToTheLargest) {
  EXPECT_EQ(llvm::cantFail(makeSizes(8, 128, 4)),
            (std::vector<int64_t>{8, 32, 128}));
  EXPECT_EQ(llvm::cantFail(makeSizes(8, 127, 4)),
            (std::vector<int64_t>{8, 32}));
  EXPECT_EQ(llvm::cantFail(makeSizes(8, 8, 2)), (std::vector<int64_t>{8}));
  EXPECT_EQ(llvm::cantFail(makeSizes(8, 16, INT64_MAX)),
            (std::vector<int64_t>{8}));
  EXPECT_EQ(getError(makeSizes(8, 16, 1)),
            "--factor must be at least 2, not 1");
  EXPECT_EQ(getError(makeSizes(16, 8, 2)),
            "--min-bytes is 16, but --max-bytes is only 8");
}

TEST(SettingsTest, ReadsGroups) {
  std::vector<GroupShape> groups =
      llvm::cantFail(parseGroups({"world", "rows:2", "columns:4"}));
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].kind, GroupShape::Kind::World);
  EXPECT_EQ(groups[1].kind, GroupShape::Kind::Rows);
  EXPECT_EQ(groups[1].size, 2);
  EXPECT_EQ(groups[2].kind, GroupShape::Kind::Columns);
  EXPECT_EQ(groups[2].name, "columns:4");
  EXPECT_EQ(getError(parseGroups({"tiles:2"})),
            "unknown group 'tiles:2'; there are world, rows:SIZE, "
            "columns:SIZE");
  EXPECT_EQ(getError(parseGroups({"rows"})),
            "group 'rows' needs a positive number of ranks, as in rows:2");
  EXPECT_EQ(getError(parseGroups({"columns:0"})),
            "group 'columns:0' needs a positive number of ranks, as in "
            "columns:2");
  EXPECT_EQ(getError(parseGroups({"world:2"})),
            "unknown group 'world:2'; there are world, rows:SIZE, "
            "columns:SIZE");
  EXPECT_EQ(getError(parseGroups({"rows:2", "rows:2"})),
            "group 'rows:2' is given twice");
}

TEST(SettingsTest, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(getError(parseOperations({"all_reduce", "allreduce"})),
            "unknown collective 'allreduce'; there are all_gather, "
            "reduce_scatter, all_reduce, all_to_all, broadcast, permute, "
            "send_recv");
  EXPECT_EQ(getError(parseOperations({"permute", "permute"})),
            "collective 'permute' is given twice");
  EXPECT_EQ(getError(parseReductions({"mean"})),
            "unknown reduction 'mean'; there are sum, avg, prod, min, max, "
            "band, bor, bxor");
  EXPECT_EQ(getError(parseElements({"float"})).substr(0, 23),
            "unknown type 'float'; t");
}

TEST(SettingsTest, KeepsTheOrderOfNames) {
  std::vector<const Element *> elements =
      llvm::cantFail(parseElements({"bf16", "i8"}));
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(elements[0]->type, COMMSCHED_BF16);
  EXPECT_EQ(elements[1]->type, COMMSCHED_I8);
}

} // namespace
