//===- CommSchedComputeOps.td - Opaque operators -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDCOMPUTEOPS_TD
#define COMMSCHED_DIALECT_COMMSCHEDCOMPUTEOPS_TD

include "CommSched/Dialect/CommSchedOpBase.td"

def CommSched_ComputeOp : CommSched_Op<"compute", [
    DeclareOpInterfaceMethods<CommSched_AliasOpInterface>,
    DeclareOpInterfaceMethods<CommSched_CostOpInterface,
                              ["getFlopCount", "getMovedBytes"]>,
    DeclareOpInterfaceMethods<CommSched_OperatorClassOpInterface>,
    DeclareOpInterfaceMethods<CommSched_SplitOpInterface,
                              ["hasSplitRule", "createChunk"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "an opaque operator of an imported graph";
  let description = [{
    An operator whose implementation CommSched does not know, described by its
    operands, its results and its cost:

    * `flops` is the number of floating-point operations.
    * `bytes` is the number of bytes moved through memory; by default, those of
      the operands and results.
    * `alias` is the index of the operand that the results are views of. With
      `bytes` above 0 and without `mutates`, the result is written there
      instead, as a chunk of a value is into its part of the whole.
    * `mutates` lists the indices of the operands that are written in place.
    * `random` marks an operator that draws random numbers. It draws them from
      the state that it is given if one of its operands is an argument with the
      role `rng_state`, `fwd_rng_state` or `bwd_rng_state`, otherwise from a
      hidden state.
    * `split` says along which axes the operator can be computed in chunks, in
      the notation of einops: the dimensions of the operands, `->`, and those of
      the results, with commas between values and blanks between dimensions.
      Equal names are one axis. A dimension is the name of an axis, a dimension
      that consists of several parts, outermost first, in parentheses, or `_`,
      which cannot be split. A part in parentheses is also a number: a part of
      that size that cannot be split. A value without dimensions is needed
      whole. An axis of the operands only is a sum: its chunks give partial
      sums. An operator that mutates or is random is not split, even if it has
      this attribute.

    An operator without results has an effect: it is never removed, and its
    order among the operations with effects does not change.

    Constraints:
    * (C1) the operator's name is not empty.
    * (C2) `flops` is finite and not negative.
    * (C3) `bytes` is not negative.
    * (C4) `alias` is the index of an operand.
    * (C5) `mutates` lists indices of operands, each at most once.
    * (C6) `split` has the operands and the results, each with the dimensions of
      its type or none; no axis is twice in one value; the sizes of all axes
      follow from the types and agree; an axis of one result is in all of them.

    Examples:

    ```mlir
    %y = commsched.compute "aten.mm"(%x, %w) {
        flops = 5.4e8 : f64, split = "m k, k n -> m n"}
        : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>)
          -> tensor<16x4096xbf16>
    %h = commsched.compute "aten.view"(%y) {
        alias = 0 : i64, split = "m (h d) -> m h d"}
        : (tensor<16x4096xbf16>) -> tensor<16x32x128xbf16>
    ```
  }];
  let arguments = (ins
    StrAttr:$callee,
    Variadic<AnyType>:$inputs,
    OptionalAttr<F64Attr>:$flops,
    OptionalAttr<I64Attr>:$bytes,
    OptionalAttr<I64Attr>:$alias,
    OptionalAttr<DenseI64ArrayAttr>:$mutates,
    UnitAttr:$random,
    OptionalAttr<StrAttr>:$split
  );
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
  // Reads bytecode without `split`, which was added later.
  let useCustomPropertiesEncoding = 1;
}

#endif // COMMSCHED_DIALECT_COMMSCHEDCOMPUTEOPS_TD
