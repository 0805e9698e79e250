//===- Types.cpp - What NCCL can send and reduce --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/Types.h"

#include "Numerics/Types.h"

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

/// Where reductions of 8-bit floats begin.
static constexpr int firstFloat8Capability = 90;

/// None for types that NCCL does not have.
static std::optional<WireType> findWireType(commsched_type type) {
  switch (type) {
  case COMMSCHED_I8:
    return WireType{ncclInt8, 1, 1};
  case COMMSCHED_UI8:
    return WireType{ncclUint8, 1, 1};
  case COMMSCHED_I32:
    return WireType{ncclInt32, 1, 4};
  case COMMSCHED_UI32:
    return WireType{ncclUint32, 1, 4};
  case COMMSCHED_I64:
    return WireType{ncclInt64, 1, 8};
  case COMMSCHED_UI64:
    return WireType{ncclUint64, 1, 8};
  case COMMSCHED_F8E4M3FN:
    return WireType{ncclFloat8e4m3, 1, 1};
  case COMMSCHED_F8E5M2:
    return WireType{ncclFloat8e5m2, 1, 1};
  case COMMSCHED_F16:
    return WireType{ncclFloat16, 1, 2};
  case COMMSCHED_BF16:
    return WireType{ncclBfloat16, 1, 2};
  case COMMSCHED_F32:
    return WireType{ncclFloat32, 1, 4};
  case COMMSCHED_F64:
    return WireType{ncclFloat64, 1, 8};
  case COMMSCHED_COMPLEX_F32:
    return WireType{ncclFloat32, 2, 4};
  case COMMSCHED_COMPLEX_F64:
    return WireType{ncclFloat64, 2, 8};
  case COMMSCHED_I1:
  case COMMSCHED_I16:
  case COMMSCHED_UI16:
    return std::nullopt;
  }
  return std::nullopt;
}

WireType commsched::runtime::nccl::getByteWireType(const ElementType &element) {
  return {ncclUint8, element.bytes, 1};
}

WireType commsched::runtime::nccl::getWireType(const ElementType &element) {
  if (element.type)
    if (std::optional<WireType> wire = findWireType(*element.type))
      return *wire;
  return getByteWireType(element);
}

/// None for reductions that NCCL does not have.
static std::optional<ncclRedOp_t> findReduction(commsched_reduction reduction) {
  switch (reduction) {
  case COMMSCHED_SUM:
    return ncclSum;
  case COMMSCHED_AVG:
    return ncclAvg;
  case COMMSCHED_PROD:
    return ncclProd;
  case COMMSCHED_MIN:
    return ncclMin;
  case COMMSCHED_MAX:
    return ncclMax;
  case COMMSCHED_BAND:
  case COMMSCHED_BOR:
  case COMMSCHED_BXOR:
    return std::nullopt;
  }
  return std::nullopt;
}

ncclRedOp_t
commsched::runtime::nccl::getReduction(commsched_reduction reduction) {
  return findReduction(reduction).value_or(ncclSum);
}

Error commsched::runtime::nccl::checkSite(const Site &site, int capability) {
  if (!site.reduction)
    return std::nullopt;
  commsched_reduction reduction = *site.reduction;
  for (const Tensor &tensor : site.tensors) {
    const ElementType &element = tensor.element;
    std::string refusal =
        "'nccl' cannot reduce " + element.name + " by " + getName(reduction);
    if (!findReduction(reduction) || !element.type ||
        !findWireType(*element.type))
      return refusal;
    // The parts of a complex number are summed alone.
    bool isSum = reduction == COMMSCHED_SUM || reduction == COMMSCHED_AVG;
    if (isComplex(*element.type) && !isSum)
      return refusal;
    bool isFloat8 = *element.type == COMMSCHED_F8E4M3FN ||
                    *element.type == COMMSCHED_F8E5M2;
    if (isFloat8 && capability < firstFloat8Capability)
      return refusal + " on this GPU: its compute capability is " +
             std::to_string(capability / 10) + "." +
             std::to_string(capability % 10) + ", not 9.0 or newer";
  }
  return std::nullopt;
}
