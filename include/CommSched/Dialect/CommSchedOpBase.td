//===- CommSchedOpBase.td - Base classes of operations -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDOPBASE_TD
#define COMMSCHED_DIALECT_COMMSCHEDOPBASE_TD

include "CommSched/Dialect/CommSchedDialect.td"
include "CommSched/Interfaces/CommSchedEnums.td"
include "CommSched/Interfaces/CommSchedInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class CommSched_Op<string mnemonic, list<Trait> traits = []>
    : Op<CommSched_Dialect, mnemonic, traits>;

/// An operation that names a process group.
class CommSched_GroupUserOp<string mnemonic, list<Trait> traits = []>
    : CommSched_Op<mnemonic,
        !listconcat([DeclareOpInterfaceMethods<SymbolUserOpInterface>],
                    traits)> {
  code groupDeclaration = [{
    /// Checks what the operation says of the group that it names (C1).
    ::llvm::LogicalResult verifyGroup(GroupOp group);
  }];
  code groupDefinition = [{
    ::llvm::LogicalResult $cppClass::verifySymbolUses(
        ::mlir::SymbolTableCollection &symbolTables) {
      ::mlir::FailureOr<GroupOp> group =
          detail::requireGroup(*this, getGroupAttr(), symbolTables);
      return failed(group) ? ::mlir::failure() : verifyGroup(*group);
    }
  }];
  let extraClassDeclaration = groupDeclaration;
  let extraClassDefinition = groupDefinition;
}

/// A start: the communication of one launch. `inputs` are what this rank
/// sends, `destinations` the buffers that are written in place.
class CommSched_StartOp<string mnemonic, string kind, list<Trait> traits = []>
    : CommSched_GroupUserOp<mnemonic,
        !listconcat([
          DeclareOpInterfaceMethods<CommSched_CollectiveOpInterface>,
          DeclareOpInterfaceMethods<MemoryEffectsOpInterface>], traits)> {
  let results = (outs CommSched_Future:$future);
  let hasVerifier = 1;

  code startDeclaration = groupDeclaration # [{
    ::mlir::ArrayRef<::mlir::Type> getFutureTypes() {
      return getFuture().getType().getTypes();
    }
  }];

  code startDefinition = groupDefinition # [{
    ::mlir::commsched::CollectiveKind $cppClass::getCollectiveKind() {
      return ::mlir::commsched::CollectiveKind::}] # kind # [{;
    }
    ::mlir::Attribute $cppClass::getGroupKey() { return getGroupAttr(); }
    ::mlir::FailureOr<ProcessGroup> $cppClass::getProcessGroup(
        ::mlir::SymbolTableCollection &symbolTables) {
      return detail::lookupProcessGroup(*this, getGroupAttr(), symbolTables);
    }
    ::mlir::Value $cppClass::getInFlightFuture() { return getFuture(); }
    ::llvm::SmallVector<::mlir::Type> $cppClass::getDeliveredTypes() {
      return ::llvm::to_vector(getFutureTypes());
    }
    void $cppClass::getEffects(
        ::llvm::SmallVectorImpl<::mlir::MemoryEffects::EffectInstance>
            &effects) {
      detail::addStartEffects(*this, effects);
    }
  }];
  let extraClassDeclaration = startDeclaration;
}

/// A start that sends tensors and may write into given buffers. It can be
/// computed in chunks if it sends one tensor and writes into none.
class CommSched_TransferOp<string mnemonic, string kind,
                           list<Trait> traits = []>
    : CommSched_StartOp<mnemonic, kind,
        !listconcat([
          AttrSizedOperandSegments,
          DeclareOpInterfaceMethods<CommSched_SplitOpInterface,
                                    ["hasSplitRule", "createChunk"]>],
          traits)> {
  code transferDefinition = startDefinition # [{
    ::mlir::OperandRange $cppClass::getSentValues() { return getInputs(); }
    ::mlir::OperandRange $cppClass::getDestinations() { return getInto(); }
    bool $cppClass::hasSplitRule() {
      return getInputs().size() == 1 && getInto().empty();
    }
    ::mlir::commsched::SplitRule $cppClass::getSplitRule() {
      return detail::getTransferSplitRule(*this);
    }
    ::mlir::Operation *$cppClass::createChunk(
        ::mlir::OpBuilder &builder, ::mlir::ValueRange operands,
        ::mlir::TypeRange results, const SplitAxis &, int64_t) {
      return detail::createTransferChunk(*this, builder, operands, results);
    }
  }];
  let extraClassDefinition = transferDefinition;
}

/// A transfer of which one launch may stand for several.
class CommSched_MergeableOp<string mnemonic, string kind>
    : CommSched_TransferOp<mnemonic, kind> {
  code mergeableDeclaration = startDeclaration # [{
    bool isMergeable() { return true; }
    ::mlir::Operation *createMergedStart(::mlir::OpBuilder &builder,
                                         ::mlir::Location location,
                                         ::mlir::ValueRange sent,
                                         ::mlir::TypeRange delivered);
    ::mlir::Operation *createWait(::mlir::OpBuilder &builder,
                                  ::mlir::Location location);
  }];
  let extraClassDeclaration = mergeableDeclaration;
  code mergeableDefinition = transferDefinition # [{
    ::mlir::Operation *$cppClass::createMergedStart(
        ::mlir::OpBuilder &builder, ::mlir::Location location,
        ::mlir::ValueRange sent, ::mlir::TypeRange delivered) {
      return detail::createMergedStart(*this, builder, location, sent,
                                       delivered);
    }
    ::mlir::Operation *$cppClass::createWait(::mlir::OpBuilder &builder,
                                             ::mlir::Location location) {
      return WaitOp::create(builder, location, getFuture());
    }
  }];
  let extraClassDefinition = mergeableDefinition;
}

/// A mergeable transfer, of which also attributes that the default bucket key
/// does not know have to be equal. `keyDefinition` is the body of
/// getBucketKey().
class CommSched_KeyedMergeableOp<string mnemonic, string kind>
    : CommSched_MergeableOp<mnemonic, kind> {
  code keyDefinition = "";
  let extraClassDeclaration = mergeableDeclaration # [{
    ::mlir::Attribute getBucketKey();
  }];
  let extraClassDefinition = mergeableDefinition # [{
    ::mlir::Attribute $cppClass::getBucketKey() {
      }] # keyDefinition # [{
    }
  }];
}

#endif // COMMSCHED_DIALECT_COMMSCHEDOPBASE_TD
