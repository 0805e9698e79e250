// RUN: commsched-opt %s --split-input-file --commsched-partition-joint \
// RUN:   --test-commsched-verify-partition | %orders | FileCheck %s

// The unsharded parameter is filled and freed in each half, which takes the
// memref as its own argument. Of a collective that only the backward uses, only
// what it waits for crosses.

!t = tensor<8xf32>
!future = !commsched.future<!t>
commsched.group @dp size(4)

// CHECK-LABEL: func.func private @fsdp_forward(
// CHECK-SAME: %[[SHARD:[^:]+]]: tensor<2xf32> {commsched.role = "parameter"}, %[[P:[^:]+]]: memref<8xf32> {commsched.role = "unsharded_param"}
// CHECK-SAME: -> (tensor<8xf32>, memref<8xf32> {commsched.name = "arg1"}, tensor<8xf32> {commsched.name = "full"}, tensor<8xf32> {commsched.name = "sum"})
// CHECK-NEXT: // order: all_gather full resize_storage fsdp_copy bufferization.to_tensor mm resize_storage all_reduce sum{{$}}

// CHECK-LABEL: func.func private @fsdp_backward(
// CHECK-SAME: %[[P:[^:]+]]: memref<8xf32> {commsched.name = "arg1", commsched.role = "unsharded_param"}
// CHECK-SAME: %[[FULL:[^:]+]]: tensor<8xf32> {commsched.name = "full",
// CHECK-SAME: %[[SUM:[^:]+]]: tensor<8xf32> {commsched.name = "sum",
// CHECK-NEXT: // order: resize_storage fsdp_copy bufferization.to_tensor back resize_storage{{$}}
func.func @fsdp(%shard: tensor<2xf32> {commsched.role = "parameter"},
    %p: memref<8xf32> {commsched.role = "unsharded_param"},
    %x: !t {commsched.role = "input"}, %dy: !t {commsched.role = "tangent"})
    -> (!t, !t) attributes {commsched.num_forward_outputs = 1 : i64,
                commsched.saved_values = ["full", "sum"]} {
  %start = commsched.all_gather %shard on @dp dim(0) : tensor<2xf32> -> !future
  %full = commsched.wait %start {commsched.name = "full"} : !future
  commsched.resize_storage %p bytes(32) {commsched.partition = "must_be_forward"} : memref<8xf32>
  commsched.fsdp_copy %full into %p {commsched.partition = "must_be_forward"} : !t, memref<8xf32>
  %w = bufferization.to_tensor %p : memref<8xf32> to !t
  %y = commsched.compute "mm"(%x, %w) : (!t, !t) -> !t
  commsched.resize_storage %p bytes(0) {commsched.partition = "must_be_forward"} : memref<8xf32>
  %reduce = commsched.all_reduce %x on @dp reduction(sum) : !t -> !future
  %sum = commsched.wait %reduce {commsched.name = "sum"} : !future
  commsched.resize_storage %p bytes(32) {commsched.partition = "must_be_backward"} : memref<8xf32>
  commsched.fsdp_copy %full into %p {commsched.partition = "must_be_backward"} : !t, memref<8xf32>
  %v = bufferization.to_tensor %p {commsched.partition = "backward"} : memref<8xf32> to !t
  %dx = commsched.compute "back"(%dy, %v, %sum) : (!t, !t, !t) -> !t
  commsched.resize_storage %p bytes(0) {commsched.partition = "must_be_backward"} : memref<8xf32>
  return %y, %dx : !t, !t
}
