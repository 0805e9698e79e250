//===- JobAddressTest.cpp - Tests of the addresses of jobs ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap/Connection.h"

#include <gtest/gtest.h>

#include <map>

using namespace commsched::runtime;

namespace {

class JobAddressTest : public ::testing::Test {
protected:
  Status read() {
    address = JobAddress();
    return readJobAddress(
        [&](const char *name) {
          auto it = environment.find(name);
          return it == environment.end() ? nullptr : it->second.c_str();
        },
        address);
  }

  std::map<std::string, std::string> environment;
  JobAddress address;
};

} // namespace

TEST_F(JobAddressTest, RanksMeetOnThisMachine) {
  ASSERT_EQ(read(), Status());
  EXPECT_EQ(address.address, "127.0.0.1");
  EXPECT_EQ(address.port, 29501);
  EXPECT_EQ(address.job, "");
}

TEST_F(JobAddressTest, ReadsTorchrun) {
  environment = {{"MASTER_ADDR", "node0"},
                 {"MASTER_PORT", "4000"},
                 {"TORCHELASTIC_RUN_ID", "job7"}};
  ASSERT_EQ(read(), Status());
  EXPECT_EQ(address.address, "node0");
  EXPECT_EQ(address.port, 4001);
  EXPECT_EQ(address.job, "job7");
}

TEST_F(JobAddressTest, ThePortCanBeGiven) {
  environment = {{"COMMSCHED_PORT", "77"}, {"MASTER_PORT", "4000"}};
  ASSERT_EQ(read(), Status());
  EXPECT_EQ(address.port, 77);
}

TEST_F(JobAddressTest, PortsAreIntegersInTheirRange) {
  environment = {{"MASTER_PORT", "65535"}};
  EXPECT_EQ(read(), "the environment variable MASTER_PORT is '65535', not an "
                    "integer from 1 to 65534");
  environment = {{"COMMSCHED_PORT", "80x"}};
  EXPECT_EQ(read(), "the environment variable COMMSCHED_PORT is '80x', not an "
                    "integer from 1 to 65535");
}

TEST_F(JobAddressTest, SeveralMachinesNeedAnAddress) {
  environment = {{"OMPI_COMM_WORLD_SIZE", "4"},
                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(read(), "only 2 of 4 ranks are on this machine: set MASTER_ADDR "
                    "to the address of rank 0's");
  environment["MASTER_ADDR"] = "10.0.0.1";
  EXPECT_EQ(read(), Status());
}
