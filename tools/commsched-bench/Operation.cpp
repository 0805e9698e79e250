//===- Operation.cpp - Operations and element types -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operation.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstring>

namespace commsched::bench {

static Element makeElement(commsched_type type, int64_t maxExact) {
  bool isComplex =
      type == COMMSCHED_COMPLEX_F32 || type == COMMSCHED_COMPLEX_F64;
  return {commsched_type_name(type), type, commsched_type_bytes(type),
          isComplex ? 2 : 1, maxExact};
}

llvm::ArrayRef<Element> getElements() {
  static const Element elements[] = {
      makeElement(COMMSCHED_I1, 1),
      makeElement(COMMSCHED_I8, 127),
      makeElement(COMMSCHED_I16, 32767),
      makeElement(COMMSCHED_I32, 65536),
      makeElement(COMMSCHED_I64, 65536),
      makeElement(COMMSCHED_UI8, 255),
      makeElement(COMMSCHED_UI16, 65535),
      makeElement(COMMSCHED_UI32, 65536),
      makeElement(COMMSCHED_UI64, 65536),
      makeElement(COMMSCHED_F8E4M3FN, 16),
      makeElement(COMMSCHED_F8E5M2, 8),
      makeElement(COMMSCHED_F16, 2048),
      makeElement(COMMSCHED_BF16, 256),
      makeElement(COMMSCHED_F32, 65536),
      makeElement(COMMSCHED_F64, 65536),
      makeElement(COMMSCHED_COMPLEX_F32, 65536),
      makeElement(COMMSCHED_COMPLEX_F64, 65536),
  };
  return elements;
}

const Element *findElement(llvm::StringRef name) {
  llvm::ArrayRef<Element> elements = getElements();
  const Element *found = llvm::find_if(
      elements, [&](const Element &element) { return element.name == name; });
  return found == elements.end() ? nullptr : found;
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

static const Operation operations[] = {
    Operation::AllGather, Operation::ReduceScatter, Operation::AllReduce,
    Operation::AllToAll,  Operation::Broadcast,     Operation::Permute,
    Operation::SendRecv};

llvm::ArrayRef<Operation> getOperations() { return operations; }

commsched_kind getKind(Operation operation) {
  switch (operation) {
  case Operation::AllGather:
    return COMMSCHED_ALL_GATHER;
  case Operation::ReduceScatter:
    return COMMSCHED_REDUCE_SCATTER;
  case Operation::AllReduce:
    return COMMSCHED_ALL_REDUCE;
  case Operation::AllToAll:
    return COMMSCHED_ALL_TO_ALL;
  case Operation::Broadcast:
    return COMMSCHED_BROADCAST;
  case Operation::Permute:
    return COMMSCHED_PERMUTE;
  case Operation::SendRecv:
    return COMMSCHED_SEND;
  }
  llvm_unreachable("unknown operation");
}

llvm::StringRef stringifyOperation(Operation operation) {
  if (operation == Operation::SendRecv)
    return "send_recv";
  return commsched_kind_name(getKind(operation));
}

PartCounts getPartCounts(Operation operation, int64_t ranks) {
  switch (operation) {
  case Operation::AllGather:
    return {1, ranks};
  case Operation::ReduceScatter:
    return {ranks, 1};
  case Operation::AllToAll:
    return {ranks, ranks};
  default:
    return {1, 1};
  }
}

bool isReduction(Operation operation) {
  return operation == Operation::ReduceScatter ||
         operation == Operation::AllReduce;
}

bool hasInPlaceForm(Operation operation) {
  return operation == Operation::AllGather || isReduction(operation) ||
         operation == Operation::Broadcast;
}

int32_t getLeastRanks(Operation operation) {
  return operation == Operation::SendRecv ? 2 : 1;
}

double computeAlgorithmBandwidth(int64_t bytes, double timeNs) {
  return timeNs > 0 ? double(bytes) / timeNs : 0;
}

double computeBusFactor(Operation operation, int64_t ranks) {
  double others = double(ranks - 1) / double(ranks);
  switch (operation) {
  case Operation::AllReduce:
    return 2 * others;
  case Operation::AllGather:
  case Operation::ReduceScatter:
  case Operation::AllToAll:
    return others;
  case Operation::Broadcast:
  case Operation::Permute:
  case Operation::SendRecv:
    return 1;
  }
  llvm_unreachable("unknown operation");
}

} // namespace commsched::bench
