//===- EmulatedDataTest.cpp - Tests of emulated results -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Runtime/Backend.h"

#include "Numerics/ElementTypes.h"

#include <gtest/gtest.h>

#include <set>

using namespace commsched::runtime;

static OperatorBuffer makeBuffer(const std::string &type, int64_t elements) {
  OperatorBuffer buffer;
  EXPECT_EQ(parseElementType(type, buffer.element), Status());
  buffer.elements = elements;
  return buffer;
}

/// The bytes of the only output.
static std::vector<unsigned char> run(const Operator &op,
                                      const std::vector<char> &input) {
  const void *inputs[] = {input.data()};
  const OperatorBuffer &output = op.outputs[0];
  std::vector<unsigned char> result(output.elements * output.element.bytes + 1,
                                    0xee);
  void *outputs[] = {result.data()};
  emulateData(op, inputs, outputs);
  EXPECT_EQ(result.back(), 0xee);
  result.pop_back();
  return result;
}

static Operator makeOperator(const std::string &name, int64_t inputBytes,
                             const std::string &type, int64_t elements) {
  Operator op;
  op.name = name;
  op.inputs = {makeBuffer("i8", inputBytes)};
  op.outputs = {makeBuffer(type, elements)};
  return op;
}

TEST(EmulatedData, DependsOnNameAndInputs) {
  Operator op = makeOperator("mm", 100, "i8", 64);
  std::vector<char> input(100, 3);
  auto result = run(op, input);
  EXPECT_EQ(run(op, input), result);
  for (size_t i = 0; i < input.size(); ++i) {
    std::vector<char> changed = input;
    ++changed[i];
    EXPECT_NE(run(op, changed), result) << i;
  }
  op.name = "add";
  EXPECT_NE(run(op, input), result);
}

TEST(EmulatedData, SamplesLargeInputs) {
  int64_t bytes = 1000003;
  Operator op = makeOperator("mm", bytes, "i8", 64);
  std::vector<char> input(bytes, 3);
  auto result = run(op, input);
  for (int64_t i : {int64_t(0), bytes - 1}) {
    std::vector<char> changed = input;
    ++changed[i];
    EXPECT_NE(run(op, changed), result) << i;
  }
}

TEST(EmulatedData, SmallIntegersInEveryType) {
  for (int32_t i = 0; isType(i); ++i) {
    auto type = static_cast<commsched_type>(i);
    Operator op = makeOperator("mm", 1, getName(type), 1000);
    auto bytes = run(op, {1});
    // Both parts of complex numbers, one after the other.
    commsched_type part = type == COMMSCHED_COMPLEX_F32   ? COMMSCHED_F32
                          : type == COMMSCHED_COMPLEX_F64 ? COMMSCHED_F64
                                                          : type;
    std::vector<double> values(bytes.size() / getByteSize(part));
    convertElements(values.data(), COMMSCHED_F64, bytes.data(), part,
                    static_cast<int64_t>(values.size()));
    std::set<double> seen(values.begin(), values.end());
    std::set<double> expected = {0, 1, 2, 3, 4, 5, 6, 7};
    if (type == COMMSCHED_I1)
      expected = {0, 1};
    EXPECT_EQ(seen, expected) << getName(type);
  }
  auto bytes = run(makeOperator("mm", 1, "bytes<3>", 1000), {1});
  EXPECT_EQ(std::set<int>(bytes.begin(), bytes.end()),
            (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(EmulatedData, OutputsDiffer) {
  Operator op = makeOperator("mm", 8, "i8", 64);
  op.outputs.push_back(op.outputs[0]);
  // The second output is the buffer of the input: it is read before.
  std::vector<char> first(64), second(64, 1);
  const void *inputs[] = {second.data()};
  void *outputs[] = {first.data(), second.data()};
  emulateData(op, inputs, outputs);
  EXPECT_NE(first, second);
  std::vector<char> other(64), input(8, 1);
  inputs[0] = input.data();
  outputs[1] = other.data();
  emulateData(op, inputs, outputs);
  EXPECT_EQ(other, second);
}
