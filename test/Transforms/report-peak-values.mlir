// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null | FileCheck %s

// The ten largest of what is live at the peak, by name; one rule of the memory
// model a function. test/Analysis/peak-memory.mlir checks the sums.

!b16 = tensor<4xf32>
!b4 = tensor<1xf32>
!b8 = tensor<2xf32>
!b32 = tensor<8xf32>
!b64 = tensor<16xf32>
!b40 = tensor<10xf32>
!b48 = tensor<12xf32>
commsched.group @g size(4)

// Twelve are live at "sum", and ten are named: largest first, equal ones in the
// order in which the program has them. The two of 4 bytes are left out.
// CHECK: "function":"more_than_ten"{{.*}}"peak_memory_bytes":424,
// CHECK-SAME: "peak_position":9,"peak_values":[{"name":"g","bytes":64,"producer":7,"rule":"result"},{"name":"b","bytes":48,"producer":2,"rule":"result"},{"name":"e","bytes":48,"producer":5,"rule":"result"},{"name":"%arg2","bytes":40,"rule":"argument"},{"name":"a","bytes":40,"producer":1,"rule":"result"},{"name":"c","bytes":40,"producer":3,"rule":"result"},{"name":"d","bytes":40,"producer":4,"rule":"result"},{"name":"f","bytes":40,"producer":6,"rule":"result"},{"name":"sum","bytes":40,"producer":9,"rule":"result"},{"name":"%arg0","bytes":16,"rule":"argument"}],
func.func @more_than_ten(%x: !b16, %small: !b4, %y: !b40) -> !b40 {
  %z = commsched.compute "z"(%small) : (!b4) -> !b4
  %a = commsched.compute "a"(%x) : (!b16) -> !b40
  %b = commsched.compute "b"(%x) : (!b16) -> !b48
  %c = commsched.compute "c"(%x) : (!b16) -> !b40
  %d = commsched.compute "d"(%x) : (!b16) -> !b40
  %e = commsched.compute "e"(%x) : (!b16) -> !b48
  %f = commsched.compute "f"(%x) : (!b16) -> !b40
  %g = commsched.compute "g"(%x) : (!b16) -> !b64
  %v = commsched.compute "view"(%g) {alias = 0 : i64} : (!b64) -> !b64
  %sum = commsched.compute "sum"(%z, %a, %b, %c, %d, %e, %f, %v)
      : (!b4, !b40, !b48, !b40, !b40, !b48, !b40, !b64) -> !b40
  return %sum : !b40
}

// An argument is called by its `commsched.name`, or else by its number; so are
// operations by theirs, or else by their operator. Scalars and tensors of no
// elements take nothing and are not named.
// CHECK: "function":"names"
// CHECK-SAME: "peak_position":2,"peak_values":[{"name":"layers.0.mm","bytes":32,"producer":1,"rule":"result"},{"name":"arith.negf","bytes":32,"producer":2,"rule":"result"},{"name":"weight","bytes":16,"rule":"argument"},{"name":"%arg2","bytes":8,"rule":"argument"}],
func.func @names(%w: !b16 {commsched.name = "weight"}, %i: i64,
                 %x: !b8 {commsched.name = ""}, %none: tensor<0xf32>) -> !b32 {
  %e = commsched.compute "empty"(%i) : (i64) -> tensor<0xf32>
  %y = commsched.compute "aten.mm"(%w, %x) {commsched.name = "layers.0.mm"} : (!b16, !b8) -> !b32
  %r = arith.negf %y : !b32
  return %r : !b32
}

// The number of a result follows, but for the first.
// CHECK: "function":"several_results"
// CHECK-SAME: "peak_position":0,"peak_values":[{"name":"split#2","bytes":48,"producer":0,"rule":"result"},{"name":"split#1","bytes":32,"producer":0,"rule":"result"},{"name":"split","bytes":16,"producer":0,"rule":"result"},{"name":"%arg0","bytes":4,"rule":"argument"}],
func.func @several_results(%x: !b4) -> (!b16, !b48) {
  %s:3 = commsched.compute "aten.split"(%x) {commsched.name = "split"} : (!b4) -> (!b16, !b32, !b48)
  return %s#0, %s#2 : !b16, !b48
}

// What a coalesced collective delivers is called by the collective, although it
// is a result of the wait. The wait's name is nobody's. At b nobody needs the
// operand any more but the collective, which holds it until the wait.
// CHECK: "function":"in_flight"
// CHECK-SAME: "peak_position":2,"peak_values":[{"name":"gather#1","bytes":64,"producer":1,"rule":"collective"},{"name":"b","bytes":64,"producer":2,"rule":"result"},{"name":"gather","bytes":32,"producer":1,"rule":"collective"},{"name":"%arg0","bytes":16,"rule":"argument"},{"name":"a","bytes":8,"producer":0,"rule":"result"}],
func.func @in_flight(%x: !b16) -> (!b64, !b32, !b64) {
  %a = commsched.compute "a"(%x) : (!b16) -> !b8
  %f = commsched.all_gather %a, %x on @g dim(0) {commsched.name = "gather"}
      : !b8, !b16 -> !commsched.future<!b32, !b64>
  %b = commsched.compute "b"(%x) : (!b16) -> !b64
  %r:2 = commsched.wait %f {commsched.name = "wait"} : !commsched.future<!b32, !b64>
  return %b, %r#0, %r#1 : !b64, !b32, !b64
}

// Written in place, the result lives in the buffer, which is called by what
// makes it: the second result of the copy-in, that the first is a slice of.
// CHECK: "function":"into"
// CHECK-SAME: "peak_position":3,"peak_values":[{"name":"copy_in#1","bytes":64,"producer":0,"rule":"result"},{"name":"split_copy","bytes":64,"producer":3,"rule":"result"},{"name":"%arg0","bytes":16,"rule":"argument"}],
func.func @into(%x: !b16) -> !b64 {
  %slice, %buffer = commsched.all_gather_copy_in %x on @g
      {commsched.name = "copy_in"} : !b16 -> !b16, !b64
  %f = commsched.all_gather %slice on @g dim(0) into %buffer : !b16 into !b64
        -> !commsched.future<!b64>
  %gathered = commsched.wait %f : !commsched.future<!b64>
  %full = commsched.split_with_sizes_copy %gathered on @g
      {commsched.name = "split_copy"} : !b64 -> !b64
  return %full : !b64
}

// A collective without a name is called by its kind and its place among all.
// CHECK: "function":"second_collective"
// CHECK-SAME: "peak_values":[{"name":"recv_1","bytes":64,"producer":1,"rule":"collective"},{"name":"recv_1#1","bytes":64,"producer":1,"rule":"collective"}],
func.func @second_collective() -> (!b64, !b64) {
  commsched.barrier on @g
  %f = commsched.recv on @g from(0) : !commsched.future<!b64, !b64>
  %r:2 = commsched.wait %f : !commsched.future<!b64, !b64>
  return %r#0, %r#1 : !b64, !b64
}

// What a loop carries, what it has live inside, and what updates write in place.
// CHECK: {"function":"rules"
// CHECK-SAME: "peak_values":[{"name":"a","bytes":64,"producer":0,"rule":"loop"},{"name":"b","bytes":64,"producer":1,"rule":"update"},{"name":"scf.for (inside)","bytes":64,"producer":3,"rule":"inside"},{"name":"free","bytes":32,"rule":"freeable_argument"},{"name":"at","bytes":4,"rule":"argument"}],
func.func @rules(%x: !b32 {commsched.name = "free", commsched.freeable}, %n: index,
            %at: tensor<i32> {commsched.name = "at"}) -> (!b64, !b64) {
  %a = commsched.compute "a"() {commsched.runtime_ns = 1 : i64} : () -> !b64
  %b = commsched.compute "b"() {commsched.runtime_ns = 1 : i64} : () -> !b64
  %c = "stablehlo.dynamic_update_slice"(%b, %x, %at)
      : (!b64, !b32, tensor<i32>) -> !b64
  %r = scf.for %i = %n to %n step %n iter_args(%v = %a) -> !b64 {
    %w = commsched.compute "w"(%v, %x) {commsched.runtime_ns = 1 : i64} : (!b64, !b32) -> !b64
    scf.yield %w : !b64
  }
  return %r, %c : !b64, !b64
}
