//===- Standalone.cpp - Fuzzing without libFuzzer -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a fuzz target on the files of a corpus and on mutations of them, for
// compilers without libFuzzer and for tests: the same inputs in every run.
//
//   commsched-fuzz-... FOLDER [COUNT [SEED]]
//
// The input that runs is written to the file last-input beforehand, so that a
// crash leaves it behind.
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

using namespace commsched::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const std::string &input) {
  std::ofstream("last-input", std::ios::binary) << input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(input.data()),
                         input.size());
}

/// The contents of the files in `folder`, in the order of their names.
static std::vector<std::string> readCorpus(const char *folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const std::filesystem::path &path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
  }
  return corpus;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: " << argv[0] << " FOLDER [COUNT [SEED]]\n";
    return EXIT_FAILURE;
  }
  std::vector<std::string> corpus = readCorpus(argv[1]);
  if (corpus.empty()) {
    std::cerr << argv[0] << ": there are no inputs in '" << argv[1] << "'\n";
    return EXIT_FAILURE;
  }
  long count = argc > 2 ? std::atol(argv[2]) : 0;
  Random random(argc > 3 ? static_cast<uint32_t>(std::atol(argv[3])) : 1);
  for (const std::string &input : corpus)
    run(input);
  for (long i = 0; i < count; ++i) {
    std::string input = corpus[random() % corpus.size()];
    if (random() % 2)
      input = crossOver(input, corpus[random() % corpus.size()], random);
    run(mutate(input, random));
  }
  std::filesystem::remove("last-input");
  std::cout << "ran " << corpus.size() << " inputs and " << count
            << " mutations\n";
  return EXIT_SUCCESS;
}
