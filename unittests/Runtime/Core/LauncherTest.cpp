//===- LauncherTest.cpp - Tests of launchers and backends -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Core/Launcher.h"
#include "../StatusText.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
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

/// Sets the variables of launchers to these, and no others.
static void setVariables(const std::string &text) {
  for (const char *variable : variables)
    unsetenv(variable);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t equals = word.find('=');
    setenv(word.substr(0, equals).c_str(), word.c_str() + equals + 1, 1);
  }
}

static const std::string torchrunUnderMpirun =
    "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 "
    "OMPI_COMM_WORLD_LOCAL_RANK=0 RANK=5 WORLD_SIZE=8 LOCAL_RANK=1";
static const std::string mpirunBesideHalf =
    "RANK=3 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2";

TEST(Launcher, ReadsTheEnvironment) {
  const std::string given = "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1";
  struct {
    std::string variables, found;
    const char *backend = nullptr;
    int32_t rank = -1, numRanks = -1;
  } const cases[] = {
      {"", "0 of 1, local -1"},
      {"RANK=3", "WORLD_SIZE is not set, but RANK is"},
      {"RANK=3 WORLD_SIZE=8", "3 of 8, local -1"},
      {"RANK=3 WORLD_SIZE=8 LOCAL_RANK=1", "3 of 8, local 1"},
      {"RANK=3 WORLD_SIZE=3", "rank 3 of 3 ranks does not exist"},
      {"RANK=3 WORLD_SIZE=5x", "WORLD_SIZE='5x' is no rank or number of ranks"},
      {"PMI_RANK=0 PMI_SIZE=2", "0 of 2, local -1"},
      {"PMI_RANK=0 PMI_SIZE=2 OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=6 "
       "OMPI_COMM_WORLD_LOCAL_RANK=2",
       "5 of 6, local 2"},
      // The agents of torchrun are MPI's ranks, and those of its backend.
      {torchrunUnderMpirun, "5 of 8, local 1", "local"},
      {torchrunUnderMpirun, "5 of 8, local 1", "nccl"},
      {torchrunUnderMpirun, "5 of 8, local 1", "/lib/own.so"},
      {torchrunUnderMpirun, "1 of 2, local 0", "mpi"},
      // What is complete comes first.
      {mpirunBesideHalf, "1 of 2, local -1"},
      // Options do before that.
      {given, "a rank and a number of ranks are given together or not at all",
       nullptr, 0},
      {given, "0 of 4, local -1", nullptr, 0, 4},
      {given, "1 of 2, local 1", nullptr, 1, 2},
      {given, "rank -2 of 2 ranks does not exist", nullptr, -2, 2}};
  for (const auto &[variables, found, backend, rank, numRanks] : cases) {
    setVariables(variables);
    commsched_options options;
    commsched_default_options(&options);
    if (backend)
      options.backend = backend;
    options.rank = rank;
    options.num_ranks = numRanks;
    commsched_launcher result;
    Status status = findLaunchedRank(options, result);
    EXPECT_EQ(status ? std::to_string(result.rank) + " of " +
                           std::to_string(result.num_ranks) + ", local " +
                           std::to_string(result.local_rank)
                     : status.getMessage(),
              found)
        << variables;
  }
  setVariables("");
}

/// As tools ask.
TEST(Launcher, IsFoundByC) {
  struct {
    std::string variables;
    const char *backend;
    const char *found;
  } const cases[] = {
      {"", nullptr, "none"},
      {"RANK=3", nullptr, "error: WORLD_SIZE is not set, but RANK is"},
      {mpirunBesideHalf, nullptr, "mpirun for mpi: 1 of 2, local -1"},
      {torchrunUnderMpirun, "nccl", "torchrun for nccl: 5 of 8, local 1"},
      {torchrunUnderMpirun, nullptr, "torchrun for nccl: 5 of 8, local 1"},
      {torchrunUnderMpirun, "mpi", "mpirun for mpi: 1 of 2, local 0"}};
  for (const auto &[variables, backend, found] : cases) {
    setVariables(variables);
    commsched_launcher launcher;
    int32_t status = commsched_find_launcher(backend, &launcher);
    std::string text =
        status < 0 ? std::string("error: ") + commsched_last_error() : "none";
    if (status > 0)
      text = std::string(launcher.name) + " for " + launcher.backend + ": " +
             std::to_string(launcher.rank) + " of " +
             std::to_string(launcher.num_ranks) + ", local " +
             std::to_string(launcher.local_rank);
    EXPECT_EQ(text, found) << variables;
  }
  setVariables("");
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
