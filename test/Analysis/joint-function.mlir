// RUN: %rows %s | commsched-test-opt --allow-unregistered-dialect \
// RUN:   --test-joint-function --mlir-disable-threading -o /dev/null | FileCheck %s

// The graph that the partitioner sees. Costs are numbers of operands; policies
// and tags are numbered from 1 in the order of their attributes' values.

!t = tensor<4xf32>
!u = memref<4xindex>
commsched.group @dp size(4)

// CHECK-LABEL: @values has 11 nodes
// CHECK-NEXT: 0 'w' primal() bytes 64 cost 0 storage 0 saveable static{{$}}
// CHECK-NEXT: 1 'arg1' primal() bytes 16 cost 0 storage 1 saveable freeable{{$}}
// CHECK-NEXT: 2 'arg2' tangent() bytes 16 cost 0 storage 2 saveable{{$}}
// CHECK-NEXT: 3 'mm' operation compute_intensive(1, 0, 0) bytes 16 cost 3 storage 3 policy 1 tag 1 saveable{{$}}
// CHECK-NEXT: 4 'split' operation view(3) bytes 0 cost 1 storage -1 policy 4 tag 3 region 7{{$}}
// Views share the storage of what they show.
// CHECK-NEXT: 5 'split#0' result data_movement(4) bytes 8 cost 0 storage 3 policy 4 tag 3 region 7 saveable{{$}}
// CHECK-NEXT: 6 'split#1' result data_movement(4) bytes 8 cost 0 storage 3 policy 4 tag 3 region 7 saveable{{$}}
// CHECK-NEXT: 7 'arith.addf.7' operation pointwise(6, 6) bytes 8 cost 2 storage 4 saveable{{$}}
// Names are told apart.
// CHECK-NEXT: 8 'mm#8' operation pointwise(2, 3) bytes 16 cost 2 storage 5 policy 2 tag 2 saveable{{$}}
// CHECK-NEXT: 9 'split#1#9' operation pointwise(8) bytes 16 cost 1 storage 6 policy 3 tag 4 saveable{{$}}
// CHECK-NEXT: 10 'arith.mulf.10' operation pointwise(5, 7) bytes 8 cost 2 storage 7 saveable{{$}}
// CHECK-NEXT: forward 3, 10, 1
// CHECK-NEXT: backward 9, 9{{$}}
func.func @values(%w: tensor<4x4xf32> {commsched.role = "parameter", commsched.name = "w"}, %x: !t
    {commsched.freeable, commsched.role = "input"}, %t: !t $tangent) -> (!t, tensor<2xf32>, !t, !t, !t)
    attributes {commsched.num_forward_outputs = 3} {
  %y = commsched.compute "aten.mm"(%x, %w, %w) {commsched.name = "mm", commsched.recompute = "must_save", commsched.partition = "forward"}
      : (!t, tensor<4x4xf32>, tensor<4x4xf32>) -> !t
  %s:2 = commsched.compute "aten.split.Tensor"(%y) {alias = 0 : i64, commsched.name = "split", commsched.recompute = "must_recompute", commsched.partition = "must_be_forward", commsched.recompute_region = 7 : i64}
      : (!t) -> (tensor<2xf32>, tensor<2xf32>)
  %a = arith.addf %s#1, %s#1 : tensor<2xf32>
  %g = commsched.compute "aten.mul.Tensor"(%t, %y) {commsched.name = "mm", commsched.recompute = "prefer_save", commsched.partition = "backward"}
      : (!t, !t) -> !t
  %h = commsched.compute "aten.neg"(%g) {commsched.name = "split#1", commsched.recompute = "prefer_recompute", commsched.partition = "must_be_backward"}
      : (!t) -> !t
  %b = arith.mulf %s#0, %a : tensor<2xf32>
  return %y, %b, %x, %h, %h : !t, tensor<2xf32>, !t, !t, !t
}

// Numbers take bytes too. What is in flight, and memory that a half makes for
// itself, cannot be handed on. What a half reads in a region, it uses.
// CHECK-LABEL: @kinds has 13 nodes
// CHECK-NEXT: 0 'arg0' primal() bytes 16 cost 0 storage 0 saveable static{{$}}
// CHECK-NEXT: 1 'arg1' primal() bytes 8 cost 0 storage -1 saveable{{$}}
// CHECK-NEXT: 2 'arg2' primal() bytes 64 cost 0 storage 1 saveable static{{$}}
// CHECK-NEXT: 3 'gather' operation collective(0) bytes 0 cost 1 storage -1{{$}}
// CHECK-NEXT: 4 'commsched.wait.4' operation collective(3) bytes 64 cost 1 storage 2 saveable{{$}}
// CHECK-NEXT: 5 'tensor.dim.5' operation constant(4, 1) bytes 8 cost 2 storage -1 saveable dimensions{{$}}
// CHECK-NEXT: 6 'arith.constant.6' operation constant() bytes 1 cost 0 storage -1 saveable{{$}}
// CHECK-NEXT: 7 'arith.constant.7' operation constant() bytes 8 cost 0 storage -1 saveable{{$}}
// CHECK-NEXT: 8 'complex.create.8' operation other(7, 7) bytes 16 cost 2 storage -1 saveable{{$}}
// CHECK-NEXT: 9 'memref.alloc.9' operation other() bytes 64 cost 0 storage 3{{$}}
// CHECK-NEXT: 10 'memref.alloc.10' operation other(1) bytes 0 cost 1 storage 4{{$}}
// CHECK-NEXT: 11 'llvm.mlir.zero.11' operation constant() bytes 0 cost 0 storage -1{{$}}
// CHECK-NEXT: 12 'scf.if.12' operation other(6, 4) bytes 64 cost 1 storage 5 saveable{{$}}
// CHECK-NEXT: forward 12, 5, 2
// CHECK-NEXT: backward{{ *$}}
func.func @kinds(%p: !t $parameter, %i: index $in, %m: memref<16xf32> {commsched.role = "unsharded_param"})
    -> (tensor<16xf32>, index, memref<16xf32>) attributes {commsched.num_forward_outputs = 3} {
  $run(%g = all_gather %p on @dp dim(0) {commsched.name = "gather"}
      : !t -> tensor<16xf32>)
  %d = tensor.dim %g, %i : tensor<16xf32>
  %c = arith.constant true
  %n = arith.constant 1.0 : f64
  %z = complex.create %n, %n : complex<f64>
  %a = memref.alloc() : memref<16xf32>
  %e = memref.alloc(%i) : memref<?xf32>
  %h = llvm.mlir.zero : !llvm.ptr
  %r = scf.if %c -> tensor<16xf32> {
    %0 = arith.addf %g, %g : tensor<16xf32>
    scf.yield %0 : tensor<16xf32>
  } else {
    scf.yield %g : tensor<16xf32>
  }
  return %r, %d, %m : tensor<16xf32>, index, memref<16xf32>
}

// Whatever touches what is written runs once, in its place: who made it, who
// wrote it, who read it before and who reads it after. The rest is free.
// CHECK-LABEL: @written has 14 nodes
// CHECK: 3 'made' {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 4 'shown' {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 5 'before' {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 6 'written' {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 7 'after' {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 8 'free' {{.*}} saveable{{$}}
// CHECK-NEXT: 9 'memory' {{.*}} storage 6 pinned{{$}}
// CHECK-NEXT: 10 'store' {{.*}} pinned{{$}}
// CHECK-NEXT: 11 'load' {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 12 'elsewhere' {{.*}} saveable{{$}}
// CHECK-NEXT: 13 'unused' {{.*}} storage 7{{$}}
// CHECK-NEXT: memory 4 -> 6
// CHECK-NEXT: memory 5 -> 6
// CHECK-NEXT: memory 6 -> 7
// CHECK-NEXT: memory 10 -> 11
// CHECK-NEXT: forward 8
func.func @written(%x: !t $in, %i: index $in, %n: memref<4xf32> {commsched.role = "unsharded_param"}) -> !t
    $joint {
  %a = commsched.compute "aten.exp"(%x) {commsched.name = "made"} : (!t) -> !t
  %v = commsched.compute "aten.view"(%a) {alias = 0 : i64, commsched.name = "shown"} : (!t) -> !t
  %b = commsched.compute "aten.neg"(%a) {commsched.name = "before"} : (!t) -> !t
  %w = commsched.compute "aten.add_.Tensor"(%v, %x) {alias = 0 : i64, mutates = array<i64: 0>, commsched.name = "written"}
      : (!t, !t) -> !t
  %r = commsched.compute "aten.neg"(%a) {commsched.name = "after"} : (!t) -> !t
  %y = commsched.compute "aten.neg"(%x) {commsched.name = "free"} : (!t) -> !t
  %m = memref.alloc() {commsched.name = "memory"} : !u
  memref.store %i, %m[%i] {commsched.name = "store"} : !u
  %l = memref.load %m[%i] {commsched.name = "load"} : !u
  %e = memref.load %n[%i] {commsched.name = "elsewhere"} : memref<4xf32>
  %u = memref.alloc() {commsched.name = "unused"} : !u
  return %y : !t
}

// Unknown code may write any memory, but no tensor.
// CHECK-LABEL: @unknown has 5 nodes
// CHECK: 1 'unknown' operation other() {{.*}} pinned{{$}}
// CHECK-NEXT: 2 'memory' {{.*}} pinned{{$}}
// CHECK-NEXT: 3 'load' {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 4 'free' {{.*}} saveable{{$}}
// CHECK-NEXT: memory 1 -> 3
func.func @unknown(%i: index $in) -> index $joint {
  "test.unknown"() {commsched.name = "unknown"} : () -> ()
  %m = memref.alloc() {commsched.name = "memory"} : !u
  %l = memref.load %m[%i] {commsched.name = "load"} : !u
  %t = tensor.empty() {commsched.name = "free"} : !t
  return %l : index
}

// Random numbers come in one order; drawn from a state that is given, they are
// the same again.
// CHECK-LABEL: @random has 7 nodes
// CHECK: 2 'first' operation random(0) {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 3 'given' operation other(1) {{.*}} saveable{{$}}
// CHECK-NEXT: 4 'second' operation random(0) {{.*}} pinned{{$}}
// The operation is pinned, not each of its results.
// CHECK-NEXT: 5 'second#0' result {{.*}} saveable{{$}}
// CHECK-NEXT: 6 'second#1' result {{.*}} saveable{{$}}
// CHECK-NEXT: memory 2 -> 4
// CHECK-NEXT: forward 2
func.func @random(%x: !t $in, %s: tensor<2xi64> {commsched.role = "rng_state"}) -> !t $joint {
  %a = commsched.compute "aten.rand_like"(%x) {random, commsched.name = "first"} : (!t) -> !t
  %b = commsched.compute "rngprims.philox_rand"(%s) {random, commsched.name = "given"} : (tensor<2xi64>) -> !t
  %c:2 = commsched.compute "aten.native_dropout"(%x) {random, commsched.name = "second"} : (!t) -> (!t, tensor<4xi1>)
  return %a : !t
}

// All ranks repeat a collective together, but not what is written in place, one
// end of a message, a barrier, or what is hidden in a region.
// CHECK-LABEL: @communication has 13 nodes
// CHECK: 2 'reduce' operation collective(0) {{.*}}-1{{$}}
// CHECK-NEXT: 3 'reduced' operation collective(2) {{.*}} saveable{{$}}
// CHECK-NEXT: 4 'buffer' {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 5 'into' operation collective(0, 4) {{.*}} pinned{{$}}
// CHECK-NEXT: 6 'gathered' operation collective(5) {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 7 'send' {{.*}} pinned{{$}}
// CHECK-NEXT: 8 'sent' {{.*}} pinned{{$}}
// CHECK-NEXT: 9 'recv' {{.*}} pinned{{$}}
// CHECK-NEXT: 10 'received' {{.*}} saveable pinned{{$}}
// CHECK-NEXT: 11 'barrier' {{.*}} pinned{{$}}
// CHECK-NEXT: 12 'if' operation collective(1) {{.*}} pinned{{$}}
// CHECK-NEXT: memory 5 -> 6
// CHECK-NEXT: forward 3
func.func @communication(%x: !t $in, %c: i1 $in) -> !t $joint {
  %0 = commsched.all_reduce %x on @dp reduction(sum) {commsched.name = "reduce"}
      : !t -> !commsched.future<!t>
  %r = commsched.wait %0 {commsched.name = "reduced"} : !commsched.future<!t>
  %b = tensor.empty() {commsched.name = "buffer"} : tensor<16xf32>
  %1 = commsched.all_gather %x on @dp dim(0) into %b {commsched.name = "into"}
      : !t into tensor<16xf32> -> !commsched.future<tensor<16xf32>>
  %g = commsched.wait %1 {commsched.name = "gathered"} : !commsched.future<tensor<16xf32>>
  %2 = commsched.send %x on @dp to(1) {commsched.name = "send"} : !t -> !commsched.future
  commsched.wait %2 {commsched.name = "sent"} : !commsched.future
  %3 = commsched.recv on @dp from(1) {commsched.name = "recv"} : !commsched.future<!t>
  %v = commsched.wait %3 {commsched.name = "received"} : !commsched.future<!t>
  commsched.barrier on @dp {commsched.name = "barrier"}
  scf.if %c {
    commsched.barrier on @dp
  } {commsched.name = "if"}
  return %r : !t
}

// CHECK-LABEL: @declared_forward is not a joint function
func.func private @declared_forward()

// Half of a partition is none: it has marks of one kind.
// CHECK-LABEL: @forward is not a joint function
func.func @forward(%x: !t $in) -> !t {
  %y = commsched.compute "aten.neg"(%x) {commsched.partition = "forward"} : (!t) -> !t
  return %y : !t
}

// CHECK-LABEL: @plain is not a joint function
func.func @plain(%x: !t $in) {
  return
}
