//===- EmulatedData.cpp - Results of operators that do not run --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Runtime/Backend.h"

#include "Numerics/Elements.h"

#include <algorithm>

using namespace commsched::runtime;

/// The finalizer of MurmurHash3: every bit of the result depends on all.
static uint64_t mix(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccd;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53;
  return value ^ value >> 33;
}

static uint64_t hashBytes(uint64_t hash, const char *data, int64_t bytes) {
  int64_t i = 0;
  for (; i + 8 <= bytes; i += 8)
    hash = mix(hash ^ readElement<uint64_t>(data + i, 0)) + 1;
  for (; i < bytes; ++i)
    hash = mix(hash ^ static_cast<unsigned char>(data[i])) + 1;
  return mix(hash ^ static_cast<uint64_t>(bytes));
}

/// Everything of a small buffer, 64 blocks spread over a large one.
static uint64_t hashBuffer(uint64_t hash, const void *data, int64_t bytes) {
  constexpr int64_t blocks = 64;
  constexpr int64_t blockBytes = 1024;
  const char *begin = static_cast<const char *>(data);
  if (bytes <= blocks * blockBytes)
    return hashBytes(hash, begin, bytes);
  for (int64_t block = 0; block < blocks; ++block) {
    // The last block ends where the buffer does.
    int64_t offset = (bytes - blockBytes) / (blocks - 1) * block;
    if (block == blocks - 1)
      offset = bytes - blockBytes;
    hash = hashBytes(hash, begin + offset, blockBytes);
  }
  return mix(hash ^ static_cast<uint64_t>(bytes));
}

template <class T> static T makeElement(uint64_t bits) {
  if constexpr (isComplexType<T>)
    return T{static_cast<typename T::Part>(bits & 7),
             static_cast<typename T::Part>(bits >> 3 & 7)};
  else if constexpr (std::is_same_v<T, Bool>)
    return Bool{static_cast<uint8_t>(bits & 1)};
  else
    return narrow<T>(static_cast<int64_t>(bits & 7));
}

template <class T>
static void fill(void *target, int64_t count, uint64_t seed) {
  // Only 64 different elements: converting each would take most of the time.
  T table[64];
  for (uint64_t bits = 0; bits < 64; ++bits)
    table[bits] = makeElement<T>(bits);
  constexpr int64_t perHash = 8;
  for (int64_t i = 0; i < count; i += perHash) {
    uint64_t bits = mix(seed + static_cast<uint64_t>(i));
    for (int64_t j = i; j < std::min(i + perHash, count); ++j, bits >>= 8)
      writeElement(target, j, table[bits & 63]);
  }
}

void commsched::runtime::emulateData(const Operator &op,
                                     const void *const *inputs,
                                     void *const *outputs) {
  uint64_t hash =
      hashBytes(0, op.name.data(), static_cast<int64_t>(op.name.size()));
  for (size_t i = 0; i < op.inputs.size(); ++i)
    hash = hashBuffer(hash, inputs[i],
                      op.inputs[i].elements * op.inputs[i].element.bytes);
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const OperatorBuffer &output = op.outputs[i];
    uint64_t seed = mix(hash + i);
    if (output.element.type)
      dispatchType(*output.element.type, [&](auto tag) {
        fill<typename decltype(tag)::Type>(outputs[i], output.elements, seed);
      });
    else
      fill<uint8_t>(outputs[i], output.elements * output.element.bytes, seed);
  }
}
