//===- EntryFunctionTest.cpp - Tests of program descriptions --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryFunction.h"

#include "gtest/gtest.h"

using namespace mlir::commsched::run;

TEST(ProgramSites, ReadsSitesAndGroups) {
  llvm::Expected<ProgramSites> program = ProgramSites::parse(
      R"({"groups": [{"name": "dp"}],
          "sites": [{"name": "a", "kind": "all_reduce", "group": 0}]})");
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  ASSERT_EQ(program->sites.size(), 1u);
  EXPECT_EQ(program->sites.front().name, "a");
}

TEST(ProgramSites, RefusesDeepNesting) {
  llvm::Expected<ProgramSites> program =
      ProgramSites::parse(std::string(1000000, '['));
  ASSERT_FALSE(bool(program));
  EXPECT_EQ(llvm::toString(program.takeError()),
            "values are nested 1000000 deep, but at most 100 are read");
}
