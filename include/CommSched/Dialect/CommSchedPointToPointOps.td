//===- CommSchedPointToPointOps.td - Sends and receives ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDPOINTTOPOINTOPS_TD
#define COMMSCHED_DIALECT_COMMSCHEDPOINTTOPOINTOPS_TD

include "CommSched/Dialect/CommSchedOpBase.td"

def CommSched_SendOp : CommSched_StartOp<"send", "Send"> {
  let summary = "starts sending to one rank";
  let description = [{
    Sends the operands to rank `to` of the group. The wait delivers no values;
    after it, the operands may be freed or overwritten.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) at least one operand; the future delivers nothing.
    * (C3) `to` is in [0, n).
    * (C4) `tag` is not negative.

    Example:

    ```mlir
    %future = commsched.send %x on @pp to(1) tag(7)
        : tensor<64xf32> -> !commsched.future
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$inputs,
    FlatSymbolRefAttr:$group,
    I64Attr:$to,
    OptionalAttr<I64Attr>:$tag
  );
  let assemblyFormat = [{
    $inputs `on` $group `to` `(` $to `)` (`tag` `(` $tag^ `)`)? attr-dict
    `:` type($inputs) `->` qualified(type($future))
  }];
  let extraClassDefinition = startDefinition # [{
    ::mlir::OperandRange $cppClass::getSentValues() { return getInputs(); }
    ::mlir::OperandRange $cppClass::getDestinations() {
      return {getOperands().end(), getOperands().end()};
    }
  }];
}

def CommSched_RecvOp : CommSched_StartOp<"recv", "Recv"> {
  let summary = "starts receiving from one rank";
  let description = [{
    Receives the tensors that rank `from` of the group sends with the same tag.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) the future delivers at least one tensor.
    * (C3) `from` is in [0, n).
    * (C4) `tag` is not negative.
    * (C5) `into` is absent, or has the delivered types.

    Example:

    ```mlir
    %future = commsched.recv on @pp from(0) tag(7)
        : !commsched.future<tensor<64xf32>>
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$group,
    I64Attr:$from,
    OptionalAttr<I64Attr>:$tag,
    Variadic<AnyRankedTensor>:$into
  );
  let assemblyFormat = [{
    `on` $group `from` `(` $from `)` (`tag` `(` $tag^ `)`)? (`into` $into^)?
    attr-dict `:` (`into` type($into)^ `->`)? qualified(type($future))
  }];
  let extraClassDefinition = startDefinition # [{
    ::mlir::OperandRange $cppClass::getSentValues() {
      return {getOperands().end(), getOperands().end()};
    }
    ::mlir::OperandRange $cppClass::getDestinations() { return getInto(); }
  }];
}

#endif // COMMSCHED_DIALECT_COMMSCHEDPOINTTOPOINTOPS_TD
