// RUN: commsched-opt %s --commsched-pipeline-loops=memory-budget=30%% --remarks-filter=commsched 2>&1 | FileCheck %s
// RUN: commsched-opt %s --commsched-pipeline-loops=memory-budget=0%% | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/^ *scf.yield .z/commsched.compute "add_"(%w) {mutates = array<i64: 0>} : (tensor<4xf32>) -> ()\n&/' %s \
// RUN:   | commsched-opt --commsched-pipeline-loops=memory-budget=30%% | FileCheck %s --check-prefix=KEPT

// What no iteration of either loop changes is gathered once, if the memory is there
// and nothing writes what is sent.

// CHECK: GathersHoisted | {{.*}}1 in 8 ns, of which 64 bytes stay; the iterations take 24 ns instead of 35"
// CHECK: commsched.compute "cast"
// CHECK-NEXT: commsched.all_gather
// CHECK-NEXT: commsched.wait
// CHECK: scf.for
// CHECK-NOT: commsched.wait
// KEPT: scf.for
// KEPT: commsched.wait
commsched.group @g size(4)
func.func @nest(%x: tensor<64xf32>, %w: tensor<4xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<64xf32> {
    %s = scf.for %j = %c0 to %c4 step %c1 iter_args(%b = %a) -> tensor<64xf32> {
      %v = commsched.compute "cast"(%w) {commsched.runtime_ns = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
      %f = commsched.all_gather %v on @g dim(0) {commsched.runtime_ns = 7 : i64} : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
      %g = commsched.wait %f : !commsched.future<tensor<16xf32>>
      %y = commsched.compute "mm"(%b, %g) {commsched.runtime_ns = 5 : i64} : (tensor<64xf32>, tensor<16xf32>) -> tensor<64xf32>
      %u = commsched.compute "up"(%y) {commsched.runtime_ns = 1 : i64} : (tensor<64xf32>) -> tensor<256xf32>
      %z = commsched.compute "down"(%u) {commsched.runtime_ns = 0 : i64} : (tensor<256xf32>) -> tensor<64xf32>
      scf.yield %z : tensor<64xf32>
    }
    scf.yield %s : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}
