//===- RuntimeTypes.cpp - Element types of the runtime --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTypes.h"

#include "CommSched/Runtime/Runtime.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::commsched;

static std::optional<int32_t> getRuntimeIntegerType(IntegerType type) {
  if (type.getWidth() == 1)
    return COMMSCHED_I1;
  switch (type.getWidth()) {
  case 8:
    return type.isUnsigned() ? COMMSCHED_UI8 : COMMSCHED_I8;
  case 16:
    return type.isUnsigned() ? COMMSCHED_UI16 : COMMSCHED_I16;
  case 32:
    return type.isUnsigned() ? COMMSCHED_UI32 : COMMSCHED_I32;
  case 64:
    return type.isUnsigned() ? COMMSCHED_UI64 : COMMSCHED_I64;
  default:
    return std::nullopt;
  }
}

std::optional<int32_t> mlir::commsched::getRuntimeType(Type elementType) {
  using Number = std::optional<int32_t>;
  return llvm::TypeSwitch<Type, Number>(elementType)
      .Case([](IntegerType type) { return getRuntimeIntegerType(type); })
      .Case<IndexType>([](Type) { return Number(COMMSCHED_I64); })
      .Case<Float8E4M3FNType>([](Type) { return Number(COMMSCHED_F8E4M3FN); })
      .Case<Float8E5M2Type>([](Type) { return Number(COMMSCHED_F8E5M2); })
      .Case<Float16Type>([](Type) { return Number(COMMSCHED_F16); })
      .Case<BFloat16Type>([](Type) { return Number(COMMSCHED_BF16); })
      .Case<Float32Type>([](Type) { return Number(COMMSCHED_F32); })
      .Case<Float64Type>([](Type) { return Number(COMMSCHED_F64); })
      .Case([](ComplexType type) -> Number {
        if (type.getElementType().isF32())
          return COMMSCHED_COMPLEX_F32;
        if (type.getElementType().isF64())
          return COMMSCHED_COMPLEX_F64;
        return std::nullopt;
      })
      .Default([](Type) { return Number(); });
}

std::string mlir::commsched::getRuntimeTypeName(Type elementType) {
  std::string name;
  llvm::raw_string_ostream os(name);
  if (!getRuntimeType(elementType)) {
    os << "bytes<" << llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8u)
       << ">";
    return name;
  }
  if (elementType.isIndex())
    os << "i64";
  else if (auto integer = dyn_cast<IntegerType>(elementType);
           integer && integer.isSigned())
    os << "i" << integer.getWidth();
  else
    os << elementType;
  return name;
}

FailureOr<int64_t> mlir::commsched::getElementBytes(Type elementType) {
  if (auto complex = dyn_cast<ComplexType>(elementType)) {
    FailureOr<int64_t> part = getElementBytes(complex.getElementType());
    return failed(part) ? part : FailureOr<int64_t>(2 * *part);
  }
  if (elementType.isIndex())
    return 8;
  if (!elementType.isIntOrFloat())
    return failure();
  int64_t bytes = llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8u);
  return llvm::isPowerOf2_64(bytes) ? FailureOr<int64_t>(bytes)
                                    : FailureOr<int64_t>();
}
