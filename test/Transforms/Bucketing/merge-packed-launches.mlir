// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir -commsched-bucket-all-gather=mode=auto | FileCheck %s --check-prefix=GATHERS
// RUN: %prints commsched-opt %t.mlir -commsched-bucket-all-reduce="mode=coalesced bitwise" --remarks-filter=commsched -o /dev/null \
// RUN:   'all tensors of a launch are packed into one message, in which elements have other places'
// RUN: commsched-opt %t.mlir -commsched-schedule="memory-budget=200%% mode=coalesced" | FileCheck %s --check-prefix=SCHEDULED
// RUN: commsched-opt %t.mlir -commsched-bucket="kinds=all-to-all" -commsched-estimate-runtime | FileCheck %s --check-prefix=PACKED
// RUN: sed 's/attributes {commsched.packed_launches}//' %t.mlir \
// RUN:   | commsched-opt -commsched-bucket="kinds=all-to-all" -commsched-estimate-runtime | FileCheck %s --check-prefix=SEPARATE

// A launch of several tensors would be packed later, by copies that no price has.
// So buckets are copied, and what is gathered is cut out by a kernel for each.
module attributes {commsched.packed_launches} {

commsched.group @dp size(4)

// GATHERS-LABEL: @gathers
// GATHERS: commsched.all_gather_copy_in
// GATHERS: commsched.split_with_sizes_copy
// GATHERS-SAME: commsched.kernels = 2 : i64
// SCHEDULED-LABEL: @gathers
// SCHEDULED: commsched.all_gather_copy_in
func.func @gathers(%a: tensor<4xf32>, %b: tensor<8xf32>) -> (tensor<16xf32>, tensor<32xf32>) {
  $run(%v0 = all_gather %a on @dp dim(0) : tensor<4xf32> -> tensor<16xf32>)
  $run(%v1 = all_gather %b on @dp dim(0) : tensor<8xf32> -> tensor<32xf32>)
  return %v0, %v1 : tensor<16xf32>, tensor<32xf32>
}

func.func @reduces(%a: tensor<4xf32>, %b: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  $run(%v0 = all_reduce %a on @dp reduction(sum) : tensor<4xf32> -> tensor<4xf32>)
  $run(%v1 = all_reduce %b on @dp reduction(sum) : tensor<8xf32> -> tensor<8xf32>)
  return %v0, %v1 : tensor<4xf32>, tensor<8xf32>
}

// All-to-alls have no copy-in: one kernel that packs them and two that unpack
// them are a part of their launch.

// PACKED-LABEL: @exchanges
// PACKED: commsched.all_to_all{{.*}}commsched.origin = ["x", "y"], commsched.runtime_ns = 175061 : i64
// SEPARATE-LABEL: @exchanges
// SEPARATE: commsched.all_to_all{{.*}}commsched.origin = ["x", "y"], commsched.runtime_ns = 130945 : i64
func.func @exchanges(%a: tensor<4x1048576xf32>, %b: tensor<4x1048576xf32>)
    -> (tensor<4x1048576xf32>, tensor<4x1048576xf32>) {
  $run(%v0 = all_to_all %a on @dp split_dim(0) concat_dim(0) {commsched.name = "x"}
      : tensor<4x1048576xf32> -> tensor<4x1048576xf32>)
  $run(%v1 = all_to_all %b on @dp split_dim(0) concat_dim(0) {commsched.name = "y"}
      : tensor<4x1048576xf32> -> tensor<4x1048576xf32>)
  return %v0, %v1 : tensor<4x1048576xf32>, tensor<4x1048576xf32>
}

// One that moves rows to another dimension is sent row by row, and what is cut
// behind the first dimension is copied for it.

// PACKED-LABEL: @moves_rows
// PACKED: commsched.runtime_ns = 100909 : i64
// SEPARATE-LABEL: @moves_rows
// SEPARATE: commsched.runtime_ns = 88780 : i64
func.func @moves_rows(%a: tensor<256x16384xf32>) -> tensor<1024x4096xf32> {
  $run(%v0 = all_to_all %a on @dp split_dim(1) concat_dim(0)
      : tensor<256x16384xf32> -> tensor<1024x4096xf32>)
  return %v0 : tensor<1024x4096xf32>
}

}
