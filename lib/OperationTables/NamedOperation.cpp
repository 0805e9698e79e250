//===- NamedOperation.cpp - Operations of dialects by name ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedOperation.h"
#include "NamedDialect.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

ParseResult mlir::commsched::rejectCustomForm(OpAsmParser &parser,
                                              StringRef dialect) {
  return parser.emitError(parser.getNameLoc())
         << "is in the custom form, which can be read only where the dialect '"
         << dialect << "' is linked; "
         << getFormRemedy(dialect,
                          parser.getEncodedSourceLoc(parser.getNameLoc()));
}

NamedOperation::NamedOperation(Dialect &dialect, StringRef name, TypeID id,
                               const detail::OperationModel &model)
    : Impl(name, &dialect, id, mlir::detail::InterfaceMap()), model(model) {}

namespace {
/// Properties in bytecode: an optional attribute behind a mark, without which
/// the properties of the linked dialect would be read as something else.
struct NamedProperties
    : BytecodeOpInterface::ExternalModel<NamedProperties, Operation *> {
  static constexpr StringLiteral mark = "commsched: one attribute";

  static LogicalResult readProperties(DialectBytecodeReader &reader,
                                      OperationState &state) {
    StringRef found;
    if (succeeded(reader.readString(found)) && found == mark)
      return reader.readOptionalAttribute(state.propertiesAttr);
    InFlightDiagnostic diag = reader.emitError();
    diag << "'" << state.name
         << "' has the binary form of its dialect, which can be read only "
            "where the dialect is linked; "
         << getFormRemedy(state.name.getDialectNamespace(),
                          diag.getUnderlyingDiagnostic()->getLocation());
    return diag;
  }
  void writeProperties(Operation *op, DialectBytecodeWriter &writer) const {
    writer.writeOwnedString(mark);
    writer.writeOptionalAttribute(op->getPropertiesAsAttribute());
  }
};
} // namespace

void NamedOperation::insert(Dialect &dialect, StringRef name,
                            const detail::OperationModel &model) {
  TypeID id = static_cast<NamedDialect &>(dialect).allocateOperationID();
  RegisteredOperationName::insert(
      std::unique_ptr<Impl>(new NamedOperation(dialect, name, id, model)),
      /*attrNames=*/{});
  RegisteredOperationName::lookup(name, dialect.getContext())
      ->attachInterface<NamedProperties>();
}

//===----------------------------------------------------------------------===//
// Behaviour
//===----------------------------------------------------------------------===//

// Whoever asks for a constant's value folds the operation.
LogicalResult NamedOperation::foldHook(Operation *op, ArrayRef<Attribute>,
                                       SmallVectorImpl<OpFoldResult> &results) {
  const std::string &constantAttr = model.getTraits().constantAttr;
  Attribute value =
      constantAttr.empty() ? Attribute() : op->getAttr(constantAttr);
  if (!value)
    return failure();
  results.push_back(value);
  return success();
}

bool NamedOperation::hasTrait(TypeID trait) {
  const OperationTraits &traits = model.getTraits();
  if (trait == TypeID::get<OpTrait::IsTerminator>())
    return traits.isTerminator;
  if (trait == TypeID::get<OpTrait::ReturnLike>())
    return traits.isReturn;
  if (trait == TypeID::get<OpTrait::Elementwise>())
    return traits.isElementwise;
  if (trait == TypeID::get<OpTrait::IsIsolatedFromAbove>())
    return traits.isIsolated;
  if (trait == TypeID::get<OpTrait::HasRecursiveMemoryEffects>())
    return traits.hasRecursiveEffects;
  if (trait == TypeID::get<OpTrait::ConstantLike>())
    return !traits.constantAttr.empty();
  return false;
}

OperationName::ParseAssemblyFn NamedOperation::getParseAssemblyFn() {
  return [](OpAsmParser &parser, OperationState &state) {
    return rejectCustomForm(parser, state.name.getDialectNamespace());
  };
}

void NamedOperation::printAssembly(Operation *op, OpAsmPrinter &printer,
                                   StringRef) {
  printer.printGenericOp(op);
}

LogicalResult NamedOperation::verifyInvariants(Operation *op) {
  if (hasTrait(TypeID::get<OpTrait::IsTerminator>()) &&
      failed(OpTrait::impl::verifyIsTerminator(op)))
    return failure();
  StringRef constantAttr = model.getTraits().constantAttr;
  if (constantAttr.empty())
    return model.verify(op);
  if (op->getNumOperands() != 0 || op->getNumResults() != 1)
    return op->emitOpError("is a constant and should have one result and no "
                           "operands, but has ")
           << op->getNumResults() << " and " << op->getNumOperands();
  if (!op->getAttr(constantAttr))
    return op->emitOpError("is a constant without the attribute '")
           << constantAttr << "'";
  return success();
}

LogicalResult NamedOperation::verifyRegionInvariants(Operation *op) {
  if (hasTrait(TypeID::get<OpTrait::IsIsolatedFromAbove>()))
    return OpTrait::impl::verifyIsIsolatedFromAbove(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

static Attribute &access(OpaqueProperties properties) {
  return *properties.as<Attribute *>();
}

static DictionaryAttr getDictionary(Operation *op) {
  return dyn_cast_if_present<DictionaryAttr>(
      access(op->getPropertiesStorage()));
}

std::optional<Attribute> NamedOperation::getInherentAttr(Operation *op,
                                                         StringRef name) {
  DictionaryAttr dictionary = getDictionary(op);
  Attribute value = dictionary ? dictionary.get(name) : Attribute();
  return value ? std::optional(value) : std::nullopt;
}

void NamedOperation::setInherentAttr(Operation *op, StringAttr name,
                                     Attribute value) {
  NamedAttrList attrs(getDictionary(op));
  if (value)
    attrs.set(name, value);
  else
    attrs.erase(name);
  access(op->getPropertiesStorage()) = attrs.getDictionary(op->getContext());
}

void NamedOperation::populateInherentAttrs(Operation *op,
                                           NamedAttrList &attrs) {
  if (DictionaryAttr dictionary = getDictionary(op))
    attrs.append(dictionary.begin(), dictionary.end());
}

void NamedOperation::initProperties(OperationName, OpaqueProperties storage,
                                    OpaqueProperties init) {
  new (storage.as<Attribute *>()) Attribute(init ? access(init) : Attribute());
}

LogicalResult NamedOperation::setPropertiesFromAttr(
    OperationName, OpaqueProperties properties, Attribute value,
    function_ref<InFlightDiagnostic()>) {
  access(properties) = value;
  return success();
}

Attribute NamedOperation::getPropertiesAsAttr(Operation *op) {
  return access(op->getPropertiesStorage());
}

void NamedOperation::copyProperties(OpaqueProperties target,
                                    OpaqueProperties source) {
  access(target) = access(source);
}

bool NamedOperation::compareProperties(OpaqueProperties lhs,
                                       OpaqueProperties rhs) {
  return access(lhs) == access(rhs);
}

llvm::hash_code NamedOperation::hashProperties(OpaqueProperties properties) {
  return hash_value(access(properties));
}
