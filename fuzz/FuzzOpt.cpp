//===- FuzzOpt.cpp - Fuzz target: passes on modules -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An input is a module whose first line is a comment with the flags of
// commsched-opt, such as "// --commsched-pipeline=memory-budget=5%". Parser,
// verifiers and passes may refuse it. If they do not, the result must parse and
// verify, and a second run must give the same.
//
// The flags run in a temporary folder and may name files in it, but no paths.
// What follows a line "// ----- file" is the content of the file a.json there.
//===----------------------------------------------------------------------===//

#include "CommSched/Tools/InProcess.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace fs = std::filesystem;
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

/// Whether flags may read or write outside of the folder in which they run.
static bool leaveFolder(const std::vector<std::string> &flags) {
  for (const std::string &flag : flags)
    if (flag.find('/') != std::string::npos ||
        flag.find("..") != std::string::npos)
      return true;
  return false;
}

namespace {

/// The folder in which flags of this process read and write.
class Folder {
public:
  Folder() : before(fs::current_path()) {
    std::string name =
        (fs::temp_directory_path() / "commsched-fuzz-XXXXXX").string();
    if (!mkdtemp(name.data())) {
      std::perror(name.c_str());
      std::exit(EXIT_FAILURE);
    }
    path = name;
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path, error);
  }

  /// Makes it the current one, with the file a.json of that content.
  void enter(const std::string &content) {
    fs::current_path(path);
    if (!content.empty())
      std::ofstream("a.json", std::ios::binary) << content;
  }

  void leave() {
    for (const fs::directory_entry &entry : fs::directory_iterator(path))
      fs::remove_all(entry.path());
    fs::current_path(before);
  }

private:
  fs::path before, path;
};

} // namespace

/// runOpt() in a folder that is empty but for the file a.json.
static OptStatus runInFolder(const std::string &module,
                             const std::vector<std::string> &flags,
                             const std::string &content, std::string &output) {
  static Folder folder;
  folder.enter(content);
  OptStatus status = runOpt(module, flags, output);
  folder.leave();
  return status;
}

/// Whether MLIR 22's own parser crashes on the input: `permutation` and
/// `dimensions` of operations of linalg must be a list of short numbers.
static bool crashesMlir(const std::string &input) {
  for (std::string word : {"permutation", "dimensions"})
    for (size_t at = input.find(word); at != std::string::npos;
         at = input.find(word, at)) {
      at += word.size();
      size_t begin = input.find_first_not_of(" =", at);
      size_t end = input.find_first_not_of("0123456789, ", begin + 1);
      if (begin == std::string::npos || input[begin] != '[' ||
          end == std::string::npos || input[end] != ']' || end - begin > 18)
        return true;
    }
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
  if (flags.size() > 4 || leaveFolder(flags))
    return -1;
  const std::string separator = "\n// ----- file\n";
  std::string content;
  if (size_t end = input.find(separator); end != std::string::npos) {
    content = input.substr(end + separator.size());
    input.resize(end + 1);
  }
  if (crashesMlir(input))
    return -1;
  std::string output, again;
  if (runInFolder(input, flags, content, output) != OptStatus::Succeeded)
    return 0;
  check(runOpt(output, {}, again) == OptStatus::Succeeded,
        "the result is not valid", output);
  check(runInFolder(input, flags, content, again) == OptStatus::Succeeded &&
            again == output,
        "a second run gives another result", output);
  return 0;
}
