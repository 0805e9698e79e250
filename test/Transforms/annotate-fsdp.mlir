// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --test-commsched-annotate-fsdp > %t
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t --test-commsched-annotate-fsdp | diff %t -
// RUN: commsched-opt %t.mlir \
// RUN:   --pass-pipeline='builtin.module(func.func(test-commsched-annotate-fsdp))' | diff %t -

// What an earlier run or somebody else wrote is made right, or removed, on
// whatever operation it is; nothing else changes.

!future = !commsched.future<tensor<16xf32>>
commsched.group @g size(4)

// CHECK-LABEL: func.func @stale(
// CHECK: aten.view
// CHECK-SAME: {alias = 0 : i64}
// CHECK: all_gather
// CHECK-SAME: {commsched.fsdp = "parameter_gather"}
// CHECK: all_gather
// CHECK-SAME: {commsched.fsdp = "parameter_gather"}
// CHECK: all_gather
// CHECK-SAME: {commsched.name = "input"}
// CHECK-NOT: commsched.fsdp
// CHECK: return
func.func @stale(%p: tensor<4xf32> {commsched.role = "parameter"},
                 %x: tensor<4xf32> {commsched.role = "input"}) {
  %view = commsched.compute "aten.view"(%p)
      {alias = 0, commsched.fsdp = "parameter_gather"}
      : (tensor<4xf32>) -> tensor<4xf32>
  %f0 = commsched.all_gather %view on @g dim(0)
      {commsched.fsdp = "gradient_scatter"} : tensor<4xf32> -> !future
  %w0 = commsched.wait %f0 {commsched.fsdp = "parameter_gather"} : !future
  $run(%w1 = all_gather %view on @g dim(0) {commsched.fsdp = "parameter_gather"} : tensor<4xf32> -> tensor<16xf32>)
  $run(%w2 = all_gather %x on @g dim(0) {commsched.fsdp = "parameter_gather", commsched.name = "input"}
      : tensor<4xf32> -> tensor<16xf32>)
  return
}

// CHECK-LABEL: func.func @without_collectives(
// CHECK-NOT: commsched.fsdp
func.func @without_collectives(%p: tensor<4xf32>) {
  %neg = arith.negf %p {commsched.fsdp = "gradient_reduce"} : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func private @declared
func.func private @declared(tensor<4xf32>)
