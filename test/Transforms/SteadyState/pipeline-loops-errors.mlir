// RUN: commsched-opt %s --commsched-pipeline-loops --remarks-filter=commsched \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=AssumedTime
// RUN: %fails commsched-opt %s --commsched-pipeline-loops=max-depth=0 "option 'max-depth' of pass 'commsched-pipeline-loops' must be from 1 to 8, but is 0"
// RUN: %fails commsched-opt %s --commsched-pipeline-loops=memory-budget=x "option 'memory-budget' of pass 'commsched-pipeline-loops'"
// RUN: %fails commsched-opt %s --commsched-pipeline-loops=unroll=1025 "option 'unroll' of pass 'commsched-pipeline-loops' must be from 0 to 1024, but is 1025"


commsched.group @dp size(8)

func.func @unpriced(%x: tensor<8xf32>, %stacked: tensor<4x8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<8xf32> {
    %f = commsched.all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
    %r = commsched.wait %f : !commsched.future<tensor<8xf32>>
    // What is not known of one iteration is said once.
    // CHECK: [[@LINE+2]]:10: remark: [Analysis] AssumedTime {{.*}}f is assumed to take 1000 ns
    // CHECK: [[@LINE+1]]:10: remark: [Analysis] AssumedSize
    %b = commsched.compute "f"(%r) : (tensor<8xf32>) -> tensor<?xf32>
    %c = commsched.compute "g"(%b) {commsched.runtime_ns = 5 : i64} : (tensor<?xf32>) -> tensor<8xf32>
    scf.yield %c : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}
