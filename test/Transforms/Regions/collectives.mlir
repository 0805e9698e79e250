// RUN: commsched-opt %s -split-input-file --commsched-compile-regions \
// RUN:   --allow-unregistered-dialect --remarks-filter=commsched 2> %t.remarks | %orders | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A start and its wait go together, and the pipeline schedules them.

// REMARK: 4 operation(s) of the region 'a' are @__marked_region_0

// CHECK-LABEL: func.func @together
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK-NEXT: // order: call{{$}}
// CHECK-LABEL: func.func private @__marked_region_0
// CHECK-NEXT: // order: all_reduce math.exp wait arith.addf{{$}}
#sink = {pipeline = "commsched-sink-waits", region = "a"}
commsched.group @dp size(4)
func.func @together(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %f = commsched.all_reduce %x on @dp reduction(sum) {commsched.compile_with = #sink}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %0 = commsched.wait %f {commsched.compile_with = #sink} : !commsched.future<tensor<4xf32>>
  %1 = math.exp %y {commsched.compile_with = #sink} : tensor<4xf32>
  %2 = arith.addf %0, %1 {commsched.compile_with = #sink} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// A start or a wait without the other stays, and so do both if their regions
// differ. What is in the function, on the other hand, no longer waits in
// between.

// REMARK: all_reduce is not outlined: its wait cannot be in the same function, and futures cross no call
// REMARK: all_gather is not outlined: its wait cannot
// REMARK: wait is not outlined: its start cannot
// REMARK: 2 operation(s) of the region without a name are @__marked_region_0

// CHECK-LABEL: func.func @alone
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: // order: all_reduce all_gather wait call wait{{$}}
#cse = {pipeline = "cse"}
commsched.group @dp size(4)
func.func @alone(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<16xf32>) {
  %f = commsched.all_reduce %x on @dp reduction(sum) {commsched.compile_with = #cse}
      : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
  %g = commsched.all_gather %x on @dp dim(0) {commsched.compile_with = #cse}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %0 = math.exp %x {commsched.compile_with = #cse} : tensor<4xf32>
  %1 = commsched.wait %f : !commsched.future<tensor<4xf32>>
  %2 = math.absf %1 {commsched.compile_with = #cse} : tensor<4xf32>
  %3 = commsched.wait %g {commsched.compile_with = {pipeline = "cse", region = "other"}}
      : !commsched.future<tensor<16xf32>>
  return %0, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<16xf32>
}

// -----

// A view of what the set writes in place goes along, in its place: in front of
// the call or behind it, it would show something else.

// CHECK-LABEL: func.func @written_view
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<16xf32>)
// CHECK-NEXT: // order: call{{$}}
// CHECK-LABEL: func.func private @__marked_region_0
// CHECK-NEXT: // order: all_gather wait tensor.expand_shape{{$}}
#cse = {pipeline = "cse"}
commsched.group @dp size(4)
func.func @written_view(%x: tensor<4xf32>, %b: tensor<16xf32>)
    -> (tensor<16xf32>, tensor<4x4xf32>) {
  %f = commsched.all_gather %x on @dp dim(0) into %b {commsched.compile_with = #cse}
      : tensor<4xf32> into tensor<16xf32> -> !commsched.future<tensor<16xf32>>
  %0 = commsched.wait %f {commsched.compile_with = #cse} : !commsched.future<tensor<16xf32>>
  %1 = tensor.expand_shape %b [[0, 1]] output_shape [4, 4] {commsched.compile_with = #cse}
      : tensor<16xf32> into tensor<4x4xf32>
  return %0, %1 : tensor<16xf32>, tensor<4x4xf32>
}

// -----

// What ends a block, is no part of a function, might see other symbols, or
// allocates on the stack stays.

// REMARK: arith.constant is not outlined: it is in no function
// REMARK: memref.alloca is not outlined: what it allocates goes when its function returns
// REMARK: math.exp is not outlined: it does not see the symbols that its function sees
// REMARK: func.return is not outlined: it ends its block

// CHECK-LABEL: func.func @stays
// CHECK-NEXT: // order:{{.*}}
// CHECK-NEXT: memref.alloca
// CHECK-NEXT: call @__marked_region_0
// CHECK-NEXT: "test.region"
// CHECK-NEXT: math.exp
// CHECK: return
"builtin.module"() ({
  %0 = arith.constant {commsched.compile_with = {pipeline = "cse"}} 0 : i32
}) {"test.module"} : () -> ()
func.func @stays(%v: f32) {
  %m = memref.alloca() {commsched.compile_with = {pipeline = "cse"}} : memref<f32>
  memref.store %v, %m[] {commsched.compile_with = {pipeline = "cse"}} : memref<f32>
  "test.region"() ({
    %0 = math.exp %v {commsched.compile_with = {pipeline = "cse"}} : f32
  }) : () -> ()
  return {commsched.compile_with = {pipeline = "cse"}}
}
