// RUN: commsched-opt %s --commsched-pipeline-loops=memory-budget=20%% -o /dev/null \
// RUN:   --remarks-filter=commsched 2>&1 | FileCheck %s

!t = tensor<64xf32>
commsched.group @g1 size(2)
commsched.group @g2 size(8)

// The loop inside takes and leaves an all-reduce in flight, which the loop around it
// would carry as well.
// CHECK: [[#@LINE + 7]]:11: remark: {{.*}}LoopPipelined
// CHECK: LoopKept {{.*}}: would take a collective that a loop in the body has in flight
func.func @nested(%x: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %all = scf.for %i = %c0 to %c10 step %c1 iter_args(%last = %x) -> !t {
    %in = scf.for %j = %c0 to %c10 step %c1 iter_args(%v = %x) -> !t {
      %a = commsched.compute "mm"(%x) {commsched.runtime_ns = 500 : i64} : (!t) -> !t
      %f0 = commsched.reduce_scatter %a on @g1 reduction(sum) dim(0) : !t -> !commsched.future<tensor<32xf32>>
      %f1 = commsched.all_reduce %a on @g2 reduction(sum) : !t -> !commsched.future<!t>
      %r1 = commsched.wait %f1 : !commsched.future<!t>
      %b = commsched.compute "use"(%r1, %x) {commsched.runtime_ns = 5000 : i64} : (!t, !t) -> !t
      %r0 = commsched.wait %f0 : !commsched.future<tensor<32xf32>>
      %c = commsched.compute "use"(%r0, %a) {commsched.runtime_ns = 500 : i64} : (tensor<32xf32>, !t) -> !t
      %f2 = commsched.all_gather %v on @g1 dim(0) {commsched.runtime_ns = 5000 : i64} : !t -> !commsched.future<tensor<128xf32>>
      %r2 = commsched.wait %f2 : !commsched.future<tensor<128xf32>>
      %d = commsched.compute "use"(%r2, %v) {commsched.runtime_ns = 500 : i64} : (tensor<128xf32>, !t) -> !t
      %e = commsched.compute "mm"(%x, %x) {commsched.runtime_ns = 10000 : i64} : (!t, !t) -> !t
      scf.yield %e : !t
    }
    %f3 = commsched.all_gather %x on @g2 dim(0) : !t -> !commsched.future<tensor<512xf32>>
    %f4 = commsched.reduce_scatter %x on @g2 reduction(sum) dim(0) {commsched.runtime_ns = 30000 : i64} : !t -> !commsched.future<tensor<8xf32>>
    %f5 = commsched.all_reduce %x on @g1 reduction(sum) {commsched.runtime_ns = 500 : i64} : !t -> !commsched.future<!t>
    %r4 = commsched.wait %f4 : !commsched.future<tensor<8xf32>>
    %r3 = commsched.wait %f3 : !commsched.future<tensor<512xf32>>
    %r5 = commsched.wait %f5 : !commsched.future<!t>
    %end = commsched.compute "end"(%x, %last) {commsched.runtime_ns = 0 : i64} : (!t, !t) -> !t
    scf.yield %end : !t
  }
  return %all : !t
}
