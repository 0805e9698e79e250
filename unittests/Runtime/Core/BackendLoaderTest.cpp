//===- BackendLoaderTest.cpp - Tests of the loading of backends -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/BackendLoader.h"

#include "../StatusText.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace commsched::runtime;
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
