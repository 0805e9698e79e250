//===- StepRecordsTest.cpp - Records of a step ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Records.h"

#include <gtest/gtest.h>

using namespace commsched::runtime;

TEST(StepRecords, SortedAndOnlyOfTheStep) {
  StepRecords records;
  records.add(COMMSCHED_RECORD_COMPUTE, 9, {0, 1});
  records.begin();
  records.add(COMMSCHED_RECORD_COMPUTE, 0, {5, 6});
  records.add(COMMSCHED_RECORD_WAIT, 1, {2, 5});
  records.add(COMMSCHED_RECORD_COLLECTIVE, 2, {2, 3});
  records.end();
  records.add(COMMSCHED_RECORD_COMPUTE, 9, {0, 1});
  ASSERT_EQ(records.get().size(), 3u);
  EXPECT_EQ(records.get()[0].index, 1);
  EXPECT_EQ(records.get()[1].index, 2);
  EXPECT_EQ(records.get()[1].end_ns, 3);
  EXPECT_EQ(records.get()[2].index, 0);
  records.begin();
  EXPECT_TRUE(records.get().empty());
}
