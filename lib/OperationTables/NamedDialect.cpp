//===- NamedDialect.cpp - Dialects that are known by name -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamedDialect.h"
#include "NamedOperation.h"

#include "CommSched/OperationTables/NamedDialects.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
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
