//===- Fsdp.td - Passes that know sharded parameters -------*- tablegen -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_FSDP_TD
#define COMMSCHED_TRANSFORMS_PASSES_FSDP_TD

include "mlir/Pass/PassBase.td"

def AnnotateFsdp : Pass<"commsched-annotate-fsdp", "::mlir::func::FuncOp"> {
  let summary = "mark the collectives that shard parameters";
  let description = [{
    Writes on collectives, those of every dialect, what they have to do with
    fully sharded data parallelism, as `commsched.fsdp`:

    - `"parameter_gather"`: an all-gather of one parameter, through casts,
      padding and views, or of a bucket that a copy-in has packed parameters
      into. Parameters are the arguments with `commsched.role = "parameter"`,
      or all of them if no argument of the function has a role.
    - `"gradient_scatter"`: a reduce-scatter that reaches only the results of
      the function, through operations of one operand.
    - `"gradient_reduce"`: the all-reduce of a gradient scatter's result
      (hybrid sharding).

    What flows where decides, no name. The attribute is removed where it is
    wrong. A remark counts the collectives of a function, and one for each
    other collective on a group on which parameters are gathered says why it is
    none of them.
  }];
}

def EnforceFsdpOrder
    : Pass<"commsched-enforce-fsdp-order", "::mlir::func::FuncOp"> {
  let summary = "keep the collectives of sharded parameters in step";
  let description = [{
    Bounds what is gathered at a time: each gather starts only when the one
    before it has been waited for and copied out. So next to what is in use
    there is one gather in flight at most, whatever made starts rise. Run it
    last, after the passes that reorder.

    In each block it puts directly one after the other

    - the casts and views that make shards ready, `all_gather_copy_in` and its
      gather,
    - the wait for that gather, `split_with_sizes_copy` of what it gives, and
      `fsdp_copy` of what that gives,
    - `chunk_cat` and its reduce-scatter,
    - the wait for that reduce-scatter and the casts and views that follow from
      it alone,

    and then the wait of a gather, with what stands with it, ahead of the next
    gather's copy-in, and so for reduce-scatters. For that the next gather moves
    down, as the wait stands where the parameters are needed, but the wait for a
    reduce-scatter moves up, as the next one starts where its gradients are
    ready. Gathers and reduce-scatters without such a copy are left alone, as
    they are in PyTorch Inductor.

    When a layer is used twice, the second gather may depend on what the first
    one gave. Only what lies between its own shards and its own copy-out belongs
    to it, and what would belong to two gathers is the first one's. Everything
    else, collectives on their streams in particular, keeps its order.

    A group that something else has to split stays as it is, and a gather that
    has to start before an earlier one's wait does so; a remark names the
    operations. The order is all that this pass leaves behind:
    `commsched-order-collectives` makes later passes keep that of collectives.
  }];
}

def ReinplaceAllGather
    : Pass<"commsched-reinplace-all-gather", "::mlir::func::FuncOp"> {
  let summary = "gather into the buffer that the copy-in has made";
  let description = [{
    A `commsched.all_gather` of the slice that a `commsched.all_gather_copy_in`
    has packed, without `into`, becomes one `into` the copy-in's buffer, so that
    there is no second buffer of that size:

    ```mlir
    %slice, %buffer = commsched.all_gather_copy_in %a, %b on @dp
        : tensor<16x32xbf16>, tensor<8x8xbf16>
          -> tensor<576xbf16>, tensor<4608xbf16>
    %future = commsched.all_gather %slice on @dp dim(0) into %buffer
        : tensor<576xbf16> into tensor<4608xbf16>
          -> !commsched.future<tensor<4608xbf16>>
    ```

    It is left as it is, with a remark that says why,

    - if it gathers other tensors along with the slice, gathers on another group
      than the copy-in's, delivers another type than the buffer's, or if the
      copy-in is in another block,
    - if anything but its own wait uses the buffer, the slice or a view of them
      once it has started, be it only a collective that is in flight then (of
      two gathers of one slice the last may be in place),
    - if the buffer is returned, is used outside of the block, or is one that a
      memref may reach.

    Peak memory does not rise, and no time changes. Other collectives stay out
    of place: their operands may be results of pure operations, which generic
    passes may merge with equal ones, as if nobody wrote them.
  }];
}

def RemoveUnshardedParamUsage
    : Pass<"commsched-remove-unsharded-param-usage", "::mlir::func::FuncOp"> {
  let summary = "compute with gathered tensors, not with copies of them";
  let description = [{
    For memref arguments that `commsched.resize_storage` grows and frees, and
    `commsched.fsdp_copy` fills: what reads such an unsharded parameter takes
    the tensor that was copied into it last, and the copies and resizes go.

    ```mlir
    commsched.resize_storage %p bytes(33554432) : memref<4096x4096xbf16>
    commsched.fsdp_copy %full into %p
        : tensor<4096x4096xbf16>, memref<4096x4096xbf16>
    %w = bufferization.to_tensor %p
        : memref<4096x4096xbf16> to tensor<4096x4096xbf16>
    %y = commsched.compute "aten.mm"(%x, %w)
        : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>)
          -> tensor<16x4096xbf16>
    commsched.resize_storage %p bytes(0) : memref<4096x4096xbf16>
    ```

    becomes

    ```mlir
    %y = commsched.compute "aten.mm"(%x, %full)
        : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>)
          -> tensor<16x4096xbf16>
    ```

    A parameter that is filled several times, as that of a layer that is used
    again, has a range for each copy: up to the next one, or to where it is
    freed. The signature of the function stays, but arguments that nothing uses
    any more get the role `"unsharded_param"`, if they have none: as the model
    has it, they then have no storage.

    A parameter is taken to be no other argument's memory, and out of reach of
    code that it is not passed to. It is left alone, with a remark that says
    why,

    - if it is not grown and freed in turns in the function's first block,
      beginning with the one and ending with the other: if it outlives the
      function, the caller sees it,
    - if it is read as a memref or through a view, or if a tensor that is read
      of it is returned, passed to code that nobody knows, or copied into a
      parameter,
    - if such a tensor, or a view of it, is used after the end of its range: it
      is for the reader of the program to say whether the tensor changes with
      the storage,
    - if the tensor that was copied is written in place before the last use of
      the copy.

    Errors, for parameters that are grown and freed in turns, are operations
    that write one in another way, or may, such as calls; a copy into one that
    has no storage; and a read before it is filled.

    A gathered tensor now lives as long as the parameter was used. Peak memory
    does not rise by that, unless it is a view of something larger.
  }];
}

#endif // COMMSCHED_TRANSFORMS_PASSES_FSDP_TD
