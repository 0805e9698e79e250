// RUN: commsched-opt --canonicalize %s | FileCheck %s

!t = tensor<4xf32>
!future = !commsched.future<!t>
!future_u = !commsched.future<tensor<4xf32, #commsched.host>>
commsched.group @self size(1)
commsched.group @dp size(2)

//===----------------------------------------------------------------------===//
// A group of one delivers what was sent.
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @group_of_one(
// CHECK-SAME: %[[X:.+]]: tensor<4xf32>, %[[Y:.+]]: tensor<i8>, %[[M:.+]]: tensor<4x3xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[Y]], %[[X]], %[[X]], %[[M]], %[[M]]
func.func @group_of_one(%x: !t, %y: tensor<i8>, %m: tensor<4x3xf32>)
    -> (!t, !t, !t, tensor<i8>, !t, !t, tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = commsched.all_gather %x on @self dim(0) : !t -> !future
  %1 = commsched.wait %0 : !future
  %2 = commsched.reduce_scatter %x on @self reduction(avg) dim(0) : !t -> !future
  %3 = commsched.wait %2 : !future
  %4 = commsched.all_reduce %x, %y on @self reduction(sum)
      : !t, tensor<i8> -> !commsched.future<!t, tensor<i8>>
  %5:2 = commsched.wait %4 : !commsched.future<!t, tensor<i8>>
  %6 = commsched.broadcast %x on @self root(0) : !t -> !future
  %7 = commsched.wait %6 : !future
  %8 = commsched.permute %x on @self pairs(dense<0> : tensor<1x2xi64>) : !t -> !future
  %9 = commsched.wait %8 : !future
  commsched.barrier on @self
  %10 = commsched.all_to_all %m on @self split_dim(0) concat_dim(1)
      : tensor<4x3xf32> -> !commsched.future<tensor<4x3xf32>>
  %11 = commsched.wait %10 : !commsched.future<tensor<4x3xf32>>
  %12 = commsched.all_to_all %m on @self split_dim(0) concat_dim(0)
      input_splits([4]) output_splits([4])
      : tensor<4x3xf32> -> !commsched.future<tensor<4x3xf32>>
  %13 = commsched.wait %12 : !commsched.future<tensor<4x3xf32>>
  return %1, %3, %5#0, %5#1, %7, %9, %11, %13
      : !t, !t, !t, tensor<i8>, !t, !t, tensor<4x3xf32>, tensor<4x3xf32>
}

// The user in between sees the operand, whichever order the two are in.
// CHECK-LABEL: func.func @group_of_one_chain(
// CHECK-SAME: %[[X:.+]]: tensor<4xf32>
// CHECK-NEXT: %[[Y:.+]] = commsched.compute "aten.sin"(%[[X]])
// CHECK-NEXT: return %[[Y]]
func.func @group_of_one_chain(%x: !t) -> !t {
  %0 = commsched.all_reduce %x on @self reduction(sum) : !t -> !future
  %1 = commsched.wait %0 : !future
  %2 = commsched.compute "aten.sin"(%1) : (!t) -> !t
  %3 = commsched.all_gather %2 on @self dim(0) : !t -> !future
  %4 = commsched.wait %3 : !future
  return %4 : !t
}

// A permute without a pair delivers zeros.
// CHECK-LABEL: func.func @keep_permute_of_nothing(
// CHECK: commsched.permute
// CHECK: commsched.wait
func.func @keep_permute_of_nothing(%x: !t) -> !t {
  %0 = commsched.permute %x on @self pairs(dense<> : tensor<0x2xi64>)
      : !t -> !future
  %1 = commsched.wait %0 : !future
  return %1 : !t
}

// CHECK-LABEL: func.func @keep_group_of_one_in_place(
// CHECK: commsched.all_reduce
// CHECK: commsched.wait
func.func @keep_group_of_one_in_place(%x: !t, %b: !t) -> !t {
  %0 = commsched.all_reduce %x on @self reduction(sum) into %b
      : !t into !t -> !future
  %1 = commsched.wait %0 : !future
  return %1 : !t
}

// The types differ, so the operand cannot stand for the value.
// CHECK-LABEL: func.func @keep_group_of_one_dynamic(
// CHECK: commsched.all_gather
// CHECK: commsched.wait
func.func @keep_group_of_one_dynamic(%x: tensor<?xf32>) -> !t {
  %0 = commsched.all_gather %x on @self dim(0) : tensor<?xf32> -> !future
  %1 = commsched.wait %0 : !future
  return %1 : !t
}

//===----------------------------------------------------------------------===//
// A pair whose values are unused.
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @unused_pairs(
// CHECK-NEXT: return
func.func @unused_pairs(%x: !t) {
  %0 = commsched.all_gather %x on @dp dim(0)
      : !t -> !commsched.future<tensor<8xf32>>
  %1 = commsched.reduce_scatter %x on @dp reduction(sum) dim(0)
      : !t -> !commsched.future<tensor<2xf32>>
  %2 = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %3 = commsched.all_to_all %x on @dp split_dim(0) concat_dim(0) : !t -> !future
  %4 = commsched.broadcast %x on @dp root(0) : !t -> !future
  %5 = commsched.permute %x on @dp pairs(dense<[[0, 1]]> : tensor<1x2xi64>)
      : !t -> !future
  %6 = commsched.wait %0 : !commsched.future<tensor<8xf32>>
  %7 = commsched.wait %1 : !commsched.future<tensor<2xf32>>
  %8 = commsched.wait %2 : !future
  %9 = commsched.wait %3 : !future
  %10 = commsched.wait %4 : !future
  %11 = commsched.wait %5 : !future
  return
}

// What only an unused collective needed goes with it.
// CHECK-LABEL: func.func @unused_chain(
// CHECK-NEXT: return
func.func @unused_chain(%x: !t) {
  %0 = commsched.compute "aten.sin"(%x) : (!t) -> !t
  %1 = commsched.all_reduce %0 on @dp reduction(sum) : !t -> !future
  %2 = commsched.wait %1 : !future
  %3 = commsched.compute "aten.sin"(%2) : (!t) -> !t
  return
}

// One of two coalesced values is used: the launch stays as it is.
// CHECK-LABEL: func.func @keep_partly_used(
// CHECK: commsched.all_reduce %{{.+}}, %{{.+}} on
// CHECK: commsched.wait
func.func @keep_partly_used(%x: !t) -> !t {
  %0 = commsched.all_reduce %x, %x on @dp reduction(sum) : !t, !t
        -> !commsched.future<!t, !t>
  %1:2 = commsched.wait %0 : !commsched.future<!t, !t>
  return %1#1 : !t
}

// The buffer may be read through another value.
// CHECK-LABEL: func.func @keep_unused_in_place(
// CHECK: commsched.all_gather
// CHECK: commsched.wait
func.func @keep_unused_in_place(%x: !t, %b: tensor<8xf32>) {
  %0 = commsched.all_gather %x on @dp dim(0) into %b
      : !t into tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<8xf32>>
  return
}

// The other end is in another rank's program, even if that rank is this one.
// CHECK-LABEL: func.func @keep_point_to_point(
// CHECK: commsched.send %{{.+}} on @dp
// CHECK: commsched.send %{{.+}} on @self
// CHECK: commsched.recv on @self
// CHECK: commsched.wait
// CHECK: commsched.wait
// CHECK: commsched.wait
func.func @keep_point_to_point(%x: !t) {
  %0 = commsched.send %x on @dp to(1) : !t -> !commsched.future
  %1 = commsched.send %x on @self to(0) : !t -> !commsched.future
  %2 = commsched.recv on @self from(0) : !future
  commsched.wait %0 : !commsched.future
  commsched.wait %1 : !commsched.future
  %3 = commsched.wait %2 : !future
  return
}

// CHECK-LABEL: func.func @keep_used_pairs(
// CHECK: commsched.all_to_all
// CHECK: commsched.wait
// CHECK: commsched.barrier
func.func @keep_used_pairs(%x: !t) -> !t {
  %0 = commsched.all_to_all %x on @dp split_dim(0) concat_dim(0) : !t -> !future
  %1 = commsched.wait %0 : !future
  commsched.barrier on @dp
  return %1 : !t
}

// The rank is 0 in a group of one; otherwise one operation is enough.
// CHECK-LABEL: func.func @ranks(
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : index
// CHECK-DAG: %[[ME:.+]] = commsched.rank on @dp : index
// CHECK-NEXT: return %[[ZERO]], %[[ME]]
func.func @ranks() -> (index, index) {
  %0 = commsched.rank on @self : index
  %1 = commsched.rank on @dp : index
  %2 = commsched.rank on @dp : index
  return %0, %1 : index, index
}

//===----------------------------------------------------------------------===//
// Transfers have no group that could be of one rank.
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @keeps_transfers(
// CHECK-NEXT: commsched.offload
// CHECK-NEXT: %[[H:.+]] = commsched.wait
// CHECK-NEXT: commsched.reload %[[H]]
// CHECK-NEXT: %[[Y:.+]] = commsched.wait
// CHECK-NEXT: return %[[Y]]
func.func @keeps_transfers(%x: !t) -> !t {
  %0 = commsched.offload %x : !t -> !future_u
  %1 = commsched.wait %0 : !future_u
  %2 = commsched.reload %1 : tensor<4xf32, #commsched.host> -> !future
  %3 = commsched.wait %2 : !future
  return %3 : !t
}

// CHECK-LABEL: func.func @unused_transfers(
// CHECK-NEXT: return
func.func @unused_transfers(%x: !t) {
  %0 = commsched.offload %x : !t -> !future_u
  %1 = commsched.wait %0 : !future_u
  %2 = commsched.reload %1 : tensor<4xf32, #commsched.host> -> !future
  %3 = commsched.wait %2 : !future
  return
}
