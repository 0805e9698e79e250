//===- ElementTypesTest.cpp - Tests of element types ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Numerics/ElementTypes.h"

#include <gtest/gtest.h>

using namespace commsched::runtime;

TEST(Types, NamesAndSizes) {
  for (int32_t i = 0; isType(i); ++i) {
    auto type = static_cast<commsched_type>(i);
    EXPECT_EQ(parseType(getName(type)), type);
    EXPECT_LE(isInteger(type) + isComplex(type), 1);
  }
  EXPECT_FALSE(isType(-1));
  EXPECT_FALSE(isType(17));
  EXPECT_EQ(getByteSize(COMMSCHED_I1), 1);
  EXPECT_EQ(getByteSize(COMMSCHED_COMPLEX_F64), 16);
  EXPECT_EQ(parseType("bfloat16"), std::nullopt);
  EXPECT_EQ(parseKind("permute"), COMMSCHED_PERMUTE);
  EXPECT_EQ(parseKind("gather"), std::nullopt);
  EXPECT_EQ(parseReduction("bxor"), COMMSCHED_BXOR);
  EXPECT_EQ(parseReduction("xor"), std::nullopt);
}

TEST(Types, ElementTypes) {
  ElementType element;
  EXPECT_EQ(parseElementType("f16", element), Status());
  EXPECT_EQ(element.type, COMMSCHED_F16);
  EXPECT_EQ(element.bytes, 2);
  EXPECT_EQ(parseElementType("bytes<12>", element), Status());
  EXPECT_EQ(element.type, std::nullopt);
  EXPECT_EQ(element.bytes, 12);
  for (const char *name :
       {"bytes<0>", "bytes<>", "bytes<-1>", "bytes<1", "bytes<1.5>",
        "bytes<99999999999999999999>", "bytes", "i4", ""})
    EXPECT_EQ(parseElementType(name, element),
              std::string("unknown element type '") + name + "'");
}

/// The reductions of a type, in the order of their numbers.
static std::string listReductions(const std::string &name) {
  ElementType element;
  EXPECT_EQ(parseElementType(name, element), Status());
  std::string list;
  for (int32_t i = COMMSCHED_SUM; i <= COMMSCHED_BXOR; ++i) {
    auto reduction = static_cast<commsched_reduction>(i);
    if (Status status = checkReduction(element, reduction); !status)
      EXPECT_EQ(status.getMessage(),
                std::string("reduction '") + getName(reduction) +
                    "' is not defined for type '" + name + "'");
    else
      list += std::string(list.empty() ? "" : " ") + getName(reduction);
  }
  return list;
}

TEST(Types, Reductions) {
  EXPECT_EQ(listReductions("i1"), "min max band bor bxor");
  EXPECT_EQ(listReductions("i32"), "sum prod min max band bor bxor");
  EXPECT_EQ(listReductions("ui8"), "sum prod min max band bor bxor");
  EXPECT_EQ(listReductions("bf16"), "sum avg prod min max");
  EXPECT_EQ(listReductions("f8E4M3FN"), "sum avg prod min max");
  EXPECT_EQ(listReductions("complex<f32>"), "sum avg prod");
  EXPECT_EQ(listReductions("bytes<2>"), "");
}
