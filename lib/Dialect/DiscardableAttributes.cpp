//===- DiscardableAttributes.cpp - Attributes on any operation ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getInteger(Operation *op, StringRef name) {
  if (auto attr =
          dyn_cast_if_present<IntegerAttr>(op->getDiscardableAttr(name)))
    return attr.getInt();
  return std::nullopt;
}

std::optional<int64_t> mlir::commsched::getPinnedRuntimeNs(Operation *op) {
  return getInteger(op, runtimeNsAttrName);
}

std::optional<int64_t> mlir::commsched::getCollectiveOrder(Operation *op) {
  return getInteger(op, orderAttrName);
}

StringRef mlir::commsched::getStableName(Operation *op) {
  auto name =
      dyn_cast_if_present<StringAttr>(op->getDiscardableAttr(nameAttrName));
  return name ? name.getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static constexpr StringLiteral partitions[] = {
    "forward", "backward", "must_be_forward", "must_be_backward"};
static constexpr StringLiteral recomputePolicies[] = {
    "must_save", "prefer_save", "prefer_recompute", "must_recompute"};
static constexpr StringLiteral roles[] = {
    "parameter", "input",     "saved_activation",
    "tangent",   "rng_state", "unsharded_param"};

static LogicalResult verifyString(Operation *op, NamedAttribute attr) {
  if (isa<StringAttr>(attr.getValue()))
    return success();
  return op->emitOpError() << "attribute '" << attr.getName().getValue()
                           << "' must be a string, not " << attr.getValue();
}

static LogicalResult verifyNotNegative(Operation *op, NamedAttribute attr) {
  auto value = dyn_cast<IntegerAttr>(attr.getValue());
  if (!value || !value.getType().isSignlessInteger(64))
    return op->emitOpError() << "attribute '" << attr.getName().getValue()
                             << "' must be an i64, not " << attr.getValue();
  if (value.getValue().isNegative())
    return op->emitOpError()
           << "attribute '" << attr.getName().getValue()
           << "' must not be negative, but is " << value.getInt();
  return success();
}

static LogicalResult verifyOneOf(Operation *op, NamedAttribute attr,
                                 ArrayRef<StringLiteral> choices) {
  if (failed(verifyString(op, attr)))
    return failure();
  StringRef value = cast<StringAttr>(attr.getValue()).getValue();
  if (llvm::is_contained(choices, value))
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "attribute '" << attr.getName().getValue()
                            << "' is \"" << value << "\", which is none of ";
  llvm::interleaveComma(choices, diag,
                        [&](StringRef c) { diag << "\"" << c << "\""; });
  return diag;
}

static LogicalResult verifyCompileWith(Operation *op, NamedAttribute attr) {
  auto dict = dyn_cast<DictionaryAttr>(attr.getValue());
  if (!dict)
    return op->emitOpError()
           << "attribute '" << attr.getName().getValue()
           << "' must be a dictionary, not " << attr.getValue();
  for (NamedAttribute entry : dict) {
    if (entry.getName() != "pipeline" && entry.getName() != "region")
      return op->emitOpError()
             << "attribute '" << attr.getName().getValue()
             << "' has the unknown key '" << entry.getName().getValue()
             << "'; it takes 'pipeline' and 'region'";
    if (!isa<StringAttr>(entry.getValue()))
      return op->emitOpError()
             << "key '" << entry.getName().getValue() << "' of attribute '"
             << attr.getName().getValue() << "' must be a string, not "
             << entry.getValue();
  }
  if (!dict.contains("pipeline"))
    return op->emitOpError() << "attribute '" << attr.getName().getValue()
                             << "' lacks the key 'pipeline'";
  return success();
}

LogicalResult CommSchedDialect::verifyOperationAttribute(Operation *op,
                                                         NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  if (name == nameAttrName || name == moduleAttrName)
    return verifyString(op, attr);
  if (name == runtimeNsAttrName || name == orderAttrName)
    return verifyNotNegative(op, attr);
  if (name == partitionAttrName)
    return verifyOneOf(op, attr, partitions);
  if (name == recomputeAttrName)
    return verifyOneOf(op, attr, recomputePolicies);
  if (name == compileWithAttrName)
    return verifyCompileWith(op, attr);
  if (name == roleAttrName || name == freeableAttrName)
    return op->emitOpError() << "attribute '" << attr.getName().getValue()
                             << "' belongs on an argument, not on an operation";
  return op->emitOpError() << "unknown attribute '" << attr.getName().getValue()
                           << "'";
}

LogicalResult CommSchedDialect::verifyRegionArgAttribute(Operation *op,
                                                         unsigned region,
                                                         unsigned argument,
                                                         NamedAttribute attr) {
  StringRef name = attr.getName().getValue();
  if (name == nameAttrName)
    return verifyString(op, attr);
  if (name == roleAttrName)
    return verifyOneOf(op, attr, roles);
  if (name == freeableAttrName) {
    if (isa<UnitAttr>(attr.getValue()))
      return success();
    return op->emitOpError()
           << "attribute '" << attr.getName().getValue() << "' of argument "
           << argument << " must be a unit attribute, not " << attr.getValue();
  }
  return op->emitOpError() << "unknown attribute '" << attr.getName().getValue()
                           << "' on argument " << argument;
}

LogicalResult CommSchedDialect::verifyRegionResultAttribute(
    Operation *op, unsigned region, unsigned result, NamedAttribute attr) {
  if (attr.getName() == nameAttrName)
    return verifyString(op, attr);
  return op->emitOpError() << "unknown attribute '" << attr.getName().getValue()
                           << "' on result " << result;
}
