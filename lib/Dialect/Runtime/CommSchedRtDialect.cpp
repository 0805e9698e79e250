//===- CommSchedRtDialect.cpp - The commsched_rt dialect ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::rt;

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "CommSched/Dialect/Runtime/CommSchedRtAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "CommSched/Dialect/Runtime/CommSchedRtTypes.cpp.inc"

/// The kind of a start. It is printed as a string; a keyword is accepted too.
static ParseResult parseCollectiveKind(OpAsmParser &parser,
                                       CollectiveKindAttr &kind) {
  FailureOr<CollectiveKind> parsed = FieldParser<CollectiveKind>::parse(parser);
  if (failed(parsed))
    return failure();
  kind = CollectiveKindAttr::get(parser.getContext(), *parsed);
  return success();
}

static void printCollectiveKind(OpAsmPrinter &printer, Operation *,
                                CollectiveKindAttr kind) {
  printer << '"' << stringifyCollectiveKind(kind.getValue()) << '"';
}

#define GET_OP_CLASSES
#include "CommSched/Dialect/Runtime/CommSchedRtOps.cpp.inc"

void CommSchedRtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "CommSched/Dialect/Runtime/CommSchedRtAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "CommSched/Dialect/Runtime/CommSchedRtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "CommSched/Dialect/Runtime/CommSchedRtOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Memory effects
//===----------------------------------------------------------------------===//

using EffectList =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Memrefs only: tensors are values.
static void addEffects(EffectList &effects, MutableArrayRef<OpOperand> operands,
                       ArrayRef<MemoryEffects::Effect *> kinds) {
  for (OpOperand &operand : operands)
    if (isa<BaseMemRefType>(operand.get().getType()))
      for (MemoryEffects::Effect *kind : kinds)
        effects.emplace_back(kind, &operand,
                             SideEffects::DefaultResource::get());
}

static void addCommunication(EffectList &effects, SymbolRefAttr group) {
  if (group)
    effects.emplace_back(MemoryEffects::Write::get(), group,
                         CommunicationResource::get());
  else
    effects.emplace_back(MemoryEffects::Write::get(),
                         CommunicationResource::get());
}

void StartOp::getEffects(EffectList &effects) {
  addEffects(effects, getInputsMutable(), {MemoryEffects::Read::get()});
  addEffects(effects, getOutputsMutable(),
             {MemoryEffects::Read::get(), MemoryEffects::Write::get()});
  addCommunication(effects, getGroupAttr());
}

void WaitOp::getEffects(EffectList &effects) {
  addEffects(effects, getInputsMutable(), {MemoryEffects::Read::get()});
  addEffects(effects, getOutputsMutable(),
             {MemoryEffects::Read::get(), MemoryEffects::Write::get()});
  auto start = getRequest().getDefiningOp<StartOp>();
  addCommunication(effects, start ? start.getGroupAttr() : nullptr);
}

void BarrierOp::getEffects(EffectList &effects) {
  addCommunication(effects, getGroupAttr());
}

void CopyOp::getEffects(EffectList &effects) {
  addEffects(effects, getInputMutable(), {MemoryEffects::Read::get()});
  addEffects(effects, getOutputMutable(), {MemoryEffects::Write::get()});
}

void ZeroOp::getEffects(EffectList &effects) {
  addEffects(effects, getOutputMutable(), {MemoryEffects::Write::get()});
}

void AccountOp::getEffects(EffectList &effects) {
  addCommunication(effects, nullptr);
}

/// Its time is an effect: it must not be removed when nobody uses its values.
void ComputeOp::getEffects(EffectList &effects) {
  addEffects(effects, getInputsMutable(), {MemoryEffects::Read::get()});
  addEffects(effects, getOutputsMutable(), {MemoryEffects::Write::get()});
  effects.emplace_back(MemoryEffects::Write::get(),
                       CommunicationResource::get());
}
