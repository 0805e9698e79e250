//===- CommSchedFsdpOps.td - Copies and storage of FSDP ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDFSDPOPS_TD
#define COMMSCHED_DIALECT_COMMSCHEDFSDPOPS_TD

include "CommSched/Dialect/CommSchedOpBase.td"

def CommSched_AllGatherCopyInOp
    : CommSched_GroupUserOp<"all_gather_copy_in", [
        DeclareOpInterfaceMethods<CommSched_AliasOpInterface>,
        DeclareOpInterfaceMethods<CommSched_CostOpInterface,
                                  ["getMovedBytes"]>]> {
  let summary = "packs shards into this rank's slice of a gathered buffer";
  let description = [{
    Allocates the gathered buffer (second result) and copies the operands, one
    after the other, into this rank's slice of it (first result, a view of the
    second). The copy may convert the element type.

    Operands of different element types are sent as bytes: `packed` lists the
    element type that each operand is converted to before its bytes are packed.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) at least one operand.
    * (C3) both results have one dimension and the same element type.
    * (C4) the first result has as many elements as the operands together.
    * (C5) the second result has n times as many elements as the first.
    * (C6) `packed` is absent, or has one element type for each operand, whose
      elements have a known size in bytes (rounded up).
    * (C7) with `packed`, the results' element type is i8, and the first result
      has as many elements as the converted operands have bytes, instead of C4.

    Examples:

    ```mlir
    %slice, %buffer = commsched.all_gather_copy_in %a, %b on @dp
        : tensor<16x32xbf16>, tensor<8x8xbf16>
          -> tensor<576xbf16>, tensor<4608xbf16>
    %bytes, %all = commsched.all_gather_copy_in %a, %c on @dp
        packed([bf16, f32]) : tensor<16x32xbf16>, tensor<8x8xf32>
          -> tensor<1280xi8>, tensor<10240xi8>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       FlatSymbolRefAttr:$group,
                       OptionalAttr<TypeArrayAttr>:$packed);
  // Two copy-ins of the same shards are two buffers: collectives write into
  // them in place, so CSE must not make them one.
  let results = (outs AnyRankedTensor:$slice,
                      Res<AnyRankedTensor, "the gathered buffer",
                          [MemAlloc]>:$buffer);
  let assemblyFormat = [{
    $inputs `on` $group (`packed` `(` $packed^ `)`)? attr-dict
    `:` type($inputs) `->` type($slice) `,` type($buffer)
  }];
  let hasVerifier = 1;
}

def CommSched_SplitWithSizesCopyOp
    : CommSched_GroupUserOp<"split_with_sizes_copy", [Pure]> {
  let summary = "copy-out: unpacks a gathered buffer into full tensors";
  let description = [{
    Reads from every rank's slice of the buffer the shards that
    `all_gather_copy_in` packed there, and joins each tensor's shards along
    dimension 0. A buffer of i8 may hold the bytes of other element types.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) at least one result.
    * (C3) every result has the operand's element type, or the operand's is i8
      and the result's elements have a known size in bytes (rounded up).
    * (C4) the results together have as many elements as the operand; if the
      operand holds bytes of other element types, as many bytes.
    * (C5) every result has a dimension 0 that n divides.

    Example:

    ```mlir
    %full:2 = commsched.split_with_sizes_copy %buffer on @dp
        : tensor<4608xbf16> -> tensor<128x32xbf16>, tensor<64x8xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, FlatSymbolRefAttr:$group);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    $input `on` $group attr-dict `:` type($input) `->` type($outputs)
  }];
  let hasVerifier = 1;
}

def CommSched_ChunkCatOp
    : CommSched_GroupUserOp<"chunk_cat", [
        Pure, DeclareOpInterfaceMethods<CommSched_CostOpInterface,
                                        ["getMovedBytes"]>]> {
  let summary = "reduce-scatter copy-in: chunks by rank and concatenates";
  let description = [{
    Splits every operand along dimension 0 into one chunk for each rank, pads
    the last chunks with zeros to the size of the first, and concatenates the
    chunks of rank 0, then those of rank 1, and so on. The copy may widen the
    element type: with `commsched.kernels = 2`, of what was packed before.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) at least one operand, each with a dimension 0.
    * (C3) the result's element type is the operands', or a wider one of the
      same kind (floating point, integer, complex).
    * (C4) the result has one dimension.
    * (C5) the result has as many elements as the operands together, each
      padded along dimension 0 to a multiple of n.

    Example:

    ```mlir
    %buffer = commsched.chunk_cat %a, %b on @dp
        : tensor<128x32xbf16>, tensor<64x8xbf16> -> tensor<4608xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       FlatSymbolRefAttr:$group);
  let results = (outs AnyRankedTensor:$output);
  let assemblyFormat = [{
    $inputs `on` $group attr-dict `:` type($inputs) `->` type($output)
  }];
  let hasVerifier = 1;
}

def CommSched_ResizeStorageOp : CommSched_Op<"resize_storage", [
    DeclareOpInterfaceMethods<CommSched_CostOpInterface,
                              ["getKnownRuntimeNs"]>]> {
  let summary = "grows or frees the storage of an unsharded parameter";
  let description = [{
    Gives the storage behind `storage` the size `bytes`. Growing it leaves the
    contents undefined until `fsdp_copy` fills them; `bytes(0)` frees it.

    Constraints:
    * (C1) `bytes` is 0 or the size of the memref's type.

    Example:

    ```mlir
    commsched.resize_storage %p bytes(33554432) : memref<4096x4096xbf16>
    ```
  }];
  let arguments = (ins
    Arg<AnyMemRef, "the storage", [MemRead, MemWrite]>:$storage,
    I64Attr:$bytes
  );
  let assemblyFormat = [{
    $storage `bytes` `(` $bytes `)` attr-dict `:` type($storage)
  }];
  let hasVerifier = 1;
}

def CommSched_FsdpCopyOp : CommSched_Op<"fsdp_copy"> {
  let summary = "fills the storage of an unsharded parameter";
  let description = [{
    Copies the gathered tensor `source` into `storage`.

    Constraints:
    * (C1) source and storage have the same shape and element type.

    Example:

    ```mlir
    commsched.fsdp_copy %full into %p
        : tensor<4096x4096xbf16>, memref<4096x4096xbf16>
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$source,
    Arg<AnyMemRef, "the storage", [MemWrite]>:$storage
  );
  let assemblyFormat = [{
    $source `into` $storage attr-dict `:` type($source) `,` type($storage)
  }];
  let hasVerifier = 1;
}

#endif // COMMSCHED_DIALECT_COMMSCHEDFSDPOPS_TD
