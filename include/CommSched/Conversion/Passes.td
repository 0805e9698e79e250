//===- Passes.td - CommSched's conversions -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
    Converts the program of one device, as `--sharding-propagation` and
    `--shard-partition` produce it: each collective becomes a start, immediately
    followed by its wait. The scheduling passes move starts and waits apart.

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
    number of its coordinates. The axes of a grid that an operation names become
    one `commsched.group`, declared after the grid and named after the grid and
    the axes; grids without remaining uses are erased. The members are given by
    `size` and `stride` where possible, otherwise by `ranks`: for axes that are
    not adjacent, or that are listed from the inner to the outer.
    `ranks_per_node` is added where it differs from the default. Along axes of a
    single device, or along no axes, no data is sent.

    **Operations.** `all_gather`, `all_reduce`, `all_to_all`, `broadcast`,
    `reduce_scatter`, `send` and `recv` become the start of the same name.
    A reduction converts its operand first if the result's element type differs,
    because shard accumulates in the result's type; integers other than `i1` are
    signed. The other operations are converted as follows:

     * `gather` becomes an all_gather and `reduce` an all_reduce: on ranks other
       than the root, shard's result is undefined, and here it is the root's. A
       gather costs the root, which is the slowest rank, no more than before; an
       all_reduce sends up to twice the bytes of a reduction.
     * `scatter` becomes an all_to_all, of which each rank keeps the part that
       the root sent. The root sends (n-1)/n of its tensor, as in a scatter;
       with a broadcast it would send all of it. The other ranks send as much,
       and every rank holds a buffer of the root's size.
     * `shift` becomes a permute from index i to index i + `offset` of the axis.
       On ranks that receive nothing, shard's result is undefined and the
       permute's is zero.
     * `update_halo` becomes a permute for each halo, along the last dimension
       first, so that corners arrive through two neighbours. Halos at the border
       of the grid do not change.
     * `all_slice`, `process_multi_index` and `process_linear_index`, which send
       nothing, compute with `commsched_rt.rank`; `neighbors_linear_indices`
       computes with its operands; `grid_shape` becomes constants.

    A wait after a `send` blocks as the `send` of shard does: two devices that
    both send to each other before they receive deadlock, unless the scheduling
    passes or the backend reorder the operations. A `permute` does not deadlock.

    The start takes over attributes such as `commsched.name`.

    Errors: grids or tensors with dynamic sizes; roots, peers and halo sizes
    that are not constant; `recv` without a source; generic reductions; buffers
    instead of tensors; and annotations (`shard.shard`, `shard.sharding`, …),
    which occur only in programs that are not partitioned.
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
// StableHloToCommSched
//===----------------------------------------------------------------------===//

def ConvertStableHloToCommSched
    : Pass<"convert-stablehlo-to-commsched", "::mlir::ModuleOp"> {
  let summary = "turn collectives of StableHLO into starts and waits";
  let description = [{
    Converts the collectives of a StableHLO program. The pass uses names of
    operations only: StableHLO may be linked or not. A blocking collective
    becomes a start, immediately followed by its wait. An `async_start` becomes
    a start, and its `async_done` the wait. All other operations stay as they
    are. `convert-commsched-to-stablehlo` is the inverse.

    ```mlir
    %sum = "stablehlo.all_reduce"(%x) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>,
      use_global_device_ids
    }> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = "stablehlo.add"(%a, %b)
          : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%c) : (tensor<f32>) -> ()
    }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    ```

    becomes

    ```mlir
    commsched.group @replica_groups_0 size(2)
        ranks(dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>)
        {stablehlo.group = {...}}
    %future = commsched.all_reduce %x on @replica_groups_0 reduction(sum)
        {commsched.name = "all_reduce.0", stablehlo.named,
         stablehlo.properties = {...}}
        : tensor<8x16xf32> -> !commsched.future<tensor<8x16xf32>>
    %sum = commsched.wait %future : !commsched.future<tensor<8x16xf32>>
    ```

    **Groups.** Device `(r, p)`, of replica r and partition p, is the rank
    `r * P + p`, where P is `mhlo.num_partitions`. Each distinct
    `replica_groups` becomes one group, and so does each meaning of its ids:
    cross-replica, cross-partition, cross-replica-and-partition and flattened.
    With a single replica, cross-partition and flattened are the same. Channel
    handles do not separate groups, since JAX gives all collectives the same
    one. A `collective_permute` has the group of all devices.

    **Operations.** `all_gather`, `all_reduce`, `all_to_all`,
    `collective_broadcast`, `collective_permute`, `reduce_scatter`, with one
    operand or several, and the custom call `@ragged_all_to_all`. A reducer is
    one operation `add`, `maximum`, `minimum`, `multiply`, `and`, `or` or `xor` of
    both arguments, which may be swapped, or converted to a type that rounds to
    the same result. Operands of a narrower element type than the result are
    converted before the start. The inherent attributes of the collective are kept in
    `stablehlo.properties`, those of an `async_start` in `stablehlo.async`. A
    start without a name gets that of its location, or its kind and a number,
    and the mark `stablehlo.named`.

    **Functions.** Collectives are converted in place in functions and in the
    bodies of `while`, `case` and `if`. The body of a `sdy.manual_computation`
    around collectives, or calls that run some, becomes a private function with
    the mark `commsched.per_device`, which the body calls, because passes, budgets
    and reports work on functions. Calls of functions that only compute get
    `commsched.pure`. Arguments that the caller donates
    (`jax.buffer_donor`, `tf.aliasing_output`) get `commsched.freeable`.

    **Devices.** If the module lacks `mhlo.num_replicas` and
    `mhlo.num_partitions`, their product is the option `devices`, or else what
    the ids and types of the collectives need. Empty `replica_groups` are all
    devices. Axes of a mesh in `replica_groups` are those of the attribute's own
    mesh or of a `sdy.mesh` of the module.

    **What blocks.** An operation that `commsched` has no form for stays in its
    place, where it is a barrier with a price, and the remark `CollectiveKept`
    gives the reason and the time: dynamic sizes, elements of unknown size,
    other reducers, groups of different sizes, groups that are not known, a
    `collective_broadcast` to some of the devices or from a root that is known
    at run time only, channels to the host, `send` and `recv`, other collectives,
    more than one operation in the region of an `async_start`, and custom calls
    with side effects whose targets are unknown. With `strict`, each of these is
    an error.

    Errors: groups that do not partition the devices, because they list a device
    twice, one that does not exist, or not all; pairs of a permute with a
    repeated source or target; missing or malformed attributes; and results that
    are not what the group delivers. An `async_start` without `async_done`, with
    one in another block, or with two is an error of every pass, and is reported
    when the program is read. Nested modules are not converted.
  }];
  let options = [
    Option<"ranksPerNode", "ranks-per-node", "int64_t", /*default=*/"8",
           "How many ranks with consecutive numbers share a node">,
    Option<"devices", "devices", "int64_t", /*default=*/"0",
           "How many devices there are, for modules that do not say: the product "
           "of mhlo.num_replicas and mhlo.num_partitions">,
    Option<"strict", "strict", "bool", /*default=*/"false",
           "Fail at what is not converted, instead of leaving it as a barrier in "
           "its place">,
    Option<"lenient", "lenient", "bool", /*default=*/"true",
           "The opposite of strict">,
  ];
  let dependentDialects = [
    "::mlir::commsched::CommSchedDialect",
    "::mlir::func::FuncDialect",
  ];
}

//===----------------------------------------------------------------------===//
// CommSchedToRuntime
//===----------------------------------------------------------------------===//

def ConvertCommSchedToRequests
    : Pass<"test-convert-commsched-to-requests", "::mlir::ModuleOp"> {
  let summary = "turn futures into requests of the runtime, on tensors";
  let description = [{
    The first step of `convert-commsched-to-runtime`: starts, waits and the
    copies of FSDP become operations of `commsched_rt` on tensors, whose
    operands and results are the data that a collective in flight reads and
    writes. Collectives that split or concatenate along a dimension other than
    the first get copies that make the parts of the ranks contiguous. An
    all_gather into the buffer that its operand is a slice of, and an all_reduce
    or broadcast into its own operand, are in place.

    A `commsched.compute` becomes an operation that takes its predicted time and
    fills its results with emulated values; if it is a view, it becomes a view
    of the first elements. Predicted times come from pinned costs, the profile,
    and the cost model, as in all passes.

    Tensor arguments are marked as not writable for bufferization unless they
    are `commsched.freeable`, because the caller keeps them.
    `commsched.resize_storage` is erased, because the caller owns the storage.

    A future that crosses the boundary of a function of the steady state or of
    a pipelined loop becomes a request that is held (`!commsched_rt.held`). The
    wait at the other end becomes a `commsched_rt.resume`; the starts that it
    may wait for must be in the module and leave their results in the same
    layout.

    Example: in

    ```mlir
    %f = commsched.all_gather %x on @dp dim(0)
        : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
    %full = commsched.wait %f : !commsched.future<tensor<16xf32>>
    ```

    the wait reads the sent tensor, and returns the received one:

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
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::commsched::rt::CommSchedRtDialect",
    "::mlir::tensor::TensorDialect",
  ];
}

def PackRequestBuffers
    : Pass<"test-commsched-pack-request-buffers", "::mlir::func::FuncOp"> {
  let summary = "give the runtime contiguous buffers";
  let description = [{
    The runtime takes a pointer and a number of elements. If an operand of
    `commsched_rt` is a memref with gaps after bufferization, this pass replaces
    it by a packed copy: filled before the operation if it is read, copied back
    after it (after the wait, for a collective) if it is written.

    The buffers of a request that is held outlive the function: they become
    allocations that the runtime frees. What is sent is copied, unless it is an
    allocation that nothing else uses after the start, or an argument that is
    the same in all repetitions.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def ConvertRequestsToCalls
    : Pass<"test-convert-requests-to-calls", "::mlir::ModuleOp"> {
  let summary = "turn requests on memrefs into calls of the runtime";
  let description = [{
    The last step of `convert-commsched-to-runtime`: operations of
    `commsched_rt` on memrefs become calls of the C functions in
    `CommSched/Runtime/Runtime.h`, copies between contiguous memrefs become the
    runtime's copies, and the collectives, operators and groups of the module
    are listed in its description, the text of the global `commsched_program`.
    Between operations on the processor, the runtime is polled while a
    collective is in flight. Declarations of groups are erased.
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
// CommSchedToStableHlo
//===----------------------------------------------------------------------===//

def ConvertCommSchedToStableHlo
    : Pass<"convert-commsched-to-stablehlo", "::mlir::ModuleOp"> {
  let summary = "turn starts and waits into collectives of StableHLO";
  let description = [{
    Writes a scheduled program as StableHLO: the inverse of
    `convert-stablehlo-to-commsched`. All operations other than collectives,
    buckets and their copies stay as they are.

    ```mlir
    %future = commsched.all_reduce %x on @replica_groups_0 reduction(sum)
        : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %y = "stablehlo.sine"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %sum = commsched.wait %future : !commsched.future<tensor<8xf32>>
    ```

    becomes

    ```mlir
    %future = "stablehlo.async_start"(%x) ({
    ^bb0(%arg0: tensor<8xf32>):
      %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = …}> ({
        …
      }) : (tensor<8xf32>) -> tensor<8xf32>
      "stablehlo.return"(%0) : (tensor<8xf32>) -> ()
    }) : (tensor<8xf32>) -> !stablehlo.future<tensor<8xf32>>
    %y = "stablehlo.sine"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %sum = "stablehlo.async_done"(%future)
        : (!stablehlo.future<tensor<8xf32>>) -> tensor<8xf32>
    ```

    **Starts and waits.** A start that its wait follows directly becomes the
    blocking collective, unless it was asynchronous before; any other pair
    becomes `async_start` and `async_done`. With `version=1.16` or older, which
    has no asynchronous operations, and for a ragged all-to-all, which is a
    custom call, the blocking collective stands at the place of the start.

    **Attributes.** A start that was converted from StableHLO gets all
    attributes of the original back. A start without an original, such as a
    bucket, gets those of the first collective of its group. If the group has
    no original either, its members are listed, with the number of devices from
    `mhlo.num_replicas` and `mhlo.num_partitions`. If all collectives of the
    module have the same channel handle, new ones have it, too; otherwise each
    gets the next larger one that is free. `avg` becomes a sum that is divided
    by the number of ranks after it, as JAX's `pmean` is.

    **Several tensors in one launch.** The tensors are packed into one, which
    is unpacked after the wait, since asynchronous operations have one result
    and most collectives one operand. In a module without operations of Shardy,
    in whose manual computations XLA compiles no collective with several
    results, a blocking all_gather or all_reduce is variadic instead. If the
    element types differ or a shape is dynamic, each tensor gets a collective
    of its own, in order. An asynchronous all_to_all from one dimension to
    another is one along dimension 0, with transpositions before and after it,
    since XLA compiles no other.

    **Buckets.** `all_gather_copy_in`, `split_with_sizes_copy`, `chunk_cat`, and
    operations of tensor, linalg and arith that compute what buckets send from,
    or make of what they deliver, become reshapes, slices, concatenations,
    transpositions, conversions and arithmetic of StableHLO. Bytes of different
    element types are packed by `bitcast_convert`. A collective writes nothing
    in place: `into` is dropped.

    **Inverse of the conversion from StableHLO.** Bodies of `sdy.manual_computation` that the conversion
    from StableHLO outlined are moved back. Attributes `commsched.*`, groups,
    and the marks of the conversion are removed.

    **Scheduling groups.** XLA schedules the program again, and does not keep
    its order. With `scheduling-groups`, the asynchronous operations and the
    operations between them get the frontend attribute `_scheduling_group_id`.
    XLA's latency-hiding scheduler places the operations of a group together. A
    group ends with a done, and XLA starts the collectives of the next group
    after it. Private functions, which XLA may inline more than once, get no
    groups. The option is off by default: XLA:GPU
    drops the attribute from most computations, and then keeps the start and the
    done of a group together, with nothing between them.

    Errors: `send` and `recv`, which StableHLO orders by tokens; `barrier`,
    which StableHLO does not have; `commsched.compute`; operations on memrefs;
    an all_to_all with uneven parts; buckets of dynamic size; groups whose
    members are not known.
  }];
  let options = [
    Option<"version", "version", "std::string", /*default=*/"\"1.17\"",
           "Version of StableHLO that the reader understands">,
    Option<"schedulingGroups", "scheduling-groups", "bool", /*default=*/"false",
           "Mark what XLA's scheduler has to keep together">,
  ];
}

//===----------------------------------------------------------------------===//
// SmallFloats
//===----------------------------------------------------------------------===//

def ExpandFloat8Casts : Pass<"test-commsched-expand-float8-casts"> {
  let summary = "expand casts of 8-bit floats into integer arithmetic";
  let description = [{
    Expands `arith.truncf` to f8E5M2 and f8E4M3FN, and `arith.extf` from them,
    on scalars and vectors, into integer arithmetic on bit patterns. Part of
    `commsched-to-llvm`: LLVM has neither type, and stores both as i8.

    Values are rounded once to the nearest, ties to even. Values that are too
    large become infinite in f8E5M2 and NaN in f8E4M3FN, which has no infinity;
    they do not saturate. Casts with other rounding modes, or of types of more
    than 64 bits, are not expanded.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // COMMSCHED_CONVERSION_PASSES_TD
