// The text below is what is printed for it, from text, the generic form and bytecode.
// RUN: grep -v '^//' %s | grep . > %t.text
// RUN: commsched-opt --verify-roundtrip %s | grep . | diff %t.text -
// RUN: commsched-opt --emit-bytecode %s | commsched-opt | grep . | diff %t.text -
// RUN: commsched-opt --mlir-print-op-generic %s | commsched-opt | grep . | diff %t.text -
// RUN: commsched-opt --mlir-print-op-generic %s | FileCheck %s

// CHECK: "commsched.group"() <{size = 8 : i64, sym_name = "dp"}>
// CHECK: "commsched.rank"() <{group = @dp}> {commsched.name = "me"} : () -> index
// CHECK: "commsched.all_gather"({{.*}}) <{dim = 1 : i64, group = @dp, operandSegmentSizes = array<i32: 1, 0>}>
// CHECK: "commsched.reduce_scatter"({{.*}}) <{dim = 0 : i64, group = @dp, operandSegmentSizes = array<i32: 1, 1>, reduction = 0 : i32}>
// CHECK: "commsched.ragged_all_to_all"({{.*}}) <{group = @odd}>
// CHECK: "commsched.all_to_all"({{.*}}) <{concat_dim = 0 : i64, group = @odd, input_splits = array<i64: 3, 7>, operandSegmentSizes = array<i32: 1, 1, 0, 0>, output_splits = array<i64: 5, 5>, split_dim = 0 : i64}>
// CHECK: "commsched.all_to_all"(%[[X:.+]], %[[S:.+]], %[[R:.+]]) <{concat_dim = 0 : i64, group = @odd, operandSegmentSizes = array<i32: 1, 0, 1, 1>, split_dim = 0 : i64}>
// CHECK: "commsched.offload"({{.*}}) {commsched.name = "o"} : (tensor<4xf32>) -> !commsched.future<tensor<4xf32, #commsched.host>>
// CHECK: "commsched.compute"({{.*}}) <{bytes = 32 : i64, callee = "aten.mm", flops = 1.000000e+09 : f64}>
// CHECK: "commsched.all_gather_copy_in"({{.*}}) <{group = @dp, packed = [bf16, i1]}>

module {
  commsched.group @dp size(8)
  commsched.group @world size(64) ranks_per_node(8)
  commsched.group "private" @columns size(8) ranks_per_node(1) stride(8)
  commsched.group @odd size(2) ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>) {commsched.name = "odd"}
  func.func @rank() -> index {
    %0 = commsched.rank on @dp {commsched.name = "me"} : index
    return %0 : index
  }
  func.func @all_gather(%arg0: tensor<4x2xf32>, %arg1: tensor<4x16xf32>) {
    %0 = commsched.all_gather %arg0 on @dp dim(1) : tensor<4x2xf32> -> !commsched.future<tensor<4x16xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<4x16xf32>>
    %2 = commsched.all_gather %arg0, %arg0 on @dp dim(1) into %arg1, %arg1 {commsched.name = "g"} : tensor<4x2xf32>, tensor<4x2xf32> into tensor<4x16xf32>, tensor<4x16xf32> -> !commsched.future<tensor<4x16xf32>, tensor<4x16xf32>>
    %3:2 = commsched.wait %2 {commsched.name = "w"} : !commsched.future<tensor<4x16xf32>, tensor<4x16xf32>>
    return
  }
  func.func @reduce_scatter(%arg0: tensor<8xi32>, %arg1: tensor<1xi32>) {
    %0 = commsched.reduce_scatter %arg0 on @dp reduction(sum) dim(0) into %arg1 : tensor<8xi32> into tensor<1xi32> -> !commsched.future<tensor<1xi32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<1xi32>>
    return
  }
  func.func @reductions(%arg0: tensor<f32>, %arg1: tensor<i32>) {
    %0 = commsched.all_reduce %arg0 on @world reduction(sum) : tensor<f32> -> !commsched.future<tensor<f32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<f32>>
    %2 = commsched.all_reduce %arg0 on @world reduction(avg) : tensor<f32> -> !commsched.future<tensor<f32>>
    %3 = commsched.wait %2 : !commsched.future<tensor<f32>>
    %4 = commsched.all_reduce %arg0 on @world reduction(prod) : tensor<f32> -> !commsched.future<tensor<f32>>
    %5 = commsched.wait %4 : !commsched.future<tensor<f32>>
    %6 = commsched.all_reduce %arg0 on @world reduction(min) : tensor<f32> -> !commsched.future<tensor<f32>>
    %7 = commsched.wait %6 : !commsched.future<tensor<f32>>
    %8 = commsched.all_reduce %arg0 on @world reduction(max) : tensor<f32> -> !commsched.future<tensor<f32>>
    %9 = commsched.wait %8 : !commsched.future<tensor<f32>>
    %10 = commsched.all_reduce %arg1 on @world reduction(band) : tensor<i32> -> !commsched.future<tensor<i32>>
    %11 = commsched.wait %10 : !commsched.future<tensor<i32>>
    %12 = commsched.all_reduce %arg1 on @world reduction(bor) : tensor<i32> -> !commsched.future<tensor<i32>>
    %13 = commsched.wait %12 : !commsched.future<tensor<i32>>
    %14 = commsched.all_reduce %arg1 on @world reduction(bxor) into %arg1 : tensor<i32> into tensor<i32> -> !commsched.future<tensor<i32>>
    %15 = commsched.wait %14 : !commsched.future<tensor<i32>>
    return
  }
  func.func @ragged_all_to_all(%arg0: tensor<10x16xf32>, %arg1: tensor<4xi32>, %arg2: tensor<12x16xf32>) {
    %0 = commsched.ragged_all_to_all %arg0 on @odd send(%arg1, %arg1) at(%arg1) receive(%arg1) into %arg2 : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32> into tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<12x16xf32>>
    return
  }
  func.func @all_to_all(%arg0: tensor<10x16xf32>) {
    %0 = commsched.all_to_all %arg0 on @odd split_dim(0) concat_dim(1) : tensor<10x16xf32> -> !commsched.future<tensor<5x32xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<5x32xf32>>
    %2 = commsched.all_to_all %arg0 on @odd split_dim(0) concat_dim(0) input_splits([3, 7]) output_splits([5, 5]) into %arg0 : tensor<10x16xf32> into tensor<10x16xf32> -> !commsched.future<tensor<10x16xf32>>
    %3 = commsched.wait %2 : !commsched.future<tensor<10x16xf32>>
    %4 = commsched.all_to_all %arg0 on @odd split_dim(0) concat_dim(0) output_splits([0, 3]) : tensor<10x16xf32> -> !commsched.future<tensor<3x16xf32>>
    %5 = commsched.wait %4 : !commsched.future<tensor<3x16xf32>>
    return
  }
  func.func @all_to_all_values(%arg0: tensor<10x16xf32>, %arg1: tensor<2xi64>, %arg2: tensor<2xi64>, %arg3: tensor<12x16xf32>) {
    %0 = commsched.all_to_all %arg0 on @odd split_dim(0) concat_dim(0) input_splits(%arg1 : tensor<2xi64>) output_splits(%arg2 : tensor<2xi64>) {commsched.size_hints = array<i64: 12>} : tensor<10x16xf32> -> !commsched.future<tensor<?x16xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<?x16xf32>>
    %2 = commsched.all_to_all %arg0, %arg0 on @odd split_dim(0) concat_dim(0) input_splits([3, 7]) output_splits(%arg2 : tensor<2xi64>) into %arg3, %arg3 : tensor<10x16xf32>, tensor<10x16xf32> into tensor<12x16xf32>, tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>, tensor<12x16xf32>>
    %3:2 = commsched.wait %2 : !commsched.future<tensor<12x16xf32>, tensor<12x16xf32>>
    return
  }
  func.func @broadcast_permute(%arg0: tensor<4xf32>) {
    %0 = commsched.broadcast %arg0 on @dp root(7) : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<4xf32>>
    %2 = commsched.broadcast %arg0 on @dp root(0) into %arg0 : tensor<4xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %3 = commsched.wait %2 : !commsched.future<tensor<4xf32>>
    %4 = commsched.permute %arg0 on @dp pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>) into %arg0 : tensor<4xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %5 = commsched.wait %4 : !commsched.future<tensor<4xf32>>
    return
  }
  func.func @point_to_point(%arg0: tensor<4xf32>, %arg1: tensor<i8>) {
    %0 = commsched.send %arg0, %arg1 on @dp to(1) : tensor<4xf32>, tensor<i8> -> !commsched.future
    commsched.wait %0 : !commsched.future
    %1 = commsched.send %arg0 on @dp to(1) tag(7) : tensor<4xf32> -> !commsched.future
    commsched.wait %1 : !commsched.future
    %2 = commsched.recv on @dp from(0) : !commsched.future<tensor<4xf32>>
    %3 = commsched.wait %2 : !commsched.future<tensor<4xf32>>
    %4 = commsched.recv on @dp from(0) tag(7) into %arg0 : into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %5 = commsched.wait %4 : !commsched.future<tensor<4xf32>>
    commsched.barrier on @world
    return
  }
  func.func @transfers(%arg0: tensor<4xf32>) attributes {d2h = #commsched.stream<"d2h">} {
    %0 = commsched.offload %arg0 {commsched.name = "o"} : tensor<4xf32> -> !commsched.future<tensor<4xf32, #commsched.host>>
    %1 = commsched.wait %0 : !commsched.future<tensor<4xf32, #commsched.host>>
    %2 = commsched.reload %1, %1 : tensor<4xf32, #commsched.host>, tensor<4xf32, #commsched.host> -> !commsched.future<tensor<4xf32>, tensor<4xf32>>
    %3:2 = commsched.wait %2 : !commsched.future<tensor<4xf32>, tensor<4xf32>>
    return
  }
  func.func @compute(%arg0: tensor<4xf32>, %arg1: i64, %arg2: memref<4xf32>) {
    %0:2 = commsched.compute "aten.mm"(%arg0, %arg1) {bytes = 32 : i64, flops = 1.000000e+09 : f64} : (tensor<4xf32>, i64) -> (tensor<4xf32>, !async.token)
    %1 = commsched.compute "aten.view"(%arg0) {alias = 0 : i64} : (tensor<4xf32>) -> tensor<2x2xf32>
    commsched.compute "aten.copy_"(%arg2, %arg0) {mutates = array<i64: 0>} : (memref<4xf32>, tensor<4xf32>) -> ()
    %2 = commsched.compute "aten.rand"() {random} : () -> tensor<4xf32>
    return
  }
  func.func @fsdp(%arg0: memref<16xf32> {commsched.freeable, commsched.role = "unsharded_param"}, %arg1: tensor<2xf32>) {
    commsched.resize_storage %arg0 bytes(64) : memref<16xf32>
    %slice, %buffer = commsched.all_gather_copy_in %arg1 on @dp : tensor<2xf32> -> tensor<2xf32>, tensor<16xf32>
    %slice_0, %buffer_1 = commsched.all_gather_copy_in %arg1, %arg1 on @dp packed([bf16, i1]) {commsched.name = "c"} : tensor<2xf32>, tensor<2xf32> -> tensor<6xi8>, tensor<48xi8>
    %0:2 = commsched.split_with_sizes_copy %buffer_1 on @dp : tensor<48xi8> -> tensor<16xbf16>, tensor<16xi1>
    %1:2 = commsched.split_with_sizes_copy %buffer on @dp : tensor<16xf32> -> tensor<8xf32>, tensor<8xf32>
    %2 = commsched.chunk_cat %arg1, %arg1 on @dp : tensor<2xf32>, tensor<2xf32> -> tensor<16xf64>
    commsched.fsdp_copy %buffer into %arg0 : tensor<16xf32>, memref<16xf32>
    return
  }
  func.func @step(%arg0: tensor<4xf32> {commsched.carried = 0 : i64}) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
}
