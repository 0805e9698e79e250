//===- Passes.td - CommSched's conversions -----------------*- tablegen -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_CONVERSION_PASSES_TD
#define COMMSCHED_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// ShardToCommSched
//===----------------------------------------------------------------------===//

def ConvertShardToCommSched
    : Pass<"convert-shard-to-commsched", "::mlir::ModuleOp"> {
  let summary = "turn collectives of the shard dialect into starts and waits";
  let description = [{
    Takes the program of one device, as `--sharding-propagation` and
    `--shard-partition` leave it, and turns each of its collectives into a start
    with its wait right behind it. When to start and when to wait is the
    business of the scheduling passes.

    ```mlir
    shard.grid @grid(shape = 2x4)
    func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %sum = shard.all_reduce %x on @grid grid_axes = [1]
          : tensor<8x16xf32> -> tensor<8x16xf32>
      return %sum : tensor<8x16xf32>
    }
    ```

    becomes

    ```mlir
    commsched.group @grid_axes_1 size(4)
    func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %future = commsched.all_reduce %x on @grid_axes_1 reduction(sum)
          : tensor<8x16xf32> -> !commsched.future<tensor<8x16xf32>>
      %sum = commsched.wait %future : !commsched.future<tensor<8x16xf32>>
      return %sum : tensor<8x16xf32>
    }
    ```

    **Groups.** Device `(i, j, …)` of a grid is the rank with the row-major
    number of its coordinates. The axes of a grid that an operation names are
    one `commsched.group`, declared behind the grid under the grid's name and
    the axes; grids go when nothing names them any more. Members are given by
    `size` and `stride` where these describe them, else by `ranks`: axes that
    are not next to each other, or listed from the inner to the outer.
    `ranks_per_node` is added where consecutive numbers on a node say other than
    the default. Along axes of a single device, or none, nothing is sent.

    **Operations.** `all_gather`, `all_reduce`, `all_to_all`, `broadcast`,
    `reduce_scatter`, `send` and `recv` become the start of the same name.
    Reductions convert their operand first where the result's element type
    differs, for that is the type in which shard accumulates; integers are
    signed, but for `i1`. Of the others,

     * `gather` becomes an all_gather and `reduce` an all_reduce: what is not
       the root has an undefined result, and gets the root's. A gather costs the
       root, which sets the pace, no more than before; an all_reduce sends up to
       twice the bytes of a reduction.
     * `scatter` becomes an all_to_all, of which each rank keeps the part that
       came from the root. The root sends (n-1)/n of its tensor, what it has to
       send anyway; a broadcast would send it all. The other ranks send as much,
       and every rank holds a buffer of the root's size.
     * `shift` becomes a permute from index i to index i + `offset` of the axis.
       Where nothing arrives, shard's result is undefined and the permute's zero.
     * `update_halo` becomes a permute for each halo, along the last dimension
       first, so that corners arrive through two neighbours. Halos at the border
       of the grid stay as they are.
     * `all_slice` and `process_multi_index`, `process_linear_index`, which send
       nothing, compute with `commsched_rt.rank`; `neighbors_linear_indices`
       with the coordinates that it is given; `grid_shape` becomes constants.

    What a `send` blocks for, its wait behind it blocks for: two devices that
    both send to each other before they receive wait forever, unless the
    scheduling passes or the backend put that right. A `permute` does not.

    Attributes such as `commsched.name` move on to the start.

    Errors: grids or tensors with dynamic sizes; roots, peers and halo sizes
    that are not constant; `recv` without a source; generic reductions; buffers
    instead of tensors; and operations that annotate (`shard.shard`,
    `shard.sharding`, …), which say that the program is not partitioned.
  }];
  let options = [
    Option<"ranksPerNode", "ranks-per-node", "int64_t", /*default=*/"8",
           "How many ranks with consecutive numbers share a node">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::commsched::CommSchedDialect",
    "::mlir::commsched::rt::CommSchedRtDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

//===----------------------------------------------------------------------===//
// CommSchedToRuntime
//===----------------------------------------------------------------------===//

def ConvertCommSchedToRequests
    : Pass<"convert-commsched-to-requests", "::mlir::ModuleOp"> {
  let summary = "turn futures into requests of the runtime, on tensors";
  let description = [{
    The first step of `convert-commsched-to-runtime`: starts, waits and FSDP's
    copies become operations of `commsched_rt` on tensors, which say what is read
    and written while a collective is in flight. Collectives that cut or join
    along another dimension than the first get copies that make the parts of the
    ranks contiguous. A gather into the buffer that its operand is a slice of,
    and an all_reduce or broadcast into its own operand, is in place.

    A `commsched.compute` becomes an operation that takes its predicted time and
    makes up its results; if it is a view, a view of the first elements. The
    predicted times come as everywhere from pins, the profile, and the model.

    Tensor arguments are marked as not writable for bufferization, unless they
    are `commsched.freeable`: the caller keeps them. `commsched.resize_storage`
    disappears, for the caller owns the storage too.

    Example: in

    ```mlir
    %f = commsched.all_gather %x on @dp dim(0)
        : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
    %full = commsched.wait %f : !commsched.future<tensor<16xf32>>
    ```

    the wait then reads what was sent, and hands on what was received:

    ```mlir
    %e = tensor.empty() : tensor<16xf32>
    %request, %b = commsched_rt.start "all_gather" "all_gather_0" on @dp
        ins(%x : tensor<4xf32>) outs(%e : tensor<16xf32>)
        {received = array<i64: 16>, sent = array<i64: 4>}
        : !commsched_rt.request, tensor<16xf32>
    %full = commsched_rt.wait %request ins(%x : tensor<4xf32>)
        outs(%b : tensor<16xf32>) -> tensor<16xf32>
    ```
  }];
  let options = [
    Option<"profile", "profile", "std::string", /*default=*/"\"\"",
           "JSON file of measured collective times, for the predicted times">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::commsched::rt::CommSchedRtDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

def PackRequestBuffers
    : Pass<"commsched-pack-request-buffers", "::mlir::func::FuncOp"> {
  let summary = "give the runtime contiguous buffers";
  let description = [{
    The runtime takes a pointer and a number of elements. Where bufferization
    left a memref with gaps as an operand of `commsched_rt`, this takes a packed
    copy: before the operation for what it reads, after it (after the wait, for
    a collective) for what it writes.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def ConvertRequestsToCalls
    : Pass<"convert-requests-to-calls", "::mlir::ModuleOp"> {
  let summary = "turn requests on memrefs into calls of the runtime";
  let description = [{
    The last step of `convert-commsched-to-runtime`: operations of
    `commsched_rt` on memrefs become calls of the C functions in
    `CommSched/Runtime/Runtime.h`, copies between contiguous memrefs become the
    runtime's copies, and the collectives, operators and groups of the module
    become its description, the text of the global `commsched_program`. Between
    operations on the processor, the runtime is polled while something is in
    flight. Declarations of groups disappear.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

//===----------------------------------------------------------------------===//
// SmallFloats
//===----------------------------------------------------------------------===//

def ExpandFloat8Casts : Pass<"commsched-expand-float8-casts"> {
  let summary = "convert 8-bit floats with operations that processors have";
  let description = [{
    Turns `arith.truncf` to f8E5M2 and f8E4M3FN, and `arith.extf` from them, on
    numbers and vectors, into arithmetic on patterns of bits. Part of
    `commsched-to-llvm`: LLVM knows neither type, and keeps both as i8.

    What is converted is rounded once to the nearest, ties to even. What is too
    large is infinite in f8E5M2 and NaN in f8E4M3FN, which has no infinity; it
    does not saturate. Other rounding modes, and types of more than 64 bits, are
    left alone.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // COMMSCHED_CONVERSION_PASSES_TD
