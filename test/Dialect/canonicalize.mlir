// RUN: %rows %s | commsched-opt --canonicalize | %orders | FileCheck %s

!t = tensor<4xf32>
!future = !commsched.future<!t>
commsched.group @self size(1)
commsched.group @dp size(2)

//===----------------------------------------------------------------------===//
// A group of one delivers what was sent.
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @group_of_one(
// CHECK-SAME: %[[X:.+]]: tensor<4xf32>, %[[Y:.+]]: tensor<i8>, %[[M:.+]]: tensor<4x3xf32>
// CHECK-NEXT: // order: {{$}}
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[Y]], %[[X]], %[[X]], %[[M]], %[[M]]
func.func @group_of_one(%x: !t, %y: tensor<i8>, %m: tensor<4x3xf32>)
    -> (!t, !t, !t, tensor<i8>, !t, !t, tensor<4x3xf32>, tensor<4x3xf32>) {
  $run(%v1 = all_gather %x on @self dim(0) : !t -> !t)
  $run(%v3 = reduce_scatter %x on @self reduction(avg) dim(0) : !t -> !t)
  %v4 = commsched.all_reduce %x, %y on @self reduction(sum)
      : !t, tensor<i8> -> !commsched.future<!t, tensor<i8>>
  %v5:2 = commsched.wait %v4 : !commsched.future<!t, tensor<i8>>
  $run(%v7 = broadcast %x on @self root(0) : !t -> !t)
  $run(%v9 = permute %x on @self pairs(dense<0> : tensor<1x2xi64>) : !t -> !t)
  commsched.barrier on @self
  $run(%v11 = all_to_all %m on @self split_dim(0) concat_dim(1) : tensor<4x3xf32> -> tensor<4x3xf32>)
  $run(%v13 = all_to_all %m on @self split_dim(0) concat_dim(0) input_splits([4]) output_splits([4])
      : tensor<4x3xf32> -> tensor<4x3xf32>)
  return %v1, %v3, %v5#0, %v5#1, %v7, %v9, %v11, %v13
      : !t, !t, !t, tensor<i8>, !t, !t, tensor<4x3xf32>, tensor<4x3xf32>
}

// The user in between sees the operand, whichever order the two are in.
// CHECK-LABEL: func.func @group_of_one_chain(
// CHECK-NEXT: // order: aten.sin{{$}}
func.func @group_of_one_chain(%x: !t) -> !t {
  $run(%v1 = all_reduce %x on @self reduction(sum) : !t -> !t)
  %v2 = commsched.compute "aten.sin"(%v1) : (!t) -> !t
  $run(%v4 = all_gather %v2 on @self dim(0) : !t -> !t)
  return %v4 : !t
}

// A permute without a pair delivers zeros; in place, the buffer may be read; and
// where types differ, the operand cannot stand for the value.
// CHECK-LABEL: func.func @keep_group_of_one(
// CHECK-NEXT: // order: permute wait all_reduce wait all_gather wait{{$}}
func.func @keep_group_of_one(%x: !t, %b: !t, %d: tensor<?xf32>) -> (!t, !t, !t) {
  $run(%v1 = permute %x on @self pairs(dense<> : tensor<0x2xi64>) : !t -> !t)
  $run(%v2 = all_reduce %x on @self reduction(sum) into %b : !t into !t -> !t)
  $run(%v3 = all_gather %d on @self dim(0) : tensor<?xf32> -> !t)
  return %v1, %v2, %v3 : !t, !t, !t
}

//===----------------------------------------------------------------------===//
// A pair whose values are unused.
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @unused_pairs(
// CHECK-NEXT: // order: {{$}}
func.func @unused_pairs(%x: !t) {
  $run(%v6 = all_gather %x on @dp dim(0) : !t -> tensor<8xf32>)
  $run(%v7 = reduce_scatter %x on @dp reduction(sum) dim(0) : !t -> tensor<2xf32>)
  $run(%v8 = all_reduce %x on @dp reduction(sum) : !t -> !t)
  $run(%v9 = all_to_all %x on @dp split_dim(0) concat_dim(0) : !t -> !t)
  $run(%v10 = broadcast %x on @dp root(0) : !t -> !t)
  $run(%v11 = permute %x on @dp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) : !t -> !t)
  // What only an unused collective needed goes with it.
  %v0 = commsched.compute "aten.sin"(%x) : (!t) -> !t
  $run(%v2 = all_reduce %v0 on @dp reduction(sum) : !t -> !t)
  %v3 = commsched.compute "aten.sin"(%v2) : (!t) -> !t
  $run(%v4 = offload %x : !t -> tensor<4xf32, #commsched.host>)
  return
}

// One of two coalesced values is used: the launch stays as it is. The buffer of the
// gather may be read through another value.
// CHECK-LABEL: func.func @keep_pairs(
// CHECK-NEXT: // order: all_reduce wait all_gather wait all_to_all wait barrier{{$}}
func.func @keep_pairs(%x: !t, %b: tensor<8xf32>) -> (!t, !t) {
  %v0 = commsched.all_reduce %x, %x on @dp reduction(sum) : !t, !t -> !commsched.future<!t, !t>
  %v1:2 = commsched.wait %v0 : !commsched.future<!t, !t>
  $run(%v2 = all_gather %x on @dp dim(0) into %b : !t into tensor<8xf32> -> tensor<8xf32>)
  $run(%v3 = all_to_all %x on @dp split_dim(0) concat_dim(0) : !t -> !t)
  commsched.barrier on @dp
  return %v1#1, %v3 : !t, !t
}

// The other end is in another rank's program, even if that rank is this one.
// CHECK-LABEL: func.func @keep_point_to_point(
// CHECK-NEXT: // order: send send recv wait wait wait{{$}}
func.func @keep_point_to_point(%x: !t) {
  %v0 = commsched.send %x on @dp to(1) : !t -> !commsched.future
  %v1 = commsched.send %x on @self to(0) : !t -> !commsched.future
  %v2 = commsched.recv on @self from(0) : !future
  commsched.wait %v0 : !commsched.future
  commsched.wait %v1 : !commsched.future
  %v3 = commsched.wait %v2 : !future
  return
}

// The rank is 0 in a group of one; otherwise one operation is enough.
// CHECK-LABEL: func.func @ranks(
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : index
// CHECK-DAG: %[[ME:.+]] = commsched.rank on @dp : index
// CHECK-NEXT: return %[[ZERO]], %[[ME]]
func.func @ranks() -> (index, index) {
  %v0 = commsched.rank on @self : index
  %v1 = commsched.rank on @dp : index
  %v2 = commsched.rank on @dp : index
  return %v0, %v1 : index, index
}

//===----------------------------------------------------------------------===//
// Transfers have no group that could be of one rank.
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @keeps_transfers(
// CHECK-NEXT: // order: offload wait reload wait{{$}}
func.func @keeps_transfers(%x: !t) -> !t {
  $run(%v1 = offload %x : !t -> tensor<4xf32, #commsched.host>)
  $run(%v3 = reload %v1 : tensor<4xf32, #commsched.host> -> !t)
  return %v3 : !t
}
