//===- Dialects.cpp - C interface of the dialects -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "commsched-c/Dialects.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "CommSched/OperationTables/NamedDialects.h"
#include "CommSched/OperationTables/OperationTable.h"
#include "CommSched/Register.h"
#include "commsched-c/Passes.h"
#include "mlir/CAPI/Registration.h"

#include <mutex>

using namespace mlir;
using namespace mlir::commsched;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(CommSched, commsched, CommSchedDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(CommSchedRt, commsched_rt,
                                      rt::CommSchedRtDialect)

void commschedRegisterAllDialects(MlirDialectRegistry registry) {
  registerDialects(*unwrap(registry));
}

void commschedRegisterDialectsByName(MlirDialectRegistry registry) {
  registerDialectsByName(*unwrap(registry));
}

MlirLogicalResult commschedRegisterOperationTable(
    MlirDialectRegistry registry, MlirStringRef text, MlirStringRef fileName,
    bool byName, MlirStringCallback onError, void *userData) {
  auto table = OperationTable::parse(unwrap(text), unwrap(fileName));
  if (!table) {
    if (onError)
      onError(wrap(StringRef(table.error())), userData);
    return mlirLogicalResultFailure();
  }
  if (byName) {
    SmallVector<StringRef> namespaces((*table)->getDialects().begin(),
                                      (*table)->getDialects().end());
    registerNamedDialects(*unwrap(registry), namespaces);
  }
  registerOperationTable(*unwrap(registry), std::move(*table));
  return mlirLogicalResultSuccess();
}

/// The types that a future delivers; none for another type.
static ArrayRef<Type> getDelivered(MlirType type) {
  auto future = dyn_cast_or_null<FutureType>(unwrap(type));
  return future ? future.getTypes() : ArrayRef<Type>();
}

bool commschedTypeIsAFuture(MlirType type) {
  return isa_and_nonnull<FutureType>(unwrap(type));
}

MlirType commschedFutureTypeGet(MlirLocation location, intptr_t numTypes,
                                MlirType const *types) {
  Location at = unwrap(location);
  SmallVector<Type> delivered;
  for (intptr_t i = 0; i < numTypes; ++i) {
    if (mlirTypeIsNull(types[i])) {
      emitError(at) << "type " << i << " of a future is null";
      return {nullptr};
    }
    delivered.push_back(unwrap(types[i]));
  }
  at.getContext()->loadDialect<CommSchedDialect>();
  return wrap(FutureType::getChecked([&] { return emitError(at); },
                                     at.getContext(),
                                     ArrayRef<Type>(delivered)));
}

intptr_t commschedFutureTypeGetNumTypes(MlirType future) {
  return getDelivered(future).size();
}

MlirType commschedFutureTypeGetType(MlirType future, intptr_t index) {
  ArrayRef<Type> types = getDelivered(future);
  if (index < 0 || static_cast<size_t>(index) >= types.size())
    return {nullptr};
  return wrap(types[index]);
}

bool commschedTypeIsARequest(MlirType type) {
  return isa_and_nonnull<rt::RequestType>(unwrap(type));
}

MlirType commschedRequestTypeGet(MlirContext context) {
  unwrap(context)->loadDialect<rt::CommSchedRtDialect>();
  return wrap(rt::RequestType::get(unwrap(context)));
}

void commschedRegisterAllPasses() {
  static std::once_flag once;
  std::call_once(once, [] { mlir::commsched::registerAllPasses(); });
}
