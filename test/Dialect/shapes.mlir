// RUN: %rows %s > %t.mlir
// RUN: commsched-opt --verify-roundtrip %t.mlir -o /dev/null
// RUN: commsched-opt --canonicalize --cse %t.mlir -o /dev/null

// Shapes at the ends of what a tensor may be. Dynamic sizes are left to the
// runtime; the static ones beside them are still checked.

!t = tensor<9223372036854775800x9223372036854775807xf64>
!u = tensor<0x4xf32>
!v = tensor<?x4xf32>
commsched.group @dp size(8)
commsched.group @huge size(9223372036854775807)

func.func @dynamic(%x: !v, %b: tensor<?xf32>, %p: memref<?xf32>) {
  $run(%v1 = all_gather %x on @dp dim(0) : !v -> tensor<64x4xf32>)
  $run(%v3 = reduce_scatter %v1 on @dp reduction(sum) dim(1) : tensor<64x4xf32> -> tensor<64x?xf32>)
  $run(%v5 = all_to_all %x on @dp split_dim(0) concat_dim(0) input_splits([0, 1, 2, 3, 4, 5, 6, 7]) : !v -> !v)
  %slice, %buffer = commsched.all_gather_copy_in %x on @dp
      : !v -> tensor<?xf32>, tensor<?xf32>
  %v6 = commsched.split_with_sizes_copy %buffer on @dp : tensor<?xf32> -> !v
  %v7 = commsched.chunk_cat %x on @dp : !v -> tensor<?xf32>
  commsched.fsdp_copy %b into %p : tensor<?xf32>, memref<?xf32>
  return
}

func.func @empty(%x: !u) {
  $run(%v1 = all_gather %x on @dp dim(0) : !u -> !u)
  $run(%v3 = reduce_scatter %v1 on @dp reduction(sum) dim(0) : !u -> !u)
  $run(%v5 = all_to_all %v3 on @dp split_dim(0) concat_dim(0) input_splits([0, 0, 0, 0, 0, 0, 0, 0]) : !u -> !u)
  %slice, %buffer = commsched.all_gather_copy_in %x on @dp
      : !u -> tensor<0xf32>, tensor<0xf32>
  %v6 = commsched.split_with_sizes_copy %buffer on @dp : tensor<0xf32> -> !u
  %v7 = commsched.chunk_cat %v6 on @dp : !u -> tensor<0xf32>
  return
}

func.func @scalar(%x: tensor<f32>) {
  $run(%v1 = all_reduce %x on @huge reduction(sum) : tensor<f32> -> tensor<f32>)
  %slice, %buffer = commsched.all_gather_copy_in %v1 on @dp
      : tensor<f32> -> tensor<1xf32>, tensor<8xf32>
  return
}

// More elements than 64 bits can count: nothing is known about their number,
// so nothing is compared.
func.func @uncountable(%x: !t) {
  $run(%v1 = all_to_all %x on @dp split_dim(0) concat_dim(0) : !t -> !t)
  %v2 = commsched.compute "aten.sum"(%v1) : (!t) -> tensor<f64>
  %v3 = commsched.split_with_sizes_copy %v1 on @dp : !t -> tensor<8xf64>
  return
}
