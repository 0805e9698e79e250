// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null | FileCheck %s

// Values of dynamic size have the costs and the storage that their hints give;
// report-declined.mlir has those without hints.
// Each function counts what it would with static sizes in their place.

commsched.group @g size(4)

// CHECK: {"function":"static"
// CHECK-SAME: "comm_bytes":4096,"step_time_ns":[[STEP:[0-9]+]],"compute_time_ns":[[COMPUTE:[0-9]+]],"comm_time_ns":[[COMM:[0-9]+]]
// CHECK-SAME: "peak_memory_bytes":[[PEAK:[0-9]+]]
func.func @static(%x: tensor<1024xf32>, %m: tensor<64x32xf32>,
                  %n: tensor<32x16xf32>) -> tensor<1024xf32> {
  %f = commsched.all_reduce %x on @g reduction(sum)
      : tensor<1024xf32> -> !commsched.future<tensor<1024xf32>>
  %e = tensor.empty() : tensor<64x16xf32>
  %p = linalg.matmul ins(%m, %n : tensor<64x32xf32>, tensor<32x16xf32>)
      outs(%e : tensor<64x16xf32>) -> tensor<64x16xf32>
  %w = commsched.wait %f : !commsched.future<tensor<1024xf32>>
  %a = commsched.compute "a"(%w, %p) : (tensor<1024xf32>, tensor<64x16xf32>) -> tensor<1024xf32>
  return %a : tensor<1024xf32>
}

// The wait takes the hints of its start.
// CHECK: {"function":"dynamic"
// CHECK-SAME: "comm_bytes":4096,"step_time_ns":[[STEP]],"compute_time_ns":[[COMPUTE]],"comm_time_ns":[[COMM]]
// CHECK-SAME: "peak_memory_bytes":[[PEAK]]
func.func @dynamic(%x: tensor<?xf32> {commsched.size_hints = array<i64: 1024>},
                   %m: tensor<?x?xf32> {commsched.size_hints = array<i64: 64, 32>},
                   %n: tensor<32x?xf32> {commsched.size_hints = array<i64: 16>},
                   %rows: index, %columns: index) -> tensor<?xf32> {
  %f = commsched.all_reduce %x on @g reduction(sum) {commsched.size_hints = array<i64: 1024>}
      : tensor<?xf32> -> !commsched.future<tensor<?xf32>>
  %e = tensor.empty(%rows, %columns) {commsched.size_hints = array<i64: 64, 16>} : tensor<?x?xf32>
  %p = linalg.matmul {commsched.size_hints = array<i64: 64, 16>}
      ins(%m, %n : tensor<?x?xf32>, tensor<32x?xf32>)
      outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %w = commsched.wait %f : !commsched.future<tensor<?xf32>>
  %a = commsched.compute "a"(%w, %p) {commsched.size_hints = array<i64: 1024>}
      : (tensor<?xf32>, tensor<?x?xf32>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}

// A gather of 4 ranks delivers what its own hints say. The second of two
// results has the last hint.
// CHECK: {"function":"results"{{.*}}"comm_bytes":4096,{{.*}}"peak_memory_bytes":5932,
func.func @results(%x: tensor<?xf32> {commsched.size_hints = array<i64: 256>})
    -> (tensor<?x2xi8>, tensor<?xi8>) {
  %f = commsched.all_gather %x on @g dim(0) {commsched.size_hints = array<i64: 1024>}
      : tensor<?xf32> -> !commsched.future<tensor<?xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<?xf32>>
  %a:2 = commsched.compute "a"(%w) {commsched.size_hints = array<i64: 400, 12>}
      : (tensor<?xf32>) -> (tensor<?x2xi8>, tensor<?xi8>)
  return %a#0, %a#1 : tensor<?x2xi8>, tensor<?xi8>
}

// What a loop carries is as large as its result.
// CHECK: {"function":"loop"{{.*}}"step_time_ns":{{[1-9]}}
func.func @loop(%x: tensor<?xf32> {commsched.size_hints = array<i64: 256>}) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %x) -> tensor<?xf32> {
    %a = commsched.compute "a"(%v) {commsched.size_hints = array<i64: 256>}
        : (tensor<?xf32>) -> tensor<?xf32>
    scf.yield %a : tensor<?xf32>
  } {commsched.size_hints = array<i64: 256>}
  return %r : tensor<?xf32>
}
