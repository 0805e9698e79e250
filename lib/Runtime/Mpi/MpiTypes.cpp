//===- MpiTypes.cpp - MPI datatypes and operations ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mpi/MpiCollectives.h"

#include "Mpi/Session.h"
#include "Numerics/ElementArithmetic.h"
#include "Numerics/ElementTypes.h"

#include <array>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

/// MPI's own type, or MPI_DATATYPE_NULL.
static MPI_Datatype getNativeType(commsched_type type) {
  // In the order of commsched_type.
  static const MPI_Datatype integers[] = {
      MPI_DATATYPE_NULL, MPI_INT8_T,   MPI_INT16_T,  MPI_INT32_T, MPI_INT64_T,
      MPI_UINT8_T,       MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T};
  if (isInteger(type))
    return integers[type];
  return type == COMMSCHED_F32   ? MPI_FLOAT
         : type == COMMSCHED_F64 ? MPI_DOUBLE
                                 : MPI_DATATYPE_NULL;
}

/// MPI's own operation, or MPI_OP_NULL. With NaN, MPI's minimum and maximum
/// depend on the order.
static MPI_Op getNativeOperation(commsched_type type,
                                 commsched_reduction reduction) {
  // In the order of commsched_reduction.
  static const MPI_Op operations[] = {MPI_SUM, MPI_SUM,  MPI_PROD, MPI_MIN,
                                      MPI_MAX, MPI_BAND, MPI_BOR,  MPI_BXOR};
  bool isExtreme = reduction == COMMSCHED_MIN || reduction == COMMSCHED_MAX;
  if (getNativeType(type) == MPI_DATATYPE_NULL ||
      (isExtreme && !isInteger(type)))
    return MPI_OP_NULL;
  return operations[reduction];
}

static constexpr int numReductions = COMMSCHED_BXOR + 1;
static constexpr int numTypes = COMMSCHED_COMPLEX_F64 + 1;

/// MPI gives an operation neither our element type nor our reduction, so there
/// is a function for each pair.
template <int Pair>
static void reduce(void *input, void *inOut, int *count, MPI_Datatype *) {
  accumulate(static_cast<commsched_type>(Pair / numReductions),
             static_cast<commsched_reduction>(Pair % numReductions), inOut,
             input, *count);
}

template <int... Pairs>
static constexpr std::array<MPI_User_function *, sizeof...(Pairs)>
listReduceFunctions(std::integer_sequence<int, Pairs...>) {
  return {&reduce<Pairs>...};
}

static constexpr auto reduceFunctions = listReduceFunctions(
    std::make_integer_sequence<int, numTypes * numReductions>());

Status MpiTypes::getBytes(int64_t bytes, int64_t parts, Extent &extent) {
  if (bytes <= maxCount / parts) {
    extent = {static_cast<int>(bytes), MPI_BYTE};
    return {};
  }
  extent.count = 1;
  return getBytesType(bytes, extent.type);
}

/// Blocks of `maxCount` bytes, and what remains.
Status MpiTypes::getBytesType(int64_t bytes, MPI_Datatype &datatype) {
  MPI_Datatype &made = bytesTypes.try_emplace(bytes, MPI_BYTE).first->second;
  if (made == MPI_BYTE) {
    MPI_Datatype block;
    COMMSCHED_TRY(CALL_MPI(MPI_Type_contiguous, static_cast<int>(maxCount),
                           MPI_BYTE, &block));
    int lengths[] = {static_cast<int>(bytes / maxCount),
                     static_cast<int>(bytes % maxCount)};
    MPI_Aint places[] = {0, bytes / maxCount * maxCount};
    MPI_Datatype types[] = {block, MPI_BYTE};
    Status status =
        CALL_MPI(MPI_Type_create_struct, 2, lengths, places, types, &made);
    MPI_Type_free(&block);
    COMMSCHED_TRY(status);
    COMMSCHED_TRY(CALL_MPI(MPI_Type_commit, &made));
  }
  datatype = made;
  return {};
}

Status MpiTypes::getElement(commsched_type type, MPI_Datatype &datatype) {
  datatype = getNativeType(type);
  return datatype == MPI_DATATYPE_NULL
             ? getBytesType(getByteSize(type), datatype)
             : Status();
}

Status MpiTypes::getOperation(commsched_type type,
                              commsched_reduction reduction,
                              MPI_Op &operation) {
  operation = getNativeOperation(type, reduction);
  if (operation != MPI_OP_NULL)
    return {};
  if (reduction == COMMSCHED_AVG)
    reduction = COMMSCHED_SUM;
  auto [it, isNew] =
      operations.try_emplace(std::make_pair(type, reduction), MPI_OP_NULL);
  if (isNew)
    COMMSCHED_TRY(CALL_MPI(MPI_Op_create,
                           reduceFunctions[type * numReductions + reduction],
                           /*commute=*/1, &it->second));
  operation = it->second;
  return {};
}

void MpiTypes::release() {
  for (auto &[bytes, type] : bytesTypes)
    MPI_Type_free(&type);
  for (auto &[pair, operation] : operations)
    MPI_Op_free(&operation);
  bytesTypes.clear();
  operations.clear();
}
