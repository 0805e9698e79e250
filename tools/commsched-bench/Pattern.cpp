//===- Pattern.cpp - Inputs and expected outputs --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cstring>

namespace commsched::bench {

Pattern::Pattern(const Element &element, Operation operation,
                 std::optional<commsched_reduction> reduction,
                 llvm::ArrayRef<int32_t> members)
    : element(element), operation(operation), reduction(reduction),
      members(members.vec()) {}

bool Pattern::exists(const Element &element,
                     std::optional<commsched_reduction> reduction,
                     int64_t ranks) {
  return reduction != COMMSCHED_AVG || ranks <= element.maxExact;
}

/// A number that looks random, so that its last bits differ by each argument
/// whatever the others are.
static int64_t mixBits(uint64_t rank, uint64_t part, uint64_t index) {
  uint64_t bits = (rank << 42) ^ (part << 21) ^ index;
  // Multiplying carries low bits up, shifting brings them down again.
  for (int round = 0; round < 2; ++round) {
    bits *= 0x9e3779b97f4a7c15;
    bits ^= bits >> 29;
  }
  return bits >> 33;
}

int64_t Pattern::getInput(int32_t source, int64_t part, int64_t index) const {
  int64_t ranks = members.size();
  int64_t mix = mixBits(members[source], part, index);
  // Which member is special depends on the element.
  int64_t turn = (source + part + index) % ranks;
  int64_t most = element.maxExact;
  if (!reduction)
    return mix % std::min<int64_t>(most + 1, 113);
  switch (*reduction) {
  case COMMSCHED_SUM: {
    // No more members than can be counted exactly send anything but 0.
    int64_t senders = std::min(ranks, most);
    return turn < senders ? mix % std::min<int64_t>(most / senders + 1, 8) : 0;
  }
  case COMMSCHED_AVG:
    // One sends what the average is multiplied with, so that it is 1 or 0.
    return turn == 0 ? ranks * ((part + index) % 2) : 0;
  case COMMSCHED_PROD:
    return turn == 0 ? std::min<int64_t>((part + index) % 3, most) : 1;
  default:
    return mix % std::min<int64_t>(most + 1, 8);
  }
}

int64_t Pattern::getReduced(int64_t part, int64_t index) const {
  int64_t result = getInput(0, part, index);
  for (int32_t source = 1, e = members.size(); source < e; ++source) {
    int64_t value = getInput(source, part, index);
    switch (*reduction) {
    case COMMSCHED_SUM:
    case COMMSCHED_AVG:
      result += value;
      break;
    case COMMSCHED_PROD:
      result *= value;
      break;
    case COMMSCHED_MIN:
      result = std::min(result, value);
      break;
    case COMMSCHED_MAX:
      result = std::max(result, value);
      break;
    case COMMSCHED_BAND:
      result &= value;
      break;
    case COMMSCHED_BOR:
      result |= value;
      break;
    case COMMSCHED_BXOR:
      result ^= value;
      break;
    }
  }
  return reduction == COMMSCHED_AVG ? result / int64_t(members.size()) : result;
}

int64_t Pattern::getOutput(int32_t self, int64_t part, int64_t index) const {
  int32_t ranks = members.size();
  switch (operation) {
  case Operation::AllGather:
    return getInput(part, 0, index);
  case Operation::ReduceScatter:
    return getReduced(self, index);
  case Operation::AllReduce:
    return getReduced(0, index);
  case Operation::AllToAll:
    return getInput(part, self, index);
  case Operation::Permute:
    return getInput((self + ranks - 1) % ranks, 0, index);
  case Operation::Broadcast:
  case Operation::SendRecv:
    return getInput(0, 0, index);
  }
  llvm_unreachable("unknown operation");
}

template <typename GetValue>
std::vector<char> Pattern::makeTile(GetValue get) const {
  std::vector<char> tile(period * element.bytes);
  // Products of complex numbers mix the parts: there the second one is 0.
  bool onlyReal = reduction == COMMSCHED_PROD;
  for (int64_t i = 0; i < period; ++i)
    writeElement(element, get(i), onlyReal ? 0 : get(i + 1),
                 tile.data() + i * element.bytes);
  return tile;
}

void Pattern::fillInputs(int32_t self, int64_t partElements,
                         llvm::MutableArrayRef<char> buffer) const {
  size_t partBytes = partElements * element.bytes;
  for (size_t part = 0; part * partBytes < buffer.size(); ++part) {
    std::vector<char> tile =
        makeTile([&](int64_t index) { return getInput(self, part, index); });
    for (size_t at = 0; at < partBytes; at += tile.size())
      std::memcpy(buffer.data() + part * partBytes + at, tile.data(),
                  std::min(tile.size(), partBytes - at));
  }
}

int64_t Pattern::countWrong(int32_t self, int64_t partElements,
                            llvm::ArrayRef<char> buffer) const {
  size_t partBytes = partElements * element.bytes;
  int64_t wrong = 0;
  for (size_t part = 0; part * partBytes < buffer.size(); ++part) {
    std::vector<char> tile =
        makeTile([&](int64_t index) { return getOutput(self, part, index); });
    for (size_t at = 0; at < partBytes; at += tile.size()) {
      size_t bytes = std::min(tile.size(), partBytes - at);
      const char *actual = buffer.data() + part * partBytes + at;
      if (std::memcmp(actual, tile.data(), bytes) == 0)
        continue;
      for (size_t i = 0; i < bytes; i += element.bytes)
        wrong += std::memcmp(actual + i, tile.data() + i, element.bytes) != 0;
    }
  }
  return wrong;
}

} // namespace commsched::bench
