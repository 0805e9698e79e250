//===- RuntimeTypes.cpp - Element types of the runtime --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTypes.h"

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Runtime/Runtime.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::commsched;

// Kinds and reductions have the values of the runtime's enumerations.
#define ASSERT_SAME_VALUE(LHS, RHS)                                            \
  static_assert(static_cast<int>(LHS) == static_cast<int>(RHS))
ASSERT_SAME_VALUE(CollectiveKind::AllGather, COMMSCHED_ALL_GATHER);
ASSERT_SAME_VALUE(CollectiveKind::ReduceScatter, COMMSCHED_REDUCE_SCATTER);
ASSERT_SAME_VALUE(CollectiveKind::AllReduce, COMMSCHED_ALL_REDUCE);
ASSERT_SAME_VALUE(CollectiveKind::AllToAll, COMMSCHED_ALL_TO_ALL);
ASSERT_SAME_VALUE(CollectiveKind::Broadcast, COMMSCHED_BROADCAST);
ASSERT_SAME_VALUE(CollectiveKind::Permute, COMMSCHED_PERMUTE);
ASSERT_SAME_VALUE(CollectiveKind::Send, COMMSCHED_SEND);
ASSERT_SAME_VALUE(CollectiveKind::Recv, COMMSCHED_RECV);
ASSERT_SAME_VALUE(CollectiveKind::Barrier, COMMSCHED_BARRIER);
ASSERT_SAME_VALUE(CollectiveKind::Offload, COMMSCHED_OFFLOAD);
ASSERT_SAME_VALUE(CollectiveKind::Reload, COMMSCHED_RELOAD);
ASSERT_SAME_VALUE(ReductionKind::Sum, COMMSCHED_SUM);
ASSERT_SAME_VALUE(ReductionKind::Avg, COMMSCHED_AVG);
ASSERT_SAME_VALUE(ReductionKind::Prod, COMMSCHED_PROD);
ASSERT_SAME_VALUE(ReductionKind::Min, COMMSCHED_MIN);
ASSERT_SAME_VALUE(ReductionKind::Max, COMMSCHED_MAX);
ASSERT_SAME_VALUE(ReductionKind::BitAnd, COMMSCHED_BAND);
ASSERT_SAME_VALUE(ReductionKind::BitOr, COMMSCHED_BOR);
ASSERT_SAME_VALUE(ReductionKind::BitXor, COMMSCHED_BXOR);
#undef ASSERT_SAME_VALUE

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
