//===- CalleeSummary.cpp - What a call takes ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/CalleeSummary.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::commsched;

std::optional<CalleeSummary> CalleeSummary::find(Operation *call) {
  auto known = dyn_cast_if_present<DictionaryAttr>(
      call->getDiscardableAttr(calleeAttrName));
  if (!known)
    return std::nullopt;
  CalleeSummary summary;
  ArrayRef<int64_t> price =
      known.getAs<DenseI64ArrayAttr>(calleePriceKey).asArrayRef();
  summary.price = {price[0], price[1], price[2], price[3],
                   price[4], price[5], price[6], price[7]};
  if (auto effects = known.getAs<StringAttr>(calleeEffectsKey))
    summary.effects =
        effects == noEffects ? Effects::None : Effects::Communication;
  if (auto streams = known.getAs<ArrayAttr>(calleeStreamsKey))
    summary.streams = streams.getValue();
  if (auto bytes = known.getAs<IntegerAttr>(calleeBytesKey))
    summary.innerBytes = bytes.getInt();
  if (auto aliases = known.getAs<DenseI64ArrayAttr>(calleeAliasesKey))
    summary.aliases = aliases.asArrayRef();
  return summary;
}

DictionaryAttr CalleeSummary::get(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> entries = {builder.getNamedAttr(
      calleePriceKey, builder.getDenseI64ArrayAttr(
                          {price.timeNs, price.computeNs, price.commNs,
                           price.measuredNs, price.numOps, price.numMeasured,
                           price.numPinned, price.numAssumed}))};
  if (effects != Effects::Unknown)
    entries.push_back(builder.getNamedAttr(
        calleeEffectsKey,
        builder.getStringAttr(effects == Effects::None ? noEffects
                                                       : onlyCommunicates)));
  if (!streams.empty())
    entries.push_back(
        builder.getNamedAttr(calleeStreamsKey, builder.getArrayAttr(streams)));
  if (innerBytes)
    entries.push_back(builder.getNamedAttr(
        calleeBytesKey, builder.getI64IntegerAttr(*innerBytes)));
  if (!aliases.empty())
    entries.push_back(builder.getNamedAttr(
        calleeAliasesKey, builder.getDenseI64ArrayAttr(aliases)));
  return builder.getDictionaryAttr(entries);
}
