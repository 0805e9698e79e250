// RUN: commsched-opt --verify-roundtrip %s | FileCheck %s
// RUN: commsched-opt --emit-bytecode %s | commsched-opt | FileCheck %s
// RUN: commsched-opt --mlir-print-op-generic %s | commsched-opt | FileCheck %s
// RUN: commsched-opt --mlir-print-op-generic %s | FileCheck %s --check-prefix=GENERIC

// CHECK: commsched.group @dp size(8)
// GENERIC: "commsched.group"() <{size = 8 : i64, sym_name = "dp"}>
commsched.group @dp size(8)
// CHECK: commsched.group @world size(64) ranks_per_node(8)
commsched.group @world size(64) ranks_per_node(8)
// CHECK: commsched.group "private" @columns size(8) ranks_per_node(1) stride(8)
commsched.group "private" @columns size(8) ranks_per_node(1) stride(8)
// CHECK: commsched.group @odd size(2) ranks(dense<{{\[}}[0, 3], [1, 2]]> : tensor<2x2xi64>) {commsched.name = "odd"}
commsched.group @odd size(2) ranks(dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>) {commsched.name = "odd"}

// CHECK-LABEL: func.func @rank(
func.func @rank() -> index {
  // CHECK: commsched.rank on @dp {commsched.name = "me"} : index
  // GENERIC: "commsched.rank"() <{group = @dp}> {commsched.name = "me"} : () -> index
  %0 = commsched.rank on @dp {commsched.name = "me"} : index
  return %0 : index
}

// CHECK-LABEL: func.func @all_gather(
// CHECK-SAME: %[[X:.+]]: tensor<4x2xf32>, %[[B:.+]]: tensor<4x16xf32>)
func.func @all_gather(%x: tensor<4x2xf32>, %b: tensor<4x16xf32>) {
  // CHECK: %[[F0:.+]] = commsched.all_gather %[[X]] on @dp dim(1) : tensor<4x2xf32> -> !commsched.future<tensor<4x16xf32>>
  // GENERIC: "commsched.all_gather"({{.*}}) <{dim = 1 : i64, group = @dp, operandSegmentSizes = array<i32: 1, 0>}>
  %0 = commsched.all_gather %x on @dp dim(1)
      : tensor<4x2xf32> -> !commsched.future<tensor<4x16xf32>>
  // CHECK: commsched.wait %[[F0]] : !commsched.future<tensor<4x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<4x16xf32>>
  // CHECK: %[[F1:.+]] = commsched.all_gather %[[X]], %[[X]] on @dp dim(1) into %[[B]], %[[B]] {commsched.name = "g"} : tensor<4x2xf32>, tensor<4x2xf32> into tensor<4x16xf32>, tensor<4x16xf32> -> !commsched.future<tensor<4x16xf32>, tensor<4x16xf32>>
  %2 = commsched.all_gather %x, %x on @dp dim(1) into %b, %b {commsched.name = "g"}
      : tensor<4x2xf32>, tensor<4x2xf32> into tensor<4x16xf32>, tensor<4x16xf32>
        -> !commsched.future<tensor<4x16xf32>, tensor<4x16xf32>>
  // CHECK: %{{.+}}:2 = commsched.wait %[[F1]] {commsched.name = "w"} : !commsched.future<tensor<4x16xf32>, tensor<4x16xf32>>
  %3:2 = commsched.wait %2 {commsched.name = "w"} : !commsched.future<tensor<4x16xf32>, tensor<4x16xf32>>
  return
}

// CHECK-LABEL: func.func @reduce_scatter(
// CHECK-SAME: %[[X:.+]]: tensor<8xi32>, %[[B:.+]]: tensor<1xi32>)
func.func @reduce_scatter(%x: tensor<8xi32>, %b: tensor<1xi32>) {
  // CHECK: commsched.reduce_scatter %[[X]] on @dp reduction(sum) dim(0) into %[[B]] : tensor<8xi32> into tensor<1xi32> -> !commsched.future<tensor<1xi32>>
  // GENERIC: "commsched.reduce_scatter"({{.*}}) <{dim = 0 : i64, group = @dp, operandSegmentSizes = array<i32: 1, 1>, reduction = 0 : i32}>
  %0 = commsched.reduce_scatter %x on @dp reduction(sum) dim(0) into %b
      : tensor<8xi32> into tensor<1xi32> -> !commsched.future<tensor<1xi32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<1xi32>>
  return
}

// CHECK-LABEL: func.func @reductions(
func.func @reductions(%f: tensor<f32>, %i: tensor<i32>) {
  // CHECK: commsched.all_reduce %{{.+}} on @world reduction(sum) : tensor<f32> ->
  %0 = commsched.all_reduce %f on @world reduction(sum) : tensor<f32> -> !commsched.future<tensor<f32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<f32>>
  // CHECK: commsched.all_reduce %{{.+}} on @world reduction(avg) : tensor<f32> ->
  %2 = commsched.all_reduce %f on @world reduction(avg) : tensor<f32> -> !commsched.future<tensor<f32>>
  %3 = commsched.wait %2 : !commsched.future<tensor<f32>>
  // CHECK: commsched.all_reduce %{{.+}} on @world reduction(prod) : tensor<f32> ->
  %4 = commsched.all_reduce %f on @world reduction(prod) : tensor<f32> -> !commsched.future<tensor<f32>>
  %5 = commsched.wait %4 : !commsched.future<tensor<f32>>
  // CHECK: commsched.all_reduce %{{.+}} on @world reduction(min) : tensor<f32> ->
  %6 = commsched.all_reduce %f on @world reduction(min) : tensor<f32> -> !commsched.future<tensor<f32>>
  %7 = commsched.wait %6 : !commsched.future<tensor<f32>>
  // CHECK: commsched.all_reduce %{{.+}} on @world reduction(max) : tensor<f32> ->
  %8 = commsched.all_reduce %f on @world reduction(max) : tensor<f32> -> !commsched.future<tensor<f32>>
  %9 = commsched.wait %8 : !commsched.future<tensor<f32>>
  // CHECK: commsched.all_reduce %{{.+}} on @world reduction(band) : tensor<i32> ->
  %10 = commsched.all_reduce %i on @world reduction(band) : tensor<i32> -> !commsched.future<tensor<i32>>
  %11 = commsched.wait %10 : !commsched.future<tensor<i32>>
  // CHECK: commsched.all_reduce %{{.+}} on @world reduction(bor) : tensor<i32> ->
  %12 = commsched.all_reduce %i on @world reduction(bor) : tensor<i32> -> !commsched.future<tensor<i32>>
  %13 = commsched.wait %12 : !commsched.future<tensor<i32>>
  // CHECK: commsched.all_reduce %[[I:.+]] on @world reduction(bxor) into %[[I]] : tensor<i32> into tensor<i32> ->
  %14 = commsched.all_reduce %i on @world reduction(bxor) into %i : tensor<i32> into tensor<i32> -> !commsched.future<tensor<i32>>
  %15 = commsched.wait %14 : !commsched.future<tensor<i32>>
  return
}

// CHECK-LABEL: func.func @ragged_all_to_all(
// CHECK-SAME: %[[X:.+]]: tensor<10x16xf32>, %[[L:.+]]: tensor<4xi32>, %[[B:.+]]: tensor<12x16xf32>)
func.func @ragged_all_to_all(%x: tensor<10x16xf32>, %l: tensor<4xi32>, %b: tensor<12x16xf32>) {
  // CHECK: commsched.ragged_all_to_all %[[X]] on @odd send(%[[L]], %[[L]]) at(%[[L]]) receive(%[[L]]) into %[[B]] : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32> into tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>>
  // GENERIC: "commsched.ragged_all_to_all"({{.*}}) <{group = @odd}>
  %0 = commsched.ragged_all_to_all %x on @odd send(%l, %l) at(%l) receive(%l) into %b
      : tensor<10x16xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
        into tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<12x16xf32>>
  return
}

// CHECK-LABEL: func.func @all_to_all(
// CHECK-SAME: %[[X:.+]]: tensor<10x16xf32>)
func.func @all_to_all(%x: tensor<10x16xf32>) {
  // CHECK: commsched.all_to_all %[[X]] on @odd split_dim(0) concat_dim(1) : tensor<10x16xf32> -> !commsched.future<tensor<5x32xf32>>
  %0 = commsched.all_to_all %x on @odd split_dim(0) concat_dim(1)
      : tensor<10x16xf32> -> !commsched.future<tensor<5x32xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<5x32xf32>>
  // CHECK: commsched.all_to_all %[[X]] on @odd split_dim(0) concat_dim(0) input_splits([3, 7]) output_splits([5, 5]) into %[[X]] : tensor<10x16xf32> into tensor<10x16xf32> -> !commsched.future<tensor<10x16xf32>>
  // GENERIC: "commsched.all_to_all"({{.*}}) <{concat_dim = 0 : i64, group = @odd, input_splits = array<i64: 3, 7>, operandSegmentSizes = array<i32: 1, 1, 0, 0>, output_splits = array<i64: 5, 5>, split_dim = 0 : i64}>
  %2 = commsched.all_to_all %x on @odd split_dim(0) concat_dim(0)
      input_splits([3, 7]) output_splits([5, 5]) into %x
      : tensor<10x16xf32> into tensor<10x16xf32>
        -> !commsched.future<tensor<10x16xf32>>
  %3 = commsched.wait %2 : !commsched.future<tensor<10x16xf32>>
  // CHECK: commsched.all_to_all %[[X]] on @odd split_dim(0) concat_dim(0) output_splits([0, 3]) : tensor<10x16xf32> -> !commsched.future<tensor<3x16xf32>>
  %4 = commsched.all_to_all %x on @odd split_dim(0) concat_dim(0)
      output_splits([0, 3])
      : tensor<10x16xf32> -> !commsched.future<tensor<3x16xf32>>
  %5 = commsched.wait %4 : !commsched.future<tensor<3x16xf32>>
  return
}

// CHECK-LABEL: func.func @all_to_all_values(
// CHECK-SAME: %[[X:.+]]: tensor<10x16xf32>, %[[S:.+]]: tensor<2xi64>, %[[R:.+]]: tensor<2xi64>, %[[B:.+]]: tensor<12x16xf32>)
func.func @all_to_all_values(%x: tensor<10x16xf32>, %s: tensor<2xi64>, %r: tensor<2xi64>, %b: tensor<12x16xf32>) {
  // CHECK: commsched.all_to_all %[[X]] on @odd split_dim(0) concat_dim(0) input_splits(%[[S]] : tensor<2xi64>) output_splits(%[[R]] : tensor<2xi64>) {commsched.size_hints = array<i64: 12>} : tensor<10x16xf32> -> !commsched.future<tensor<?x16xf32>>
  // GENERIC: "commsched.all_to_all"(%[[X:.+]], %[[S:.+]], %[[R:.+]]) <{concat_dim = 0 : i64, group = @odd, operandSegmentSizes = array<i32: 1, 0, 1, 1>, split_dim = 0 : i64}>
  %0 = commsched.all_to_all %x on @odd split_dim(0) concat_dim(0)
      input_splits(%s : tensor<2xi64>) output_splits(%r : tensor<2xi64>)
      {commsched.size_hints = array<i64: 12>}
      : tensor<10x16xf32> -> !commsched.future<tensor<?x16xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<?x16xf32>>
  // CHECK: commsched.all_to_all %[[X]], %[[X]] on @odd split_dim(0) concat_dim(0) input_splits([3, 7]) output_splits(%[[R]] : tensor<2xi64>) into %[[B]], %[[B]] : tensor<10x16xf32>, tensor<10x16xf32> into tensor<12x16xf32>, tensor<12x16xf32> -> !commsched.future<tensor<12x16xf32>, tensor<12x16xf32>>
  %2 = commsched.all_to_all %x, %x on @odd split_dim(0) concat_dim(0)
      input_splits([3, 7]) output_splits(%r : tensor<2xi64>) into %b, %b
      : tensor<10x16xf32>, tensor<10x16xf32>
        into tensor<12x16xf32>, tensor<12x16xf32>
        -> !commsched.future<tensor<12x16xf32>, tensor<12x16xf32>>
  %3:2 = commsched.wait %2 : !commsched.future<tensor<12x16xf32>, tensor<12x16xf32>>
  return
}

// CHECK-LABEL: func.func @broadcast_permute(
// CHECK-SAME: %[[X:.+]]: tensor<4xf32>)
func.func @broadcast_permute(%x: tensor<4xf32>) {
  // CHECK: commsched.broadcast %[[X]] on @dp root(7) : tensor<4xf32> ->
  %0 = commsched.broadcast %x on @dp root(7)
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<4xf32>>
  // CHECK: commsched.broadcast %[[X]] on @dp root(0) into %[[X]] : tensor<4xf32> into tensor<4xf32> ->
  %2 = commsched.broadcast %x on @dp root(0) into %x
      : tensor<4xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %3 = commsched.wait %2 : !commsched.future<tensor<4xf32>>
  // CHECK: commsched.permute %[[X]] on @dp pairs(dense<{{\[}}[0, 1], [1, 0]]> : tensor<2x2xi64>) into %[[X]] : tensor<4xf32> into tensor<4xf32> ->
  %4 = commsched.permute %x on @dp pairs(dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>) into %x
      : tensor<4xf32> into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %5 = commsched.wait %4 : !commsched.future<tensor<4xf32>>
  return
}

// CHECK-LABEL: func.func @point_to_point(
// CHECK-SAME: %[[X:.+]]: tensor<4xf32>, %[[Y:.+]]: tensor<i8>)
func.func @point_to_point(%x: tensor<4xf32>, %y: tensor<i8>) {
  // CHECK: %[[F:.+]] = commsched.send %[[X]], %[[Y]] on @dp to(1) : tensor<4xf32>, tensor<i8> -> !commsched.future{{$}}
  %0 = commsched.send %x, %y on @dp to(1)
      : tensor<4xf32>, tensor<i8> -> !commsched.future
  // CHECK: commsched.wait %[[F]] : !commsched.future{{$}}
  commsched.wait %0 : !commsched.future
  // CHECK: commsched.send %[[X]] on @dp to(1) tag(7) : tensor<4xf32> -> !commsched.future
  %1 = commsched.send %x on @dp to(1) tag(7)
      : tensor<4xf32> -> !commsched.future
  commsched.wait %1 : !commsched.future
  // CHECK: commsched.recv on @dp from(0) : !commsched.future<tensor<4xf32>>
  %2 = commsched.recv on @dp from(0) : !commsched.future<tensor<4xf32>>
  %3 = commsched.wait %2 : !commsched.future<tensor<4xf32>>
  // CHECK: commsched.recv on @dp from(0) tag(7) into %[[X]] : into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %4 = commsched.recv on @dp from(0) tag(7) into %x
      : into tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %5 = commsched.wait %4 : !commsched.future<tensor<4xf32>>
  // CHECK: commsched.barrier on @world
  commsched.barrier on @world
  return
}

// CHECK-LABEL: func.func @transfers(
// CHECK-SAME: %[[X:.+]]: tensor<4xf32>)
// CHECK-SAME: attributes {d2h = #commsched.stream<"d2h">}
func.func @transfers(%x: tensor<4xf32>)
    attributes {d2h = #commsched.stream<"d2h">} {
  // CHECK: %[[F:.+]] = commsched.offload %[[X]] {commsched.name = "o"} : tensor<4xf32> -> !commsched.future<tensor<4xf32, #commsched.host>>
  // GENERIC: "commsched.offload"({{.*}}) {commsched.name = "o"} : (tensor<4xf32>) -> !commsched.future<tensor<4xf32, #commsched.host>>
  %0 = commsched.offload %x {commsched.name = "o"}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32, #commsched.host>>
  // CHECK: %[[H:.+]] = commsched.wait %[[F]] : !commsched.future<tensor<4xf32, #commsched.host>>
  %1 = commsched.wait %0 : !commsched.future<tensor<4xf32, #commsched.host>>
  // CHECK: commsched.reload %[[H]], %[[H]] : tensor<4xf32, #commsched.host>, tensor<4xf32, #commsched.host> -> !commsched.future<tensor<4xf32>, tensor<4xf32>>
  %2 = commsched.reload %1, %1
      : tensor<4xf32, #commsched.host>, tensor<4xf32, #commsched.host>
        -> !commsched.future<tensor<4xf32>, tensor<4xf32>>
  %3:2 = commsched.wait %2 : !commsched.future<tensor<4xf32>, tensor<4xf32>>
  return
}

// CHECK-LABEL: func.func @compute(
// CHECK-SAME: %[[X:.+]]: tensor<4xf32>, %[[S:.+]]: i64, %[[M:.+]]: memref<4xf32>)
func.func @compute(%x: tensor<4xf32>, %s: i64, %m: memref<4xf32>) {
  // CHECK: commsched.compute "aten.mm"(%[[X]], %[[S]]) {bytes = 32 : i64, flops = 1.000000e+09 : f64} : (tensor<4xf32>, i64) -> (tensor<4xf32>, !async.token)
  // GENERIC: "commsched.compute"({{.*}}) <{bytes = 32 : i64, callee = "aten.mm", flops = 1.000000e+09 : f64}>
  %0:2 = commsched.compute "aten.mm"(%x, %s) {bytes = 32 : i64, flops = 1.0e9 : f64}
      : (tensor<4xf32>, i64) -> (tensor<4xf32>, !async.token)
  // CHECK: commsched.compute "aten.view"(%[[X]]) {alias = 0 : i64} : (tensor<4xf32>) -> tensor<2x2xf32>
  %1 = commsched.compute "aten.view"(%x) {alias = 0 : i64}
      : (tensor<4xf32>) -> tensor<2x2xf32>
  // CHECK: commsched.compute "aten.copy_"(%[[M]], %[[X]]) {mutates = array<i64: 0>} : (memref<4xf32>, tensor<4xf32>) -> ()
  commsched.compute "aten.copy_"(%m, %x) {mutates = array<i64: 0>}
      : (memref<4xf32>, tensor<4xf32>) -> ()
  // CHECK: commsched.compute "aten.rand"() {random} : () -> tensor<4xf32>
  %2 = commsched.compute "aten.rand"() {random} : () -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @fsdp(
// CHECK-SAME: %[[P:.+]]: memref<16xf32> {commsched.freeable, commsched.role = "unsharded_param"}, %[[A:.+]]: tensor<2xf32>)
func.func @fsdp(%p: memref<16xf32> {commsched.role = "unsharded_param", commsched.freeable}, %a: tensor<2xf32>) {
  // CHECK: commsched.resize_storage %[[P]] bytes(64) : memref<16xf32>
  commsched.resize_storage %p bytes(64) : memref<16xf32>
  // CHECK: %[[S:.+]], %[[B:.+]] = commsched.all_gather_copy_in %[[A]] on @dp : tensor<2xf32> -> tensor<2xf32>, tensor<16xf32>
  %slice, %buffer = commsched.all_gather_copy_in %a on @dp
      : tensor<2xf32> -> tensor<2xf32>, tensor<16xf32>
  // CHECK: %{{.+}}, %[[BYTES:.+]] = commsched.all_gather_copy_in %[[A]], %[[A]] on @dp packed([bf16, i1]) {commsched.name = "c"} : tensor<2xf32>, tensor<2xf32> -> tensor<6xi8>, tensor<48xi8>
  // GENERIC: "commsched.all_gather_copy_in"({{.*}}) <{group = @dp, packed = [bf16, i1]}>
  %bytes, %all = commsched.all_gather_copy_in %a, %a on @dp
      packed([bf16, i1]) {commsched.name = "c"}
      : tensor<2xf32>, tensor<2xf32> -> tensor<6xi8>, tensor<48xi8>
  // CHECK: commsched.split_with_sizes_copy %[[BYTES]] on @dp : tensor<48xi8> -> tensor<16xbf16>, tensor<16xi1>
  %2:2 = commsched.split_with_sizes_copy %all on @dp
      : tensor<48xi8> -> tensor<16xbf16>, tensor<16xi1>
  // CHECK: commsched.split_with_sizes_copy %[[B]] on @dp : tensor<16xf32> -> tensor<8xf32>, tensor<8xf32>
  %0:2 = commsched.split_with_sizes_copy %buffer on @dp
      : tensor<16xf32> -> tensor<8xf32>, tensor<8xf32>
  // CHECK: commsched.chunk_cat %[[A]], %[[A]] on @dp : tensor<2xf32>, tensor<2xf32> -> tensor<16xf64>
  %1 = commsched.chunk_cat %a, %a on @dp
      : tensor<2xf32>, tensor<2xf32> -> tensor<16xf64>
  // CHECK: commsched.fsdp_copy %[[B]] into %[[P]] : tensor<16xf32>, memref<16xf32>
  commsched.fsdp_copy %buffer into %p : tensor<16xf32>, memref<16xf32>
  return
}

// A step that repeats.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: commsched.carried = 0 : i64
func.func @step(%w: tensor<4xf32> {commsched.carried = 0 : i64})
    -> tensor<4xf32> {
  return %w : tensor<4xf32>
}
