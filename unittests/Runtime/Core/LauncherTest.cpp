//===- LauncherTest.cpp - Tests of launchers and backends -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Launcher.h"
#include "../StatusText.h"
#include "Core/BackendLoader.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace commsched::runtime;

static const char *const variables[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "MPI_LOCALRANKID",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK"};

namespace {
struct LauncherTest : ::testing::Test {
  LauncherTest() {
    for (const char *variable : variables)
      unsetenv(variable);
    commsched_default_options(&options);
  }
  ~LauncherTest() override {
    for (const char *variable : variables)
      unsetenv(variable);
  }

  std::string find() {
    LaunchedRank result;
    if (Status status = findLaunchedRank(options, result); !status)
      return status.getMessage();
    return std::to_string(result.rank) + " of " +
           std::to_string(result.numRanks) + ", local " +
           std::to_string(result.localRank);
  }

  /// As tools ask.
  static std::string findByC(const char *backend) {
    commsched_launcher launcher;
    int32_t found = commsched_find_launcher(backend, &launcher);
    if (found == 0)
      return "none";
    if (found < 0)
      return std::string("error: ") + commsched_last_error();
    return std::string(launcher.name) + " for " + launcher.backend + ": " +
           std::to_string(launcher.rank) + " of " +
           std::to_string(launcher.num_ranks) + ", local " +
           std::to_string(launcher.local_rank);
  }

  commsched_options options;
};
} // namespace

TEST_F(LauncherTest, Environment) {
  EXPECT_EQ(find(), "no launcher says which rank this is: neither "
                    "OMPI_COMM_WORLD_RANK nor PMI_RANK nor RANK is set");
  setenv("RANK", "3", 1);
  EXPECT_EQ(find(), "WORLD_SIZE is not set, but RANK is");
  setenv("WORLD_SIZE", "8", 1);
  EXPECT_EQ(find(), "3 of 8, local -1");
  setenv("LOCAL_RANK", "1", 1);
  EXPECT_EQ(find(), "3 of 8, local 1");
  setenv("WORLD_SIZE", "3", 1);
  EXPECT_EQ(find(), "rank 3 of 3 ranks does not exist");
  setenv("WORLD_SIZE", "5x", 1);
  EXPECT_EQ(find(), "WORLD_SIZE='5x' is no rank or number of ranks");
}

TEST_F(LauncherTest, OtherMpi) {
  setenv("PMI_RANK", "0", 1);
  setenv("PMI_SIZE", "2", 1);
  EXPECT_EQ(find(), "0 of 2, local -1");
  setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "6", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "2", 1);
  EXPECT_EQ(find(), "5 of 6, local 2");
}

/// torchrun under mpirun: the agents of torchrun are MPI's ranks.
TEST_F(LauncherTest, TorchrunComesBeforeMpirun) {
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "0", 1);
  setenv("RANK", "5", 1);
  setenv("WORLD_SIZE", "8", 1);
  setenv("LOCAL_RANK", "1", 1);
  for (const char *backend : {"local", "nccl", "/lib/own.so"}) {
    options.backend = backend;
    EXPECT_EQ(find(), "5 of 8, local 1") << backend;
  }
  EXPECT_EQ(findByC("nccl"), "torchrun for nccl: 5 of 8, local 1");
  EXPECT_EQ(findByC(nullptr), "torchrun for nccl: 5 of 8, local 1");
  // The ranks of this backend are MPI's.
  options.backend = "mpi";
  EXPECT_EQ(find(), "1 of 2, local 0");
  EXPECT_EQ(findByC("mpi"), "mpirun for mpi: 1 of 2, local 0");
}

TEST_F(LauncherTest, CompleteVariablesComeFirst) {
  setenv("RANK", "3", 1);
  EXPECT_EQ(findByC(nullptr), "error: WORLD_SIZE is not set, but RANK is");
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_EQ(find(), "1 of 2, local -1");
  EXPECT_EQ(findByC(nullptr), "mpirun for mpi: 1 of 2, local -1");
}

TEST_F(LauncherTest, NoLauncher) { EXPECT_EQ(findByC(nullptr), "none"); }

TEST_F(LauncherTest, OptionsComeFirst) {
  setenv("RANK", "1", 1);
  setenv("WORLD_SIZE", "2", 1);
  setenv("LOCAL_RANK", "1", 1);
  options.rank = 0;
  EXPECT_EQ(find(), "a rank and a number of ranks are given together or not "
                    "at all");
  options.num_ranks = 4;
  EXPECT_EQ(find(), "0 of 4, local -1");
  options.rank = 1;
  options.num_ranks = 2;
  EXPECT_EQ(find(), "1 of 2, local 1");
  options.rank = -2;
  EXPECT_EQ(find(), "rank -2 of 2 ranks does not exist");
}

namespace fs = std::filesystem;

namespace {
/// A folder of backends of its own.
struct BackendLoaderTest : ::testing::Test {
  BackendLoaderTest() {
    folder = ::testing::TempDir() + "commsched-backends-" +
             std::to_string(::getpid());
    fs::create_directory(folder);
    setenv("COMMSCHED_BACKEND_PATH", folder.c_str(), 1);
  }
  ~BackendLoaderTest() override {
    unsetenv("COMMSCHED_BACKEND_PATH");
    fs::remove_all(folder);
  }

  std::string createError(const std::string &name) {
    Status status;
    EXPECT_EQ(createBackend(name, BackendConfig(), status), nullptr);
    return toText(status);
  }

  std::string folder;
};
} // namespace

TEST_F(BackendLoaderTest, SaysWhereItLookedAndWhatThereIs) {
  std::string error = createError("nothere");
  EXPECT_EQ(error.find("there is no backend 'nothere': looked for '" + folder +
                       "/libCommSchedRuntimeNothere.so', '"),
            0u)
      << error;
  EXPECT_NE(error.find("; there is 'local'"), std::string::npos) << error;
  EXPECT_EQ(createError("").find("there is no backend ''; there is 'local'"),
            0u);
  EXPECT_EQ(
      createError("a b").find("there is no backend 'a b'; there is 'local'"),
      0u);
}

TEST_F(BackendLoaderTest, FilesThatAreNoBackends) {
  std::ofstream(folder + "/libCommSchedRuntimeText.so") << "text";
  std::string error = createError("text");
  EXPECT_EQ(error.find("cannot load the backend 'text': "), 0u) << error;
  EXPECT_NE(error.find(folder), std::string::npos) << error;
  std::vector<std::string> names = listBackends();
  EXPECT_EQ(names.front(), "local");
  EXPECT_EQ(std::count(names.begin(), names.end(), "text"), 1);

  error = createError("/nowhere/lib.so");
  EXPECT_EQ(error.find("cannot load the backend '/nowhere/lib.so': "), 0u);
}

TEST_F(BackendLoaderTest, BackendsThatCannotStart) {
  // One that is found by its name, and one by its path.
  fs::copy_file(COMMSCHED_REFUSING_BACKEND,
                folder + "/libCommSchedRuntimeRefusing.so");
  EXPECT_EQ(createError("refusing"),
            "the backend 'refusing' cannot start: there is no device");
  EXPECT_EQ(createError(COMMSCHED_REFUSING_BACKEND),
            "the backend '" COMMSCHED_REFUSING_BACKEND
            "' cannot start: there is no device");
  EXPECT_EQ(createError(COMMSCHED_NO_BACKEND),
            "'" COMMSCHED_NO_BACKEND
            "' is no backend: it has no commsched_create_backend");
}
