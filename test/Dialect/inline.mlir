// RUN: commsched-opt %s --inline | FileCheck %s

// A function that communicates is inlined like any other, unless it fixes the order
// of its collectives: the numbers hold in one block, and two calls would clash.

commsched.group @dp size(4)

func.func private @gather(%shard: tensor<8xf32>) -> tensor<32xf32> {
  %future = commsched.all_gather %shard on @dp dim(0) : tensor<8xf32> -> !commsched.future<tensor<32xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<32xf32>>
  return %full : tensor<32xf32>
}

func.func private @ordered(%shard: tensor<8xf32>) -> tensor<32xf32> {
  %future = commsched.all_gather %shard on @dp dim(0) {commsched.order = 0}
      : tensor<8xf32> -> !commsched.future<tensor<32xf32>>
  %full = commsched.wait %future : !commsched.future<tensor<32xf32>>
  return %full : tensor<32xf32>
}

// CHECK-LABEL: func.func @step
// CHECK-SAME:    (%[[SHARD:.*]]: tensor<8xf32>)
// CHECK-NEXT:  %[[FUTURE:.*]] = commsched.all_gather %[[SHARD]] on @dp
// CHECK-NEXT:  %[[FULL:.*]] = commsched.wait %[[FUTURE]]
// CHECK-NEXT:  commsched.compute "use"(%[[FULL]])
// CHECK-NEXT:  call @ordered(
// CHECK-NEXT:  call @ordered(
func.func @step(%shard: tensor<8xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %full = call @gather(%shard) : (tensor<8xf32>) -> tensor<32xf32>
  %y = commsched.compute "use"(%full) : (tensor<32xf32>) -> tensor<32xf32>
  %a = call @ordered(%shard) : (tensor<8xf32>) -> tensor<32xf32>
  %b = call @ordered(%shard) : (tensor<8xf32>) -> tensor<32xf32>
  return %y, %a, %b : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}
