// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --split-input-file --allow-unregistered-dialect --commsched-bucket=mode=copy \
// RUN:   | FileCheck %t.mlir

// A copy-in reads what is cast later than the cast did. Where that would be
// another value, or might, the cast stays.

commsched.group @dp size(4)

// Written, or passed on to whatever may write it, before the cast or after the
// bucket.
// CHECK-LABEL: func.func @written_elsewhere(
// CHECK-SAME: %[[A:.+]]: tensor<2xf32>, %[[B:.+]]: tensor<2xf32>,
// CHECK: commsched.compute "aten.add_"(%[[B]])
// CHECK-NEXT: commsched.all_gather_copy_in %[[A]], %[[B]] on
// CHECK: commsched.compute "aten.add_"(%[[A]])
func.func @written_elsewhere(%a: tensor<2xf32>, %b: tensor<2xf32>, %p: i1) -> (tensor<8xbf16>, tensor<8xbf16>) {
  commsched.compute "aten.add_"(%b) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %ca = commsched.compute "aten._to_copy"(%a) : (tensor<2xf32>) -> tensor<2xbf16>
  %cb = commsched.compute "aten._to_copy"(%b) : (tensor<2xf32>) -> tensor<2xbf16>
  %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %1 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  commsched.compute "aten.add_"(%a) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %s = arith.select %p, %a, %b : tensor<2xf32>
  commsched.compute "aten.add_"(%s) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  return %2, %3 : tensor<8xbf16>, tensor<8xbf16>
}

// -----

LET $cast(C = V) %C = commsched.compute "aten._to_copy"(%V) : (tensor<2xf32>) -> tensor<2xbf16>
LET $write(V) commsched.compute "aten.add_"(%V) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
commsched.group @dp size(4)

// CHECK-LABEL: func.func @row(
// CHECK-SAME: %{{.+}}: tensor<2xf32>, %[[B:.+]]: tensor<2xf32>, %{{.+}}: tensor<2xf32>,
// CHECK: %[[CAST:.+]] = {{commsched.compute "aten._to_copy"|commsched.compute "my.convert"|arith.truncf|arith.bitcast}}
// CHECK: commsched.all_gather_copy_in %[[CAST]], %[[B]] on
func.func private @callee(tensor<2xf32>)
func.func @row(%a: tensor<2xf32>, %b: tensor<2xf32>, %o: tensor<2xf32>, %x: tensor<2x2xf32>, %m: memref<2xf32>, %i: tensor<2xi32>,
               %j: tensor<2xi16>, %s: tensor<f32>, %z: tensor<2xbf16>, %l: tensor<2xf32, "layout">, %p: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  $cast(cb = b)
  ROW
  %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %1 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
  %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
  %3 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
  return
}

// -----

  // Written between.
  $cast(ca = a)
  $write(a)

  $cast(ca = a)
  $run(%w = all_reduce %b on @dp reduction(sum) into %a : tensor<2xf32> into tensor<2xf32> -> tensor<2xf32>)

  // The cast reads a view of a tensor, which another view, in a region, writes.
  %v = tensor.extract_slice %x[0, 0] [1, 2] [1, 1] : tensor<2x2xf32> to tensor<2xf32>
  $cast(ca = v)
  scf.for %k = %c0 to %n step %c1 {
    %c = tensor.collapse_shape %x [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
    commsched.compute "aten.add_"(%c) {mutates = array<i64: 0>} : (tensor<4xf32>) -> ()
  }

  %v = commsched.compute "aten.view"(%x) {alias = 0 : i64} : (tensor<2x2xf32>) -> tensor<2xf32>
  $cast(ca = v)
  commsched.compute "aten.add_"(%x) {mutates = array<i64: 0>} : (tensor<2x2xf32>) -> ()

  // What a collective wrote in place, memory, and what a select passes on.
  $run(%w = all_reduce %o on @dp reduction(sum) into %a : tensor<2xf32> into tensor<2xf32> -> tensor<2xf32>)
  $cast(ca = w)
  $write(a)

  %v = bufferization.to_tensor %m restrict : memref<2xf32> to tensor<2xf32>
  $cast(ca = v)

  %v = arith.select %p, %a, %o : tensor<2xf32>
  $cast(ca = v)

  // A callee's argument, and what a select or a branch has passed on.
  $cast(ca = a)
  func.call @callee(%a) : (tensor<2xf32>) -> ()

  $cast(ca = a)
  %v = arith.select %p, %a, %o : tensor<2xf32>
  $write(v)

  $cast(ca = a)
  %v = scf.if %p -> tensor<2xf32> {
    scf.yield %a : tensor<2xf32>
  } else {
    scf.yield %o : tensor<2xf32>
  }
  $write(v)

  // What is not only a cast, or not only for the gather, or rounds otherwise.
  $cast(ca = a)
  commsched.compute "use"(%ca) : (tensor<2xbf16>) -> ()

  %ca = commsched.compute "my.convert"(%a) : (tensor<2xf32>) -> tensor<2xbf16>

  %ca = commsched.compute "aten._to_copy"(%a) {flops = 2.0 : f64} : (tensor<2xf32>) -> tensor<2xbf16>

  %ca = commsched.compute "aten._to_copy"(%a) {mutates = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xbf16>

  %ca = commsched.compute "aten._to_copy"(%a) {random} : (tensor<2xf32>) -> tensor<2xbf16>

  %ca = commsched.compute "aten._to_copy"(%a) {alias = 0 : i64} : (tensor<2xf32>) -> tensor<2xbf16>

  %ca = arith.truncf %a downward : tensor<2xf32> to tensor<2xbf16>

  %ca = commsched.compute "aten._to_copy"(%i) : (tensor<2xi32>) -> tensor<2xbf16>

  %ca = commsched.compute "aten._to_copy"(%s) : (tensor<f32>) -> tensor<2xbf16>

  %ca = arith.bitcast %j : tensor<2xi16> to tensor<2xbf16>

  %ca = commsched.compute "aten._to_copy"(%z) : (tensor<2xbf16>) -> tensor<2xbf16>

  %ca = commsched.compute "aten._to_copy"(%l) : (tensor<2xf32, "layout">) -> tensor<2xbf16>

  %ca = commsched.compute "aten._to_copy"(%a, %s) : (tensor<2xf32>, tensor<f32>) -> tensor<2xbf16>

// -----

commsched.group @dp size(4)

// A loop may carry what it captures. What it only captures is followed: here
// to a write in another block, which does not run between cast and gather.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %[[P:.+]]: tensor<2xf32>, %{{.+}}: tensor<2xf32>,
// CHECK: scf.for {{.*}} iter_args(%[[X:.+]] =
// CHECK: %[[CAST:.+]] = commsched.compute "aten._to_copy"(%[[X]])
// CHECK: commsched.all_gather_copy_in %[[CAST]], %[[P]] on
func.func @loop(%p: tensor<2xf32>, %q: tensor<2xf32>, %n: index) -> (tensor<2xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  commsched.compute "aten.add_"(%p) {mutates = array<i64: 0>} : (tensor<2xf32>) -> ()
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %q) -> tensor<2xf32> {
    %ca = commsched.compute "aten._to_copy"(%x) : (tensor<2xf32>) -> tensor<2xbf16>
    %cb = commsched.compute "aten._to_copy"(%p) : (tensor<2xf32>) -> tensor<2xbf16>
    %0 = commsched.all_gather %ca on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
    %1 = commsched.all_gather %cb on @dp dim(0) : tensor<2xbf16> -> !commsched.future<tensor<8xbf16>>
    %2 = commsched.wait %0 : !commsched.future<tensor<8xbf16>>
    %3 = commsched.wait %1 : !commsched.future<tensor<8xbf16>>
    %y = "test.make"(%2, %3) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<2xf32>
    scf.yield %y : tensor<2xf32>
  }
  return %r, %p : tensor<2xf32>, tensor<2xf32>
}
