// RUN: commsched-opt %s --commsched-pipeline-loops=memory-budget=0%% --commsched-report=format=json \
// RUN:   --remarks-filter=commsched -o /dev/null 2>&1 | FileCheck %s

// The shortest schedule of this loop, 100 ns an iteration, takes more than it says,
// as a copy of what the loop starts with stays: it gets another.

!t = tensor<256x256xf32>
!s = tensor<32x256xf32>
commsched.group @dp size(8)
commsched.group @tp size(4)

// CHECK-DAG: LoopPipelined | {{.*}}Function=partly | {{.*}}PeriodBoundNs=100, PeriodNsAfter=120, PeriodNsBefore=140,
// CHECK-DAG: {"function":"partly",{{.*}}"step_time_ns":3890,{{.*}}"peak_memory_bytes":1048576,
func.func @partly(%x: !t) -> (!t, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %first = commsched.compute "f"(%x) {commsched.runtime_ns = 50 : i64} : (!t) -> !t
  %y:2 = scf.for %i = %c0 to %c32 step %c1 iter_args(%a = %first, %l = %x) -> (!t, !t) {
    %shard = tensor.extract_slice %a[0, 0] [32, 256] [1, 1] : !t to !s
    %f = commsched.all_gather %shard on @dp dim(0) {commsched.runtime_ns = 20 : i64} : !s -> !commsched.future<!t>
    %w = commsched.wait %f : !commsched.future<!t>
    %n = commsched.compute "n"(%a) {commsched.runtime_ns = 50 : i64} : (!t) -> !t
    %r = commsched.all_reduce %a on @tp reduction(sum) {commsched.runtime_ns = 20 : i64} : !t -> !commsched.future<!t>
    %q = commsched.wait %r : !commsched.future<!t>
    %b = commsched.compute "mm"(%w, %q) {commsched.runtime_ns = 50 : i64} : (!t, !t) -> !t
    scf.yield %w, %q : !t, !t
  }
  return %y#0, %y#1 : !t, !t
}
