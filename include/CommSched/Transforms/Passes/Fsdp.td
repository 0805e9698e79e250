//===- Fsdp.td - Passes that know sharded parameters -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_FSDP_TD
#define COMMSCHED_TRANSFORMS_PASSES_FSDP_TD

include "mlir/Pass/PassBase.td"

def AnnotateFsdp : Pass<"test-commsched-annotate-fsdp", "::mlir::func::FuncOp"> {
  let summary = "mark the collectives that shard parameters";
  let description = [{
    Sets `commsched.fsdp` on each collective, of any dialect, that takes part in
    fully sharded data parallelism:

    - `"parameter_gather"`: an all-gather of one parameter, through casts,
      padding and views, or of a bucket that a copy-in has packed parameters
      into. Parameters are the arguments with `commsched.role = "parameter"`,
      or all of them if no argument of the function has a role.
    - `"gradient_scatter"`: a reduce-scatter that reaches only the results of
      the function, through operations of one operand.
    - `"gradient_reduce"`: the all-reduce of a gradient scatter's result
      (hybrid sharding).

    The pass decides by the data flow, not by names, and removes the attribute
    where it is wrong. One remark counts the collectives of a function. Another
    remark gives the reason for each collective that is none of these though its
    group gathers parameters.
  }];
}

def EnforceFsdpOrder
    : Pass<"commsched-enforce-fsdp-order", "::mlir::func::FuncOp"> {
  let summary = "keep the collectives of sharded parameters in step";
  let description = [{
    Limits the gathers in flight: each gather starts only after the wait and the
    copy-out of the gather before it. Beside the parameters in use, at most one
    gather is then in flight, however early other passes start gathers. Run this
    pass last, after the passes that reorder.

    In each block it puts directly one after the other

    - the casts and views that make shards ready, `all_gather_copy_in` and its
      gather,
    - the wait for that gather, `split_with_sizes_copy` of what it gives, and
      `fsdp_copy` of what that gives,
    - `chunk_cat` and its reduce-scatter,
    - the wait for that reduce-scatter and the casts and views that follow from
      it alone,

    and then the wait of a gather, with its group of operations, before the
    copy-in of the next gather; likewise for reduce-scatters. To this end the next
    gather moves down, because the wait stands where the parameters are needed,
    whereas the wait for a reduce-scatter moves up, because the next one starts
    where its gradients are ready. Gathers and reduce-scatters without such a
    copy keep their places, as in PyTorch Inductor.

    When a layer is used twice, the second gather may depend on the result of the
    first. Only the operations between its own shards and its own copy-out belong
    to a gather, and an operation that would belong to two gathers belongs to the
    first. All other operations, and the collectives of each stream, keep their
    order.

    A group that another operation has to split stays as it is, and a gather that
    has to start before the wait of an earlier one does so; a remark names the
    operations. The pass leaves no attribute: run `commsched-order-collectives`
    to make later passes keep the order of collectives.
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
    passes may merge with equal ones, as if no operation wrote them.
  }];
}

def RemoveUnshardedParamUsage
    : Pass<"commsched-remove-unsharded-param-usage", "::mlir::func::FuncOp"> {
  let summary = "compute with gathered tensors, not with copies of them";
  let description = [{
    Treats memref arguments that `commsched.resize_storage` grows and frees, and
    `commsched.fsdp_copy` fills. Operations that read such an unsharded parameter
    use the tensor that was copied into it last instead, and the copies and
    resizes are erased.

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
    freed. The signature of the function stays, but arguments without remaining
    uses get the role `"unsharded_param"`, if they have no role: the memory model
    then counts no storage for them.

    A parameter is taken to be no other argument's memory, and out of reach of
    code that it is not passed to. It is left alone, with a remark that says
    why,

    - if it is not grown and freed in turns in the function's first block,
      beginning with the one and ending with the other: if it outlives the
      function, the caller sees it,
    - if it is read as a memref or through a view, or if a tensor that is read
      of it is returned, passed to unknown code, or copied into a parameter,
    - if such a tensor, or a view of it, is used after the end of its range: the
      program does not define whether the tensor changes with the storage,
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
