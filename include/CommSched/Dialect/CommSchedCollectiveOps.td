//===- CommSchedCollectiveOps.td - Collectives of groups ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDCOLLECTIVEOPS_TD
#define COMMSCHED_DIALECT_COMMSCHEDCOLLECTIVEOPS_TD

include "CommSched/Dialect/CommSchedOpBase.td"

def CommSched_AllGatherOp
    : CommSched_MergeableOp<"all_gather", "AllGather"> {
  let summary = "starts concatenating every rank's shard";
  let description = [{
    Delivers, for each operand, the operands of all ranks concatenated along
    `dim` in the order of the ranks. Several operands form one coalesced
    launch. With `into`, the result is written in place into the given buffer;
    the operand may be this rank's slice of that buffer.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) at least one operand, and as many delivered types as operands.
    * (C3) operand and delivered type have the same element type and rank.
    * (C4) `dim` is a dimension of every operand.
    * (C5) the delivered size along `dim` is n times the operand's; the other
      dimensions are equal.
    * (C6) `into` is absent, or has the delivered types.

    Example:

    ```mlir
    %future = commsched.all_gather %shard on @dp dim(0)
        : tensor<512x4096xbf16> -> !commsched.future<tensor<4096x4096xbf16>>
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$inputs,
    FlatSymbolRefAttr:$group,
    I64Attr:$dim,
    Variadic<AnyRankedTensor>:$into
  );
  let assemblyFormat = [{
    $inputs `on` $group `dim` `(` $dim `)` (`into` $into^)? attr-dict
    `:` type($inputs) (`into` type($into)^)? `->` qualified(type($future))
  }];
}

def CommSched_ReduceScatterOp
    : CommSched_MergeableOp<"reduce_scatter", "ReduceScatter"> {
  let summary = "starts reducing over the ranks and scattering the result";
  let description = [{
    Reduces each operand over the ranks and delivers this rank's part of the
    result, which is split along `dim` in the order of the ranks.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) at least one operand, and as many delivered types as operands.
    * (C3) operand and delivered type have the same element type and rank.
    * (C4) `dim` is a dimension of every operand.
    * (C5) n divides the operand's size along `dim`, and the delivered size is
      the n-th part; the other dimensions are equal.
    * (C6) `into` is absent, or has the delivered types.
    * (C7) the reduction is legal for the element type: `band`, `bor` and
      `bxor` require integers, `avg` requires floating-point or complex numbers,
      and `min` and `max` accept anything but complex numbers.

    Example:

    ```mlir
    %future = commsched.reduce_scatter %grad on @dp reduction(avg) dim(0)
        : tensor<4096x4096xf32> -> !commsched.future<tensor<512x4096xf32>>
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$inputs,
    FlatSymbolRefAttr:$group,
    CommSched_ReductionKind:$reduction,
    I64Attr:$dim,
    Variadic<AnyRankedTensor>:$into
  );
  let assemblyFormat = [{
    $inputs `on` $group `reduction` `(` $reduction `)` `dim` `(` $dim `)`
    (`into` $into^)? attr-dict
    `:` type($inputs) (`into` type($into)^)? `->` qualified(type($future))
  }];
  let extraClassDeclaration = mergeableDeclaration # [{
    ::std::optional<ReductionKind> getReductionKind() { return getReduction(); }
  }];
}

def CommSched_AllReduceOp
    : CommSched_MergeableOp<"all_reduce", "AllReduce"> {
  let summary = "starts reducing over the ranks";
  let description = [{
    Reduces each operand over the ranks and delivers the result to all.

    Constraints:
    * (C1) the group exists.
    * (C2) at least one operand, and as many delivered types as operands.
    * (C3) operand and delivered type are equal.
    * (C4) `into` is absent, or has the delivered types.
    * (C5) the reduction is legal for the element type (as C7 of
      `reduce_scatter`).

    Example:

    ```mlir
    %future = commsched.all_reduce %x on @world reduction(sum)
        : tensor<64x128xf32> -> !commsched.future<tensor<64x128xf32>>
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$inputs,
    FlatSymbolRefAttr:$group,
    CommSched_ReductionKind:$reduction,
    Variadic<AnyRankedTensor>:$into
  );
  let assemblyFormat = [{
    $inputs `on` $group `reduction` `(` $reduction `)` (`into` $into^)?
    attr-dict `:` type($inputs) (`into` type($into)^)? `->` qualified(type($future))
  }];
  let extraClassDeclaration = mergeableDeclaration # [{
    ::std::optional<ReductionKind> getReductionKind() { return getReduction(); }
  }];
}

def CommSched_AllToAllOp
    : CommSched_KeyedMergeableOp<"all_to_all", "AllToAll"> {
  let summary = "starts exchanging a different part with every rank";
  let description = [{
    Splits each operand along `split_dim`, sends the i-th part to rank i, and
    delivers the received parts concatenated along `concat_dim`. The parts are
    equal, unless `input_splits` or `output_splits` give the number of rows for
    each rank: as a list of constants, or as a tensor that is read when the
    collective starts. Then the numbers of rows may be dynamic.

    Tensors of splits are values, so what they hold is verified by the runtime
    when the program runs: no entry is negative, `input_splits` adds up to the
    operand's rows and `output_splits` to the delivered rows (if these are
    static; else it is their number), and a rank receives from each rank as many
    rows as that one sends to it. The bytes of such a collective, in its costs
    and reports, are those that `commsched.size_hints` states, and thus expected
    ones. It is never merged.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) at least one operand, and as many delivered types as operands.
    * (C3) operand and delivered type have the same element type and rank.
    * (C4) `split_dim` and `concat_dim` are dimensions of every operand.
    * (C5) with equal parts, n divides the operand's size along `split_dim`;
      the delivered size is the n-th part there and n times as large along
      `concat_dim`; the other dimensions are equal.
    * (C6) with splits, `split_dim` and `concat_dim` are equal; a list has one
      entry a rank, none negative; `input_splits` adds up to the operand's size
      and `output_splits` to the delivered size along that dimension; a side
      without splits is divided evenly; the other dimensions are equal.
    * (C7) `into` is absent, or has the delivered types.
    * (C8) a tensor of splits is a `tensor<nxi64>`, `split_dim` is 0, and the
      same side has no list.

    Example:

    ```mlir
    %future = commsched.all_to_all %x on @ep split_dim(0) concat_dim(0)
        input_splits([3, 7]) output_splits([5, 7])
        : tensor<10x16xbf16> -> !commsched.future<tensor<12x16xbf16>>

    %rows = commsched.all_to_all %y on @ep split_dim(0) concat_dim(0)
        input_splits(%sent : tensor<2xi64>)
        output_splits(%received : tensor<2xi64>)
        {commsched.size_hints = array<i64: 12>}
        : tensor<10x16xbf16> -> !commsched.future<tensor<?x16xbf16>>
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$inputs,
    FlatSymbolRefAttr:$group,
    I64Attr:$split_dim,
    I64Attr:$concat_dim,
    OptionalAttr<DenseI64ArrayAttr>:$input_splits,
    OptionalAttr<DenseI64ArrayAttr>:$output_splits,
    Variadic<AnyRankedTensor>:$into,
    Optional<AnyRankedTensor>:$input_sizes,
    Optional<AnyRankedTensor>:$output_sizes
  );
  let assemblyFormat = [{
    $inputs `on` $group `split_dim` `(` $split_dim `)`
    `concat_dim` `(` $concat_dim `)`
    (`input_splits` `(` custom<Splits>($input_splits, $input_sizes,
                                       type($input_sizes))^ `)`)?
    (`output_splits` `(` custom<Splits>($output_splits, $output_sizes,
                                        type($output_sizes))^ `)`)?
    (`into` $into^)?
    attr-dict `:` type($inputs) (`into` type($into)^)? `->` qualified(type($future))
  }];
  let extraClassDeclaration = mergeableDeclaration # [{
    ::mlir::Attribute getBucketKey();

    /// Whether the numbers of rows are values.
    bool hasSplitValues() { return getInputSizes() || getOutputSizes(); }
    /// Whether the parts may have different sizes: lists or values say which.
    bool hasSplits() {
      return getInputSplits() || getOutputSplits() || hasSplitValues();
    }
  }];
  let keyDefinition = [{
    if (hasSplitValues())
      return {};
    return detail::getBucketKeyWith(*this, {
        getSplitDimAttr(), getConcatDimAttr(), getInputSplitsAttr(),
        getOutputSplitsAttr()});
  }];
}

def CommSched_RaggedAllToAllOp
    : CommSched_StartOp<"ragged_all_to_all", "AllToAll"> {
  let summary = "starts exchanging rows whose numbers are known at run time";
  let description = [{
    Sends slices of the rows (dimension 0) of the operand to the ranks of the
    group, and writes the slices that arrive into the buffer `into`. Rows of the
    buffer to which nothing is sent keep their values.

    The four lists have k entries for each rank, in the order of the ranks. The
    entries of rank r in `send` are the first row, and the number of rows, of
    each slice for rank r; those in `at` are the rows of the buffer *of rank r*
    where the slices are written; those in `receive` are the numbers of rows
    that rank r sends to this one. The lists are values: neither their entries
    nor what they add up to is verified.

    The bytes of this collective are those of the whole operand and of the whole
    buffer, which is the most that it transfers. It is never merged, and has no
    lowering to the runtime.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) one type is delivered, which is that of `into`.
    * (C3) operand and `into` have the same element type and rank, which is at
      least 1, and equal dimensions but for dimension 0.
    * (C4) each list has one dimension and integer elements.
    * (C5) all lists have the same size, which is a multiple of n.

    Example:

    ```mlir
    %future = commsched.ragged_all_to_all %rows on @ep
        send(%input_offsets, %send_sizes) at(%output_offsets)
        receive(%recv_sizes) into %buffer
        : tensor<64x16xbf16>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>,
          tensor<4xi32> into tensor<96x16xbf16>
          -> !commsched.future<tensor<96x16xbf16>>
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$input,
    FlatSymbolRefAttr:$group,
    AnyRankedTensor:$input_offsets,
    AnyRankedTensor:$send_sizes,
    AnyRankedTensor:$output_offsets,
    AnyRankedTensor:$recv_sizes,
    AnyRankedTensor:$into
  );
  let assemblyFormat = [{
    $input `on` $group `send` `(` $input_offsets `,` $send_sizes `)`
    `at` `(` $output_offsets `)` `receive` `(` $recv_sizes `)`
    `into` $into attr-dict
    `:` type($input) `,` type($input_offsets) `,` type($send_sizes) `,`
    type($output_offsets) `,` type($recv_sizes) `into` type($into)
    `->` qualified(type($future))
  }];
  let extraClassDeclaration = startDeclaration # [{
    ::mlir::Attribute getBucketKey() { return {}; }
  }];
  let extraClassDefinition = startDefinition # [{
    ::mlir::OperandRange $cppClass::getSentValues() {
      return getODSOperands(0);
    }
    ::mlir::OperandRange $cppClass::getDestinations() {
      return getODSOperands(5);
    }
  }];
}

def CommSched_BroadcastOp
    : CommSched_KeyedMergeableOp<"broadcast", "Broadcast"> {
  let summary = "starts sending the root's values to every rank";
  let description = [{
    Delivers the operands of rank `root` of the group to all its ranks.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) at least one operand, and as many delivered types as operands.
    * (C3) operand and delivered type are equal.
    * (C4) `root` is in [0, n).
    * (C5) `into` is absent, or has the delivered types.

    Example:

    ```mlir
    %future = commsched.broadcast %x on @world root(0)
        : tensor<64x128xf32> -> !commsched.future<tensor<64x128xf32>>
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$inputs,
    FlatSymbolRefAttr:$group,
    I64Attr:$root,
    Variadic<AnyRankedTensor>:$into
  );
  let assemblyFormat = [{
    $inputs `on` $group `root` `(` $root `)` (`into` $into^)? attr-dict
    `:` type($inputs) (`into` type($into)^)? `->` qualified(type($future))
  }];
  let keyDefinition = [{
    return detail::getBucketKeyWith(*this, {getRootAttr()});
  }];
}

def CommSched_PermuteOp : CommSched_KeyedMergeableOp<"permute", "Permute"> {
  let summary = "starts sending along pairs of ranks";
  let description = [{
    Each row `[source, target]` of `pairs` sends the source's operands to the
    target. A rank that is not a target receives zeros.

    Constraints (n is the group's size):
    * (C1) the group exists.
    * (C2) at least one operand, and as many delivered types as operands.
    * (C3) operand and delivered type are equal.
    * (C4) `pairs` has two dimensions and two columns.
    * (C5) every source and target is in [0, n).
    * (C6) no source and no target is repeated.
    * (C7) `into` is absent, or has the delivered types.

    Example:

    ```mlir
    %future = commsched.permute %x on @dp
        pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>)
        : tensor<64x128xf32> -> !commsched.future<tensor<64x128xf32>>
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$inputs,
    FlatSymbolRefAttr:$group,
    I64ElementsAttr:$pairs,
    Variadic<AnyRankedTensor>:$into
  );
  let assemblyFormat = [{
    $inputs `on` $group `pairs` `(` $pairs `)` (`into` $into^)? attr-dict
    `:` type($inputs) (`into` type($into)^)? `->` qualified(type($future))
  }];
  let keyDefinition = [{
    return detail::getBucketKeyWith(*this, {detail::sortPairs(getPairs())});
  }];
}

#endif // COMMSCHED_DIALECT_COMMSCHEDCOLLECTIVEOPS_TD
