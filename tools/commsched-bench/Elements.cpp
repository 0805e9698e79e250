//===- Elements.cpp - Element types of the benchmark ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace commsched::bench {

static const Element elements[] = {
    {"i1", COMMSCHED_I1, 1, 1, 1},
    {"i8", COMMSCHED_I8, 1, 1, 127},
    {"i16", COMMSCHED_I16, 2, 1, 32767},
    {"i32", COMMSCHED_I32, 4, 1, 65536},
    {"i64", COMMSCHED_I64, 8, 1, 65536},
    {"ui8", COMMSCHED_UI8, 1, 1, 255},
    {"ui16", COMMSCHED_UI16, 2, 1, 65535},
    {"ui32", COMMSCHED_UI32, 4, 1, 65536},
    {"ui64", COMMSCHED_UI64, 8, 1, 65536},
    {"f8E4M3FN", COMMSCHED_F8E4M3FN, 1, 1, 16},
    {"f8E5M2", COMMSCHED_F8E5M2, 1, 1, 8},
    {"f16", COMMSCHED_F16, 2, 1, 2048},
    {"bf16", COMMSCHED_BF16, 2, 1, 256},
    {"f32", COMMSCHED_F32, 4, 1, 65536},
    {"f64", COMMSCHED_F64, 8, 1, 65536},
    {"complex<f32>", COMMSCHED_COMPLEX_F32, 8, 2, 65536},
    {"complex<f64>", COMMSCHED_COMPLEX_F64, 16, 2, 65536},
};

llvm::ArrayRef<Element> getElements() { return elements; }

const Element *findElement(llvm::StringRef name) {
  const Element *found = llvm::find_if(
      elements, [&](const Element &element) { return element.name == name; });
  return found == std::end(elements) ? nullptr : found;
}

/// The format of one component; null for integers.
static const llvm::fltSemantics *getSemantics(commsched_type type) {
  switch (type) {
  case COMMSCHED_F8E4M3FN:
    return &llvm::APFloat::Float8E4M3FN();
  case COMMSCHED_F8E5M2:
    return &llvm::APFloat::Float8E5M2();
  case COMMSCHED_F16:
    return &llvm::APFloat::IEEEhalf();
  case COMMSCHED_BF16:
    return &llvm::APFloat::BFloat();
  case COMMSCHED_F32:
  case COMMSCHED_COMPLEX_F32:
    return &llvm::APFloat::IEEEsingle();
  case COMMSCHED_F64:
  case COMMSCHED_COMPLEX_F64:
    return &llvm::APFloat::IEEEdouble();
  default:
    return nullptr;
  }
}

void writeElement(const Element &element, int64_t real, int64_t imaginary,
                  char *target) {
  const llvm::fltSemantics *semantics = getSemantics(element.type);
  int64_t bytes = element.bytes / element.components;
  for (int32_t i = 0; i < element.components; ++i) {
    uint64_t bits = i == 0 ? real : imaginary;
    if (semantics) {
      llvm::APFloat number(double(i == 0 ? real : imaginary));
      bool losesInfo = false;
      number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven,
                     &losesInfo);
      bits = number.bitcastToAPInt().getZExtValue();
    }
    // Little-endian, as every machine that the runtime supports.
    std::memcpy(target + i * bytes, &bits, bytes);
  }
}

} // namespace commsched::bench
