//===- NamedOperation.h - Operations of dialects by name --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_OPERATIONTABLES_NAMEDOPERATION_H
#define COMMSCHED_LIB_OPERATIONTABLES_NAMEDOPERATION_H

#include "OperationModel.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OperationSupport.h"

namespace mlir::commsched {

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

#endif // COMMSCHED_LIB_OPERATIONTABLES_NAMEDOPERATION_H
