//===- PatternTest.cpp - Tests of inputs and expected outputs -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Carries the operations out with plain loops on decoded integers, and asks
// whether the pattern finds them right; then breaks them.
//
//===----------------------------------------------------------------------===//

#include "Pattern.h"

#include "gtest/gtest.h"

#include <map>
#include <numeric>

using namespace commsched::bench;

namespace {

using Bytes = std::vector<char>;

/// One operation on all members of a group.
struct Exchange {
  const Element &element;
  Operation operation;
  std::optional<commsched_reduction> reduction;
  int32_t ranks;
  int64_t count;
  std::vector<int32_t> members;
  Pattern pattern;
  std::vector<Bytes> inputs, outputs;

  Exchange(llvm::StringRef type, Operation operation,
           std::optional<commsched_reduction> reduction, int32_t ranks,
           int64_t count)
      : element(*findElement(type)), operation(operation), reduction(reduction),
        ranks(ranks), count(count), members(makeMembers(ranks)),
        pattern(element, operation, reduction, members) {
    PartCounts parts = getPartCounts(operation, ranks);
    for (int32_t self = 0; self < ranks; ++self) {
      inputs.emplace_back(parts.inputs * getPartBytes());
      outputs.emplace_back(parts.outputs * getPartBytes(), '\xff');
      pattern.fillInputs(self, count, inputs.back());
    }
  }

  /// Every second rank, from 1.
  static std::vector<int32_t> makeMembers(int32_t ranks) {
    std::vector<int32_t> members(ranks);
    for (int32_t i = 0; i < ranks; ++i)
      members[i] = 2 * i + 1;
    return members;
  }

  int64_t getPartBytes() const { return count * element.bytes; }
  Bytes getPart(const Bytes &buffer, int64_t part) const {
    auto begin = buffer.begin() + part * getPartBytes();
    return Bytes(begin, begin + getPartBytes());
  }
  void setPart(Bytes &buffer, int64_t part, const Bytes &value) const {
    std::copy(value.begin(), value.end(),
              buffer.begin() + part * getPartBytes());
  }

  Bytes reduce(int64_t part) const;
  void run();
  int64_t countWrong() const {
    int64_t wrong = 0;
    for (int32_t self = 0; self < ranks; ++self)
      wrong += pattern.countWrong(self, count, outputs[self]);
    return wrong;
  }
};

/// Sums, products and averages of components, as integers that are exact.
Bytes Exchange::reduce(int64_t part) const {
  int64_t bytes = element.bytes / element.components;
  std::map<Bytes, int64_t> decode;
  Bytes one(element.bytes);
  for (int64_t value = 0; value <= std::min<int64_t>(element.maxExact, 256);
       ++value) {
    writeElement(element, value, 0, one.data());
    decode[Bytes(one.begin(), one.begin() + bytes)] = value;
  }
  Bytes result(getPartBytes());
  for (int64_t i = 0; i < count; ++i) {
    int64_t values[2] = {0, 0};
    for (int32_t component = 0; component < element.components; ++component) {
      int64_t &value = values[component];
      // Of numbers that have no imaginary part, so that neither has the
      // product.
      bool isProduct = reduction == COMMSCHED_PROD && component == 0;
      value = isProduct ? 1 : 0;
      for (int32_t self = 0; self < ranks; ++self) {
        auto begin = inputs[self].begin() + part * getPartBytes() +
                     i * element.bytes + component * bytes;
        int64_t sent = decode.at(Bytes(begin, begin + bytes));
        value = isProduct ? value * sent : value + sent;
        EXPECT_LE(value, element.maxExact);
        if (reduction == COMMSCHED_PROD && component == 1) {
          EXPECT_EQ(sent, 0);
        }
      }
      if (reduction == COMMSCHED_AVG) {
        EXPECT_EQ(value % ranks, 0);
        value /= ranks;
      }
    }
    writeElement(element, values[0], values[1],
                 result.data() + i * element.bytes);
  }
  return result;
}

void Exchange::run() {
  for (int32_t self = 0; self < ranks; ++self) {
    Bytes &output = outputs[self];
    switch (operation) {
    case Operation::AllGather:
      for (int32_t from = 0; from < ranks; ++from)
        setPart(output, from, inputs[from]);
      break;
    case Operation::ReduceScatter:
      output = reduce(self);
      break;
    case Operation::AllReduce:
      output = reduce(0);
      break;
    case Operation::AllToAll:
      for (int32_t from = 0; from < ranks; ++from)
        setPart(output, from, getPart(inputs[from], self));
      break;
    case Operation::Broadcast:
    case Operation::SendRecv:
      output = inputs[0];
      break;
    case Operation::Permute:
      output = inputs[(self + ranks - 1) % ranks];
      break;
    }
  }
}

TEST(PatternTest, FindsEveryMoveRight) {
  for (const Element &element : getElements())
    for (Operation operation : getOperations())
      for (int32_t ranks : {1, 2, 3, 5})
        for (int64_t count : {1, 126, 127, 128, 300}) {
          if (isReduction(operation))
            continue;
          Exchange exchange(element.name, operation, std::nullopt, ranks,
                            count);
          exchange.run();
          EXPECT_EQ(exchange.countWrong(), 0)
              << element.name.str() << stringifyOperation(operation).str();
        }
}

TEST(PatternTest, FindsEveryReductionRight) {
  for (const Element &element : getElements())
    for (Operation operation : {Operation::ReduceScatter, Operation::AllReduce})
      for (commsched_reduction reduction :
           {COMMSCHED_SUM, COMMSCHED_AVG, COMMSCHED_PROD})
        for (int32_t ranks : {1, 2, 3, 8, 20}) {
          if (!Pattern::exists(element, reduction, ranks))
            continue;
          Exchange exchange(element.name, operation, reduction, ranks, 200);
          exchange.run();
          EXPECT_EQ(exchange.countWrong(), 0)
              << element.name.str() << " " << reduction << " " << ranks;
        }
}

TEST(PatternTest, ExpectsMinimaMaximaAndBits) {
  // Of one member, every reduction is the input itself; of two, bits are what
  // sum and exclusive or make of each other: a + b = (a ^ b) + 2 (a & b).
  for (commsched_reduction reduction :
       {COMMSCHED_MIN, COMMSCHED_MAX, COMMSCHED_BAND, COMMSCHED_BOR,
        COMMSCHED_BXOR}) {
    Exchange exchange("ui8", Operation::AllReduce, reduction, 2, 127);
    for (int32_t self = 0; self < 2; ++self)
      for (int64_t i = 0; i < 127; ++i) {
        int a = exchange.inputs[0][i], b = exchange.inputs[1][i];
        int expected = reduction == COMMSCHED_MIN    ? std::min(a, b)
                       : reduction == COMMSCHED_MAX  ? std::max(a, b)
                       : reduction == COMMSCHED_BAND ? a & b
                       : reduction == COMMSCHED_BOR  ? a | b
                                                     : a ^ b;
        exchange.outputs[self][i] = char(expected);
      }
    EXPECT_EQ(exchange.countWrong(), 0) << reduction;
  }
}

TEST(PatternTest, CountsWrongElements) {
  Exchange exchange("f32", Operation::AllGather, std::nullopt, 4, 300);
  EXPECT_EQ(exchange.countWrong(), 4 * 4 * 300);
  exchange.run();
  exchange.outputs[2][5 * 4] ^= 1;
  exchange.outputs[2][5 * 4 + 3] ^= 1;
  exchange.outputs[3][1199 * 4 + 2] ^= 1;
  EXPECT_EQ(exchange.countWrong(), 2);
}

TEST(PatternTest, NoticesWrongRanksPartsAndPlaces) {
  for (llvm::StringRef type : {"i1", "f8E5M2", "bf16", "f32"}) {
    // Another rank's part.
    Exchange gather(type, Operation::AllGather, std::nullopt, 4, 300);
    gather.run();
    gather.setPart(gather.outputs[0], 1, gather.inputs[2]);
    EXPECT_GT(gather.countWrong(), 0) << type.str();
    // Another part of the right rank.
    Exchange toAll(type, Operation::AllToAll, std::nullopt, 4, 300);
    toAll.run();
    toAll.setPart(toAll.outputs[0], 1, toAll.getPart(toAll.inputs[1], 3));
    EXPECT_GT(toAll.countWrong(), 0) << type.str();
    // Everything one element too late.
    Exchange late(type, Operation::Permute, std::nullopt, 4, 300);
    late.run();
    Bytes &output = late.outputs[1];
    std::rotate(output.begin(), output.end() - late.element.bytes,
                output.end());
    EXPECT_GT(late.countWrong(), 0) << type.str();
    // One rank's share of a sum is missing.
    Exchange sum(type, Operation::AllReduce, COMMSCHED_SUM, 4, 300);
    std::fill(sum.inputs[3].begin(), sum.inputs[3].end(), 0);
    sum.run();
    EXPECT_GT(sum.countWrong(), 0) << type.str();
  }
}

TEST(PatternTest, HasNoExactAverageOfTooManyRanks) {
  const Element &element = *findElement("f8E5M2");
  EXPECT_TRUE(Pattern::exists(element, COMMSCHED_AVG, 8));
  EXPECT_FALSE(Pattern::exists(element, COMMSCHED_AVG, 9));
  EXPECT_TRUE(Pattern::exists(element, COMMSCHED_SUM, 1000));
}

TEST(ElementsTest, WritesIntegers) {
  auto write = [](llvm::StringRef type, int64_t real, int64_t imaginary) {
    const Element &element = *findElement(type);
    Bytes bytes(element.bytes);
    writeElement(element, real, imaginary, bytes.data());
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data(), std::min<size_t>(bytes.size(), 8));
    return bits;
  };
  EXPECT_EQ(write("i1", 1, 0), 1u);
  EXPECT_EQ(write("ui16", 513, 0), 513u);
  EXPECT_EQ(write("f8E4M3FN", 1, 0), 0x38u);
  EXPECT_EQ(write("f8E5M2", 1, 0), 0x3cu);
  EXPECT_EQ(write("f16", 1, 0), 0x3c00u);
  EXPECT_EQ(write("bf16", 3, 0), 0x4040u);
  EXPECT_EQ(write("f32", 2, 0), 0x40000000u);
  EXPECT_EQ(write("f64", 1, 0), 0x3ff0000000000000u);
  EXPECT_EQ(write("complex<f32>", 1, 2), 0x400000003f800000u);
  EXPECT_EQ(findElement("f31"), nullptr);
}

} // namespace
