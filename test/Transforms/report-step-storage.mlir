// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   -split-input-file | FileCheck %s
// RUN: %python -c "print('commsched.group @g size(2) func.func @f(%%x: tensor<4xf32>, %%c: i1) {' + 'scf.if %%c { commsched.barrier on @g math.exp %%x : tensor<4xf32> ' * 300 + '}' * 300 + ' return }')" > %t.mlir
// RUN: sh -c 'ulimit -t 8 && commsched-opt %t.mlir --commsched-report -o /dev/null'

// What lives from a forward into its backward, or beside it.

!t = tensor<20xi8>
!u = tensor<10xi8>

// Two saved values that are views of one storage take it once, and it goes with
// the last of them: at "g2" there are 10 that stay, 20 of "s", 5 of "g1" and 5 of
// "g2"; then "s" has gone. The backward alone cannot know.
// CHECK: {"function":"f"
// CHECK: {"function":"b"{{.*}}"peak_memory_bytes":45,
// CHECK: {"function":"joint"{{.*}}"peak_memory_bytes":40,{{.*}}"peak_position":3,
func.func @f(%x: !u) -> (!t, tensor<4x5xi8>) {
  %s = commsched.compute "s"(%x) {commsched.runtime_ns = 1 : i64} : (!u) -> !t
  %v = commsched.compute "aten.view"(%s)
      {alias = 0 : i64, commsched.runtime_ns = 0 : i64} : (!t) -> tensor<4x5xi8>
  return %s, %v : !t, tensor<4x5xi8>
}
func.func @b(%s: !t {commsched.role = "saved_activation"}, %v: tensor<4x5xi8>
    {commsched.role = "saved_activation"}) -> tensor<6xi8> {
  %g1 = commsched.compute "g1"(%s) {commsched.runtime_ns = 1 : i64} : (!t) -> tensor<5xi8>
  %g2 = commsched.compute "g2"(%v) {commsched.runtime_ns = 1 : i64}
      : (tensor<4x5xi8>) -> tensor<5xi8>
  %g3 = commsched.compute "g3"(%g1, %g2) {commsched.runtime_ns = 1 : i64}
      : (tensor<5xi8>, tensor<5xi8>) -> tensor<6xi8>
  return %g3 : tensor<6xi8>
}

func.func @joint(%x0: !u) -> tensor<6xi8> {
  %f:2 = call @f(%x0) : (!u) -> (!t, tensor<4x5xi8>)
  %b = call @b(%f#0, %f#1) : (!t, tensor<4x5xi8>) -> tensor<6xi8>
  return %b : tensor<6xi8>
}

// -----

!t = tensor<2x5xi8>
!u = tensor<20xi8>

// What is saved stays after its last use if it is a result, too, ("r"), or a
// view of a parameter; the views take nothing. 10 + 20 of "r" + 30 of "g1", and
// then 40 of "g2" instead of it.
// CHECK: {"function":"f"
// CHECK: {"function":"b"{{.*}}"peak_memory_bytes":70,
// CHECK: {"function":"joint"{{.*}}"peak_memory_bytes":100,
func.func @f(%w: tensor<10xi8> {commsched.role = "parameter"}) -> (!u, !t, !u) {
  %t = commsched.compute "aten.view"(%w)
      {alias = 0 : i64, commsched.runtime_ns = 0 : i64} : (tensor<10xi8>) -> !t
  %r = commsched.compute "r"(%t) {commsched.runtime_ns = 1 : i64} : (!t) -> !u
  return %r, %t, %r : !u, !t, !u
}
func.func @b(%t: !t {commsched.role = "saved_activation"}, %r: !u
    {commsched.role = "saved_activation"}) -> tensor<40xi8> {
  %g1 = commsched.compute "g1"(%t, %r) {commsched.runtime_ns = 1 : i64} : (!t, !u) -> tensor<30xi8>
  %g2 = commsched.compute "g2"(%g1) {commsched.runtime_ns = 1 : i64}
      : (tensor<30xi8>) -> tensor<40xi8>
  return %g2 : tensor<40xi8>
}

func.func @joint(%x0: tensor<10xi8> {commsched.role = "parameter"}) -> (!u, tensor<40xi8>) {
  %f:3 = call @f(%x0) : (tensor<10xi8>) -> (!u, !t, !u)
  %b = call @b(%f#1, %f#2) : (!t, !u) -> tensor<40xi8>
  return %f#0, %b : !u, tensor<40xi8>
}

// -----

!m = memref<64xi8>
!t = tensor<1xi8>

// An unsharded parameter that both halves grow and free is only a handle in
// between, and where the forward returns it: 64 bytes in each, never 128.
// CHECK: {"function":"f"{{.*}}"peak_memory_bytes":65,
// CHECK: {"function":"b"{{.*}}"peak_memory_bytes":66,
// CHECK: {"function":"joint"{{.*}}"peak_memory_bytes":67,{{.*}}"peak_position":4,
func.func @f(%p: !m {commsched.role = "unsharded_param"}) -> (!t, !m) {
  commsched.resize_storage %p bytes(64) {commsched.runtime_ns = 0} : !m
  %y = commsched.compute "y"(%p) {commsched.runtime_ns = 1} : (!m) -> !t
  commsched.resize_storage %p bytes(0) {commsched.runtime_ns = 0} : !m
  return %y, %p : !t, !m
}
func.func @b(%p: !m {commsched.role = "unsharded_param"},
             %t: !t {commsched.role = "tangent"}) -> !t {
  commsched.resize_storage %p bytes(64) {commsched.runtime_ns = 0} : !m
  %g = commsched.compute "g"(%t, %p) {commsched.runtime_ns = 1} : (!t, !m) -> !t
  commsched.resize_storage %p bytes(0) {commsched.runtime_ns = 0} : !m
  return %g : !t
}

func.func @joint(%x0: !m {commsched.role = "unsharded_param"}, %x1: !t {commsched.role = "tangent"})
    -> (!t, !t) {
  %f:2 = call @f(%x0) : (!m) -> (!t, !m)
  %b = call @b(%f#1, %x1) : (!m, !t) -> !t
  return %f#0, %b : !t, !t
}
