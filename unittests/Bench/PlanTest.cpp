//===- PlanTest.cpp - Tests of the plan of a run --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace commsched::bench;

namespace {

Settings makeSettings() {
  Settings settings;
  settings.operations = getOperations().vec();
  settings.groups = llvm::cantFail(parseGroups({"world", "columns:2"}));
  settings.elements = {findElement("f32")};
  settings.reductions = {COMMSCHED_SUM};
  settings.sizes = {100};
  return settings;
}

std::string getError(const Settings &settings, int32_t ranks) {
  llvm::Expected<Plan> plan = Plan::create(settings, ranks);
  return plan ? "" : llvm::toString(plan.takeError());
}

TEST(PlanTest, FindsMembers) {
  PlanGroup rows{"rows:2", 2, 1}, columns{"columns:2", 2, 3};
  EXPECT_EQ(rows.getMembers(3), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(rows.getMembers(4), (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(columns.getMembers(0), (std::vector<int32_t>{0, 3}));
  EXPECT_EQ(columns.getMembers(5), (std::vector<int32_t>{2, 5}));
  // Of more than one grid's ranks.
  EXPECT_EQ(columns.getMembers(7), (std::vector<int32_t>{7, 10}));
}

TEST(PlanTest, RoundsSizesDownToWholeParts) {
  Plan plan = llvm::cantFail(Plan::create(makeSettings(), 6));
  ASSERT_EQ(plan.points.size(), 14u);
  // all_gather of 6 ranks: 100 bytes hold 4 elements of 4 bytes each.
  EXPECT_EQ(plan.points[0].partElements, 4);
  EXPECT_EQ(plan.points[0].bytes, 96);
  // The same of 2 ranks, and all_reduce.
  EXPECT_EQ(plan.points[1].partElements, 12);
  EXPECT_EQ(plan.points[4].operation, Operation::AllReduce);
  EXPECT_EQ(plan.points[4].partElements, 25);
  EXPECT_EQ(plan.points[4].bytes, 100);
}

TEST(PlanTest, DescribesTheProgram) {
  Plan plan = llvm::cantFail(Plan::create(makeSettings(), 6));
  llvm::json::Value program = llvm::cantFail(llvm::json::parse(plan.program));
  const llvm::json::Object &object = *program.getAsObject();
  const llvm::json::Array &groups = *object.getArray("groups");
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].getAsObject()->getInteger("stride"), 3);
  const llvm::json::Array &sites = *object.getArray("sites");
  // A send_recv is two of them; the barrier is the last.
  ASSERT_EQ(sites.size(), 17u);
  EXPECT_EQ(plan.barrierSite, 16);
  EXPECT_EQ(sites[16].getAsObject()->getString("kind"), "barrier");
  const Point &last = plan.points.back();
  EXPECT_EQ(last.operation, Operation::SendRecv);
  EXPECT_EQ(last.site, 14);
  EXPECT_EQ(sites[14].getAsObject()->getString("kind"), "send");
  EXPECT_EQ(sites[14].getAsObject()->getInteger("peer"), 1);
  EXPECT_EQ(sites[15].getAsObject()->getString("kind"), "recv");
  EXPECT_EQ(sites[15].getAsObject()->getInteger("peer"), 0);
  const Point &permute = plan.points[11];
  EXPECT_EQ(permute.operation, Operation::Permute);
  EXPECT_EQ(*sites[permute.site].getAsObject()->get("pairs"),
            llvm::json::Value(llvm::json::Array{llvm::json::Array{0, 1},
                                                llvm::json::Array{1, 0}}));
}

TEST(PlanTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(getError(makeSettings(), 5),
            "group 'columns:2' does not divide the 5 ranks evenly");
  Settings settings = makeSettings();
  settings.sizes = {16};
  EXPECT_EQ(getError(settings, 6),
            "16 bytes hold no f32 for all_gather on group 'world', which takes "
            "24 bytes at least");
  settings = makeSettings();
  settings.elements = {findElement("f8E5M2")};
  settings.reductions = {COMMSCHED_AVG};
  EXPECT_EQ(getError(settings, 10),
            "reduction 'avg' of f8E5M2 on the 10 ranks of group 'world' cannot "
            "be checked: its results are not exact");
}

TEST(PlanTest, LeavesOutWhatOneRankCannotDo) {
  Settings settings = makeSettings();
  settings.groups = llvm::cantFail(parseGroups({"world"}));
  EXPECT_EQ(llvm::cantFail(Plan::create(settings, 1)).points.size(), 6u);
  settings.operations = {Operation::SendRecv};
  EXPECT_EQ(getError(settings, 1), "nothing to measure: the groups have one "
                                   "rank, and a send needs two");
}

} // namespace
