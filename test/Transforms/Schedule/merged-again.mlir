// RUN: commsched-opt %s --commsched-pipeline=memory-budget=5%% --remarks-filter=commsched \
// RUN:   --commsched-report="format=json output=%t.first" -o %t.mlir 2>&1 | FileCheck %s
// RUN: commsched-opt %t.mlir --commsched-pipeline=memory-budget=5%% \
// RUN:   --commsched-report="format=json output=%t.second" -o /dev/null
// RUN: grep -o '"step_time_ns":[0-9]*' %t.first > %t.times
// RUN: grep -o '"step_time_ns":[0-9]*' %t.second | diff %t.times -

// Behind merged collectives other orders of the computation are shorter, and
// other loops overlap. The remark says what the step takes, and a second run
// gains nothing.

// CHECK: BlockScheduled {{.*}}StepNsAfter=967, StepNsBefore=1357

commsched.group @shard size(4)
commsched.group @replica size(4) stride(4)
func.func @loop(%x: tensor<64xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index %c1 = arith.constant 1 : index %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%v = %x) -> tensor<64xf32> {
    %a = commsched.all_reduce %x on @shard reduction(sum) {commsched.runtime_ns = 500 : i64} : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
    %b = commsched.all_reduce %x on @shard reduction(sum) : tensor<64xf32> -> !commsched.future<tensor<64xf32>>
    %c = commsched.all_gather %v on @shard dim(0) {commsched.runtime_ns = 500 : i64} : tensor<64xf32> -> !commsched.future<tensor<256xf32>>
    %d = commsched.wait %b : !commsched.future<tensor<64xf32>>
    %u = commsched.compute "op"(%d, %v) {commsched.runtime_ns = 500 : i64} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %e = commsched.wait %a : !commsched.future<tensor<64xf32>> %h = commsched.wait %c : !commsched.future<tensor<256xf32>>
    %y = commsched.compute "op"(%h) {commsched.runtime_ns = 2000 : i64} : (tensor<256xf32>) -> tensor<64xf32> scf.yield %y : tensor<64xf32>
  }
  return %r : tensor<64xf32>
}
func.func @tangled_17(%a0: tensor<1216xf32>, %a1: tensor<896xf32>, %a2: tensor<256xf32>, %a3: tensor<512xf32>, %a4: tensor<448xf32>) -> (tensor<64xf32>) {
  %1 = commsched.all_gather %a0 on @replica dim(0) {commsched.runtime_ns = 78 : i64} : tensor<1216xf32> -> !commsched.future<tensor<4864xf32>>
  %3 = commsched.all_gather %a1 on @replica dim(0) {commsched.runtime_ns = 166 : i64} : tensor<896xf32> -> !commsched.future<tensor<3584xf32>>
  %4 = commsched.wait %3 : !commsched.future<tensor<3584xf32>>
  %5 = commsched.compute "op"(%a1, %a4) {commsched.runtime_ns = 66 : i64} : (tensor<896xf32>, tensor<448xf32>) -> (tensor<1344xf32>)
  %6 = commsched.compute "op"(%4, %a4) {commsched.runtime_ns = 52 : i64} : (tensor<3584xf32>, tensor<448xf32>) -> (tensor<576xf32>)
  %2 = commsched.wait %1 : !commsched.future<tensor<4864xf32>>
  %7 = commsched.compute "op"(%a4, %5) {commsched.runtime_ns = 30 : i64} : (tensor<448xf32>, tensor<1344xf32>) -> (tensor<1216xf32>)
  %8 = commsched.all_reduce %2 on @shard reduction(sum) {commsched.runtime_ns = 86 : i64} : tensor<4864xf32> -> !commsched.future<tensor<4864xf32>>
  %10 = commsched.all_gather %6 on @shard dim(0) {commsched.runtime_ns = 154 : i64} : tensor<576xf32> -> !commsched.future<tensor<2304xf32>>
  %12 = commsched.compute "op"(%7, %5) {commsched.runtime_ns = 48 : i64} : (tensor<1216xf32>, tensor<1344xf32>) -> (tensor<896xf32>)
  %9 = commsched.wait %8 : !commsched.future<tensor<4864xf32>>
  %13 = commsched.all_reduce %7 on @shard reduction(sum) {commsched.runtime_ns = 129 : i64} : tensor<1216xf32> -> !commsched.future<tensor<1216xf32>>
  %11 = commsched.wait %10 : !commsched.future<tensor<2304xf32>>
  %15 = commsched.all_reduce %12 on @replica reduction(sum) {commsched.runtime_ns = 93 : i64} : tensor<896xf32> -> !commsched.future<tensor<896xf32>>
  %14 = commsched.wait %13 : !commsched.future<tensor<1216xf32>>
  %17 = commsched.all_reduce %9 on @shard reduction(sum) {commsched.runtime_ns = 178 : i64} : tensor<4864xf32> -> !commsched.future<tensor<4864xf32>>
  %16 = commsched.wait %15 : !commsched.future<tensor<896xf32>>
  %19 = commsched.compute "op"(%14, %16) {commsched.runtime_ns = 41 : i64} : (tensor<1216xf32>, tensor<896xf32>) -> (tensor<1536xf32>)
  %20 = commsched.compute "op"(%11) {commsched.runtime_ns = 88 : i64} : (tensor<2304xf32>) -> (tensor<640xf32>)
  %18 = commsched.wait %17 : !commsched.future<tensor<4864xf32>>
  %21 = commsched.reduce_scatter %19 on @shard reduction(sum) dim(0) {commsched.runtime_ns = 71 : i64} : tensor<1536xf32> -> !commsched.future<tensor<384xf32>>
  %23 = commsched.compute "op"(%20, %18) {commsched.runtime_ns = 68 : i64} : (tensor<640xf32>, tensor<4864xf32>) -> (tensor<704xf32>)
  %22 = commsched.wait %21 : !commsched.future<tensor<384xf32>>
  %24 = commsched.all_gather %22 on @shard dim(0) {commsched.runtime_ns = 66 : i64} : tensor<384xf32> -> !commsched.future<tensor<1536xf32>>
  %26 = commsched.all_gather %23 on @shard dim(0) {commsched.runtime_ns = 122 : i64} : tensor<704xf32> -> !commsched.future<tensor<2816xf32>>
  %27 = commsched.wait %26 : !commsched.future<tensor<2816xf32>>
  %28 = commsched.reduce_scatter %18 on @shard reduction(sum) dim(0) {commsched.runtime_ns = 158 : i64} : tensor<4864xf32> -> !commsched.future<tensor<1216xf32>>
  %30 = commsched.compute "op"(%27, %22) {commsched.runtime_ns = 80 : i64} : (tensor<2816xf32>, tensor<384xf32>) -> (tensor<640xf32>)
  %31 = commsched.compute "op"(%23, %30) {commsched.runtime_ns = 49 : i64} : (tensor<704xf32>, tensor<640xf32>) -> (tensor<832xf32>)
  %25 = commsched.wait %24 : !commsched.future<tensor<1536xf32>>
  %29 = commsched.wait %28 : !commsched.future<tensor<1216xf32>>
  %32 = commsched.compute "op"(%31, %25, %29) {commsched.runtime_ns = 1 : i64} : (tensor<832xf32>, tensor<1536xf32>, tensor<1216xf32>) -> (tensor<64xf32>)
  return %32 : tensor<64xf32>
}

// A schedule for less memory that takes more than that may become longer to take
// less, and is then what it was: for the budget at hand, that is the better one.

// CHECK: BlockScheduled | {{.*}}Function=longer_to_fit {{.*}}StepNsAfter=129, StepNsBefore=133
func.func private @other(tensor<8xf32>) -> tensor<8xf32>
func.func private @pure(tensor<8xf32>) -> tensor<8xf32>
func.func @longer_to_fit(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %f = commsched.all_reduce %x on @shard reduction(sum) {commsched.runtime_ns = 60 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %w = commsched.wait %f : !commsched.future<tensor<8xf32>>
  %h = call @other(%x) {commsched.runtime_ns = 4 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %k = call @pure(%x) {commsched.pure, commsched.runtime_ns = 4 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %g = commsched.all_reduce %h on @shard reduction(sum) {commsched.runtime_ns = 60 : i64} : tensor<8xf32> -> !commsched.future<tensor<8xf32>>
  %v = commsched.wait %g : !commsched.future<tensor<8xf32>>
  %u = commsched.compute "add"(%w, %v) {commsched.runtime_ns = 5 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %u, %k : tensor<8xf32>, tensor<8xf32>
}
