//===- Attributes.h - What starts are as StableHLO --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and attributes of the collectives of StableHLO that starts become, and
// the reasons for which some become none.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_ATTRIBUTES_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_ATTRIBUTES_H

#include "../StableHlo/StableHlo.h"
#include "CommSched/Dialect/CommSchedDialect.h"

namespace mlir::commsched::stablehlo {

/// The name of StableHLO's collective of the kind of `start`; empty if there
/// is none.
StringRef getCollectiveName(Operation *start);

/// Why StableHLO has no form for `op`, an operation of this project; none if it
/// has.
std::optional<std::string> getUnsupportedReason(Operation *op);

/// The discardable attributes of `op` but for those of CommSched and the marks
/// of the conversion from StableHLO.
SmallVector<NamedAttribute> getForeignAttributes(Operation *op);

/// Whether `name` is an attribute of CommSched or a mark of the conversion from
/// StableHLO.
bool isOwnAttribute(StringRef name);

/// Whether `name` is an attribute that says along which dimension a collective
/// of StableHLO moves data.
bool isDimension(StringRef name);

/// Sets these attributes to what `start` says. If `isFlat`, all dimensions are
/// 0.
void setDimensions(Operation *start, NamedAttrList &attributes,
                   int64_t groupSize, bool isFlat);

/// Succeeds if `original`, the attributes that `start` was made from, has the
/// dimensions of `start`. Both are the same unless one was changed.
LogicalResult verifyDimensions(Operation *start, DictionaryAttr original,
                               int64_t groupSize);

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_ATTRIBUTES_H
