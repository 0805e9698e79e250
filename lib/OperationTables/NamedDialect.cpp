//===- NamedDialect.cpp - Dialects and operations known by name -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "NamedDialect.h"

#include "CommSched/OperationTables/NamedDialects.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {
/// Functions may be inlined into the regions of any operation: the operations
/// keep their meaning wherever they are.
struct NamedInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

/// Leaves constants in the region that uses them. StableHLO's readers do not
/// accept that the region of a reduction uses values from outside.
struct NamedFolder : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;

  bool shouldMaterializeInto(Region *) const final { return true; }
};

/// Writes types and attributes as text, the default, and rejects those that
/// the linked dialect wrote in a form of its own.
struct NamedBytecode : BytecodeDialectInterface {
  NamedBytecode(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  Attribute readAttribute(DialectBytecodeReader &reader) const final {
    return reject(reader, "an attribute"), Attribute();
  }
  Type readType(DialectBytecodeReader &reader) const final {
    return reject(reader, "a type"), Type();
  }

private:
  void reject(DialectBytecodeReader &reader, StringRef what) const {
    InFlightDiagnostic diag = reader.emitError();
    StringRef dialect = getDialect()->getNamespace();
    diag << what << " of '" << dialect
         << "' has the binary form of that dialect, which can be read only "
            "where the dialect is linked; "
         << getFormRemedy(dialect,
                          diag.getUnderlyingDiagnostic()->getLocation());
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Other forms
//===----------------------------------------------------------------------===//

std::string mlir::commsched::getConversionCommand(StringRef name) {
  bool isStream = name.empty() || name == "-" || name == "<stdin>";
  SmallString<128> output(isStream ? "program" : name);
  llvm::sys::path::replace_extension(output, ".generic.mlir");
  std::string command;
  llvm::raw_string_ostream os(command);
  auto print = [&](StringRef file) {
    llvm::sys::printArg(os, file, file.contains(' '));
  };
  os << "python -m commsched.jax.convert ";
  print(isStream ? "-" : name);
  os << " -o ";
  print(output);
  return command;
}

std::string mlir::commsched::getFormRemedy(StringRef dialect,
                                           Location location) {
  // These are the dialects of jaxlib.
  if (!llvm::is_contained({"chlo", "mhlo", "sdy", "stablehlo", "vhlo"},
                          dialect))
    return "print the module as text in the generic form "
           "(--mlir-print-op-generic, or get_asm(print_generic_op_form=True) "
           "in Python)";
  auto file = dyn_cast<FileLineColLoc>(location);
  return "convert it first: " +
         getConversionCommand(file ? file.getFilename().getValue() : "");
}

//===----------------------------------------------------------------------===//
// The dialect
//===----------------------------------------------------------------------===//

NamedDialect::NamedDialect(StringRef name, MLIRContext *context)
    : Dialect(name, context, TypeID::get<NamedDialect>()) {
  allowUnknownOperations();
  allowUnknownTypes();
  addInterfaces<NamedBytecode, NamedFolder, NamedInliner>();
}

Attribute NamedDialect::parseAttribute(DialectAsmParser &parser,
                                       Type type) const {
  MLIRContext *context = getContext();
  return OpaqueAttr::get(StringAttr::get(context, getNamespace()),
                         parser.getFullSymbolSpec(),
                         type ? type : NoneType::get(context));
}

std::optional<Dialect::ParseOpHook>
NamedDialect::getParseOperationHook(StringRef) const {
  static auto reject = [](OpAsmParser &parser, OperationState &state) {
    return rejectCustomForm(parser, state.name.getDialectNamespace());
  };
  return ParseOpHook(reject);
}

void mlir::commsched::registerNamedDialects(DialectRegistry &registry,
                                            ArrayRef<StringRef> namespaces) {
  for (StringRef name : namespaces) {
    if (registry.getDialectAllocator(name))
      continue;
    registry.insert(
        TypeID::get<NamedDialect>(), name,
        [owned = name.str()](MLIRContext *context) {
          return context->getOrLoadDialect(
              owned, TypeID::get<NamedDialect>(), [&] {
                // The context keeps the text alive, as the dialect expects.
                StringRef kept = StringAttr::get(context, owned).getValue();
                return std::make_unique<NamedDialect>(kept, context);
              });
        });
  }
}

bool mlir::commsched::isNamedDialect(const Dialect *dialect) {
  return dialect && dialect->getTypeID() == TypeID::get<NamedDialect>();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

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
