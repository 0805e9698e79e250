//===- CommSchedComputeOps.td - Opaque operators -----------*- tablegen -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDCOMPUTEOPS_TD
#define COMMSCHED_DIALECT_COMMSCHEDCOMPUTEOPS_TD

include "CommSched/Dialect/CommSchedOpBase.td"

def CommSched_ComputeOp : CommSched_Op<"compute", [
    DeclareOpInterfaceMethods<CommSched_AliasOpInterface>,
    DeclareOpInterfaceMethods<CommSched_CostOpInterface,
                              ["getFlopCount", "getMovedBytes"]>,
    DeclareOpInterfaceMethods<CommSched_OperatorClassOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "an opaque operator of an imported graph";
  let description = [{
    An operator whose implementation CommSched does not know, described by its
    operands, its results and its cost:

    * `flops` is the number of floating-point operations.
    * `bytes` is the number of bytes moved through memory; by default, those of
      the operands and results.
    * `alias` is the index of the operand that the results are views of.
    * `mutates` lists the indices of the operands that are written in place.
    * `random` marks an operator that draws random numbers. It draws them from
      the state that it is given if one of its operands is an argument with the
      role `rng_state`, otherwise from a hidden state.

    An operator without results has an effect: it is never removed, and its
    order among the operations with effects does not change.

    Constraints:
    * (C1) the operator's name is not empty.
    * (C2) `flops` is finite and not negative.
    * (C3) `bytes` is not negative.
    * (C4) `alias` is the index of an operand.
    * (C5) `mutates` lists indices of operands, each at most once.

    Example:

    ```mlir
    %y = commsched.compute "aten.mm"(%x, %w) {flops = 5.4e8 : f64}
        : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>)
          -> tensor<16x4096xbf16>
    ```
  }];
  let arguments = (ins
    StrAttr:$callee,
    Variadic<AnyType>:$inputs,
    OptionalAttr<F64Attr>:$flops,
    OptionalAttr<I64Attr>:$bytes,
    OptionalAttr<I64Attr>:$alias,
    OptionalAttr<DenseI64ArrayAttr>:$mutates,
    UnitAttr:$random
  );
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

#endif // COMMSCHED_DIALECT_COMMSCHEDCOMPUTEOPS_TD
