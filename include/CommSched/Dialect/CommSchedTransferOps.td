//===- CommSchedTransferOps.td - Transfers to the host -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDTRANSFEROPS_TD
#define COMMSCHED_DIALECT_COMMSCHEDTRANSFEROPS_TD

include "CommSched/Dialect/CommSchedOpBase.td"

/// A start that copies tensors between the device and its host, on the stream
/// `stream`. It has no process group: each rank copies for itself.
class CommSched_HostTransferOp<string mnemonic, string kind, string stream>
    : CommSched_Op<mnemonic, [
        DeclareOpInterfaceMethods<CommSched_CollectiveOpInterface,
                                  ["getBucketKey"]>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs CommSched_Future:$future);
  let assemblyFormat = [{
    $inputs attr-dict `:` type($inputs) `->` qualified(type($future))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getFutureTypes() {
      return getFuture().getType().getTypes();
    }
    /// The name of the stream.
    static ::llvm::StringRef getStreamName() { return "}] # stream # [{"; }
  }];
  let extraClassDefinition = [{
    ::mlir::commsched::CollectiveKind $cppClass::getCollectiveKind() {
      return ::mlir::commsched::CollectiveKind::}] # kind # [{;
    }
    ::mlir::Attribute $cppClass::getGroupKey() {
      return StreamAttr::get(getContext(), getStreamName());
    }
    ::mlir::FailureOr<ProcessGroup> $cppClass::getProcessGroup(
        ::mlir::SymbolTableCollection &) {
      return ProcessGroup{/*size=*/1, /*ranksPerNode=*/1};
    }
    ::mlir::Value $cppClass::getInFlightFuture() { return getFuture(); }
    ::mlir::OperandRange $cppClass::getSentValues() { return getInputs(); }
    ::mlir::OperandRange $cppClass::getDestinations() {
      return {getOperands().end(), getOperands().end()};
    }
    ::llvm::SmallVector<::mlir::Type> $cppClass::getDeliveredTypes() {
      return ::llvm::to_vector(getFutureTypes());
    }
    ::mlir::Attribute $cppClass::getBucketKey() { return {}; }
    void $cppClass::getEffects(
        ::llvm::SmallVectorImpl<::mlir::MemoryEffects::EffectInstance>
            &effects) {
      detail::addStartEffects(*this, effects);
    }
  }];
}

def CommSched_OffloadOp
    : CommSched_HostTransferOp<"offload", "Offload", "d2h"> {
  let summary = "starts copying tensors to the memory of the host";
  let description = [{
    Copies the operands to pinned memory of the host and delivers the copies.
    The copies take no memory of the device. After the wait, the operands may be
    freed or overwritten.

    A transfer is no communication between ranks: other ranks need not agree on
    its place. All offloads of a device share the in-order stream `d2h`. It is
    never merged with another one and never split.

    Constraints:
    * (C1) at least one operand, and as many delivered types as operands.
    * (C2) no operand has an encoding.
    * (C3) each delivered type is that of the operand with the encoding
      `#commsched.host`.

    Example:

    ```mlir
    %future = commsched.offload %x
        : tensor<4x8xbf16> -> !commsched.future<tensor<4x8xbf16, #commsched.host>>
    %host = commsched.wait %future
        : !commsched.future<tensor<4x8xbf16, #commsched.host>>
    ```
  }];
}

def CommSched_ReloadOp
    : CommSched_HostTransferOp<"reload", "Reload", "h2d"> {
  let summary = "starts copying tensors from the memory of the host";
  let description = [{
    Copies the operands, which are in pinned memory of the host, to new buffers
    of the device and delivers these.

    All reloads of a device share the in-order stream `h2d`. Like an offload, a
    reload is no communication between ranks and is never merged or split.

    Constraints:
    * (C1) at least one operand, and as many delivered types as operands.
    * (C2) every operand has the encoding `#commsched.host`, and only operations
      that may use it do (see C4 of `wait`).
    * (C3) each delivered type is that of the operand without the encoding.

    Example:

    ```mlir
    %future = commsched.reload %host
        : tensor<4x8xbf16, #commsched.host> -> !commsched.future<tensor<4x8xbf16>>
    %x = commsched.wait %future : !commsched.future<tensor<4x8xbf16>>
    ```
  }];
}

#endif // COMMSCHED_DIALECT_COMMSCHEDTRANSFEROPS_TD
