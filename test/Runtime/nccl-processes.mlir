// Processes of a launcher find each other and make the same calls in one order,
// each with its own rank. The stand-in takes the data of the other for granted.
// REQUIRES: nccl, mpi
// RUN: rm -f %t
// RUN: env "COMMSCHED_STANDIN=alone;log=%t" \
// RUN:   %python %S/Inputs/nccl_ranks.py --standins=%standins -- \
// RUN:   %mpirun -n 2 commsched-run %s --backend=nccl | FileCheck %s
// RUN: grep '^nccl' %t | sort | uniq -c | FileCheck %s --check-prefix=CALLS

// CHECK: @step on 2 ranks, backend nccl
// CHECK: all_gather_0 {{.*}} 1.000 us
// CHECK: all_reduce_1 {{.*}} 1.000 us

// CALLS: 2 ncclAllGather(m1, m2, 8, f32, c1, s1)
// CALLS: 2 ncclAllReduce(m3, m2, 16, f32, sum, c1, s1)
// CALLS: 1 ncclCommInitRankConfig(0 of 2, blocking 0)
// CALLS-NEXT: 1 ncclCommInitRankConfig(1 of 2, blocking 0)
// CALLS-NEXT: 1 ncclCommSplit(c0, 0, 0)
// CALLS-NEXT: 1 ncclCommSplit(c0, 0, 1)
// CALLS-NEXT: 1 ncclGetUniqueId(launch order 1)

commsched.group @dp size(2)
func.func @step(%x: tensor<8xf32>) -> tensor<16xf32> {
  %f = commsched.all_gather %x on @dp dim(0) : tensor<8xf32> -> !commsched.future<tensor<16xf32>>
  %g = commsched.wait %f : !commsched.future<tensor<16xf32>>
  %y = commsched.compute "mm"(%g) {flops = 1.0e9 : f64} : (tensor<16xf32>) -> tensor<16xf32>
  %h = commsched.all_reduce %y on @dp reduction(sum) : tensor<16xf32> -> !commsched.future<tensor<16xf32>>
  %z = commsched.wait %h : !commsched.future<tensor<16xf32>>
  return %z : tensor<16xf32>
}
