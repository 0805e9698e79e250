//===- NamedDialect.h - Dialects that are known by name ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_OPERATIONTABLES_NAMEDDIALECT_H
#define COMMSCHED_LIB_OPERATIONTABLES_NAMEDDIALECT_H

#include "OperationModel.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/OperationSupport.h"

#include <string>

namespace mlir::commsched {

/// A dialect whose namespace is given at run time. All of them share one
/// TypeID: a context tells dialects apart by their namespaces.
class NamedDialect : public Dialect {
public:
  NamedDialect(StringRef name, MLIRContext *context);

  Attribute parseAttribute(DialectAsmParser &parser, Type type) const override;
  std::optional<ParseOpHook>
  getParseOperationHook(StringRef opName) const override;

  /// Adds a table, which accepts operations that no table describes if it is
  /// lenient. One lenient table is enough, and so is none at all.
  void addLeniency(bool isLenient) {
    lenient |= isLenient;
    allowUnknownOperations(lenient);
  }

  /// A TypeID for one more operation, valid as long as the dialect.
  TypeID allocateOperationID() { return operationIDs.allocate(); }

private:
  TypeIDAllocator operationIDs;
  bool lenient = false;
};

/// What to do with a program, read from `location`, that is not in the generic
/// form of `dialect`.
std::string getFormRemedy(StringRef dialect, Location location);

/// Reports at the operation's place that only its generic form can be read.
ParseResult rejectCustomForm(OpAsmParser &parser, StringRef dialect);

/// A registered operation that is known by its name and a table only. Its
/// properties are one attribute, normally a dictionary, as those of an
/// unregistered operation are.
class NamedOperation : public OperationName::Impl {
public:
  /// Registers an operation with `name` and the traits of `model` in `dialect`.
  /// The model has to live as long as the dialect.
  static void insert(Dialect &dialect, StringRef name,
                     const detail::OperationModel &model);

  LogicalResult foldHook(Operation *op, ArrayRef<Attribute> operands,
                         SmallVectorImpl<OpFoldResult> &results) final;
  void getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) final {}
  bool hasTrait(TypeID trait) final;
  OperationName::ParseAssemblyFn getParseAssemblyFn() final;
  void populateDefaultAttrs(const OperationName &, NamedAttrList &) final {}
  void printAssembly(Operation *op, OpAsmPrinter &printer, StringRef) final;
  LogicalResult verifyInvariants(Operation *op) final;
  LogicalResult verifyRegionInvariants(Operation *op) final;

  std::optional<Attribute> getInherentAttr(Operation *op, StringRef name) final;
  void setInherentAttr(Operation *op, StringAttr name, Attribute value) final;
  void populateInherentAttrs(Operation *op, NamedAttrList &attrs) final;
  LogicalResult verifyInherentAttrs(OperationName, NamedAttrList &,
                                    function_ref<InFlightDiagnostic()>) final {
    return success();
  }

  int getOpPropertyByteSize() final { return sizeof(Attribute); }
  void initProperties(OperationName, OpaqueProperties storage,
                      OpaqueProperties init) final;
  void deleteProperties(OpaqueProperties) final {}
  void populateDefaultProperties(OperationName, OpaqueProperties) final {}
  LogicalResult setPropertiesFromAttr(OperationName,
                                      OpaqueProperties properties,
                                      Attribute value,
                                      function_ref<InFlightDiagnostic()>) final;
  Attribute getPropertiesAsAttr(Operation *op) final;
  void copyProperties(OpaqueProperties target, OpaqueProperties source) final;
  bool compareProperties(OpaqueProperties lhs, OpaqueProperties rhs) final;
  llvm::hash_code hashProperties(OpaqueProperties properties) final;

private:
  NamedOperation(Dialect &dialect, StringRef name, TypeID id,
                 const detail::OperationModel &model);

  const detail::OperationModel &model;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_OPERATIONTABLES_NAMEDDIALECT_H
