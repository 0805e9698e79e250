//===- FuzzOpt.cpp - Fuzz target: passes on modules -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is a module whose first line is a comment with the flags of
// commsched-opt, such as "// --commsched-pipeline=memory-budget=5%". Parser,
// verifiers and passes may refuse it. If they do not, the result must parse and
// verify, and a second run must give the same.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/InProcess.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace mlir::commsched;

static void append(const char *text, size_t size, void *userData) {
  static_cast<std::string *>(userData)->append(text, size);
}

static void ignore(const char *, size_t, void *) {}

static OptStatus runOpt(const std::string &module,
                        const std::vector<std::string> &flags,
                        std::string &output) {
  std::vector<const char *> pointers;
  for (const std::string &flag : flags)
    pointers.push_back(flag.c_str());
  output.clear();
  return runOpt(module.data(), module.size(), pointers.data(), pointers.size(),
                append, ignore, &output);
}

/// The flags of the first line. A space inside of an option's value is written
/// as a comma's neighbor is: flags are separated by " --".
static std::vector<std::string> readFlags(const std::string &input) {
  std::string line = input.substr(0, input.find('\n'));
  std::vector<std::string> flags;
  for (size_t begin = line.find("--"); begin != std::string::npos;) {
    size_t end = line.find(" --", begin);
    flags.push_back(line.substr(begin, end - begin));
    begin = end == std::string::npos ? end : end + 1;
  }
  return flags;
}

/// Whether the flags read or write files.
static bool namesFiles(const std::vector<std::string> &flags) {
  for (const std::string &flag : flags)
    for (const char *option :
         {"file=", "output=", "frontier=", "profile=", "operations=", "dump",
          "export", "folder=", "trace", "before="})
      if (flag.find(option) != std::string::npos)
        return true;
  return false;
}

static void check(bool isRight, const char *what, const std::string &text) {
  if (isRight)
    return;
  std::cerr << what << ":\n" << text << "\n";
  std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string input(reinterpret_cast<const char *>(data), size);
  std::vector<std::string> flags = readFlags(input);
  if (flags.size() > 4 || namesFiles(flags))
    return -1;
  std::string output, again;
  if (runOpt(input, flags, output) != OptStatus::Succeeded)
    return 0;
  check(runOpt(output, {}, again) == OptStatus::Succeeded,
        "the result is not valid", output);
  check(runOpt(input, flags, again) == OptStatus::Succeeded && again == output,
        "a second run gives another result", output);
  return 0;
}
