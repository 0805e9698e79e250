//===- CostNoise.cpp - Random deviations of costs -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostNoise.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace mlir::commsched;

/// Weighted factors have more than 64 bits.
__extension__ using Wide = unsigned __int128;

/// Factors and what they are computed from are in units of 2^-28.
static constexpr int64_t one = INT64_C(1) << 28;

/// The next number of a splitmix64 generator.
static uint64_t next(uint64_t &state) {
  state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
  return mixed ^ (mixed >> 31);
}

/// The sum of twelve numbers that are uniform between -1/2 and 1/2: normal with
/// a deviation of 1, but that it never exceeds 6.
static int64_t drawNormal(uint64_t seed) {
  constexpr int64_t perUnit = 1 << 17;
  int64_t sum = 0;
  for (int word = 0; word < 3; ++word) {
    uint64_t bits = next(seed);
    // The middle of one of 2^16 equal parts.
    for (int part = 0; part < 4; ++part, bits >>= 16)
      sum += 2 * static_cast<int64_t>(bits & 0xffff) + 1 - perUnit / 2;
  }
  return sum * (one / perUnit);
}

/// e to the power of `exponent`, which lies between -2 and 2.
static int64_t exponential(int64_t exponent) {
  int64_t sum = one, term = one;
  for (int64_t degree = 1; term != 0; ++degree) {
    term = term * exponent / (one * degree);
    sum += term;
  }
  return sum;
}

/// Lognormal with a mean of 1, as the exponent's mean is less than 0 by half of
/// its variance.
static int64_t drawFactor(uint64_t seed, uint32_t draw) {
  // Draws of one operation are far apart in the generator's sequence.
  uint64_t state = seed + draw;
  state = next(state);
  return exponential(drawNormal(state) / 5 - one / 50);
}

void NoiseSource::add(StringRef name, int64_t weight) {
  parts.push_back({llvm::xxh3_64bits(name), weight});
  totalWeight += weight;
}

int64_t NoiseSource::apply(int64_t costNs, uint32_t draw) const {
  if (isEmpty())
    return costNs;
  Wide weighted = 0;
  for (const Part &part : parts)
    weighted += static_cast<Wide>(part.weight) * drawFactor(part.seed, draw);
  Wide factor = weighted / totalWeight;
  return static_cast<int64_t>(static_cast<Wide>(costNs) * factor / one);
}

NoiseSource mlir::commsched::findNoiseSource(StringRef name,
                                             const NamedCosts &input) {
  // The names of the input may have a '+' of their own.
  if (input.contains(name))
    return NoiseSource(name);
  NoiseSource merged;
  for (StringRef member : llvm::split(name, '+')) {
    auto it = input.find(member);
    if (it == input.end())
      return NoiseSource(name);
    merged.add(member, it->second);
  }
  return merged;
}
