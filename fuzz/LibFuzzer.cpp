//===- LibFuzzer.cpp - Mutations for libFuzzer ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

using namespace commsched::fuzz;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

static std::string_view toText(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// Copies what fits of `text` to `data`.
static size_t store(const std::string &text, uint8_t *data, size_t maxSize) {
  size_t size = std::min(text.size(), maxSize);
  std::memcpy(data, text.data(), size);
  return size;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  Random random(seed);
  if (random() % 16 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  return store(mutate(toText(data, size), random), data, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                            const uint8_t *other,
                                            size_t otherSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  Random random(seed);
  return store(crossOver(toText(data, size), toText(other, otherSize), random),
               out, maxSize);
}
