// RUN: commsched-opt %s --commsched-estimate-runtime --remarks-filter=commsched 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// The pass changes nothing where everything is pinned.
// RUN: commsched-opt %s --commsched-estimate-runtime -o %t.once
// RUN: commsched-opt %t.once --commsched-set-costs=target=a100 --commsched-estimate-runtime \
// RUN:   | sed 's/module attributes {dlti.*/module {/' | diff %t.once -
// RUN: commsched-opt %s --pass-pipeline='builtin.module(func.func(commsched-estimate-runtime{model=nccl}))' -o /dev/null

commsched.group @dp size(4)

// A function without a body is skipped.
// CHECK: func.func private @declaration(tensor<?xf32>)
func.func private @declaration(tensor<?xf32>)

// Every operation gets a time but the terminators and those with a dynamic size,
// which a remark names.
// CHECK-LABEL: @dynamic
// CHECK-NEXT: arith.constant {commsched.runtime_ns = 0 : i64}
// CHECK-NEXT: commsched.compute "aten.relu"(%{{.*}}) {commsched.name = "act"} :
// CHECK-NEXT: commsched.all_reduce %{{.*}} on @dp reduction(sum) : tensor<?xf32>
// CHECK-NEXT: commsched.wait %{{.*}} {commsched.runtime_ns = 0 : i64}
// CHECK-NEXT: scf.if
// CHECK-NEXT: tensor.splat
// CHECK-NOT: runtime_ns
// CHECK: return
// REMARK: [[#@LINE+6]]:{{.*}}remark: [Missed] UnknownCost | Category:commsched | Function=dynamic | Remark="aten.relu 'act' has no estimate: the size of operand 0 of 'commsched.compute', a tensor<?xf32>, is not static"
// REMARK: [[#@LINE+6]]:{{.*}}remark: [Missed] UnknownCost {{.*}}operand 0 of 'commsched.all_reduce'
// REMARK: [[#@LINE+8]]:{{.*}}remark: [Missed] UnknownCost {{.*}}result 0 of 'tensor.splat'
// REMARK: [[#@LINE+6]]:{{.*}}remark: [Missed] UnknownCost {{.*}}scf.if has no estimate: the size of result 0 of 'tensor.splat'
func.func @dynamic(%x: tensor<?xf32>, %c: i1, %n: index) -> tensor<?xf32> {
  %f = arith.constant 1.0 : f32
  %y = commsched.compute "aten.relu"(%x) {commsched.name = "act"} : (tensor<?xf32>) -> tensor<?xf32>
  %0 = commsched.all_reduce %y on @dp reduction(sum) : tensor<?xf32> -> !commsched.future<tensor<?xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<?xf32>>
  scf.if %c {
    %2 = tensor.splat %f[%n] : tensor<?xf32>
  }
  return %1 : tensor<?xf32>
}

// A call takes what its callee does, and gets a time of its own only where no
// function of this module says that.
// CHECK-LABEL: @calls
// CHECK-NEXT: call @pinned(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: call @unknown(%{{.*}}) {commsched.runtime_ns = {{[0-9]+}} : i64}
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @pinned(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @unknown(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @unknown(tensor<4xf32>) -> tensor<4xf32>
func.func private @pinned(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = commsched.compute "aten.relu"(%x) {commsched.runtime_ns = 7 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
