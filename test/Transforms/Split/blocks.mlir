// Blocks of loops and several blocks of a function are split as well; what they
// use from outside stays in use by them only.
// RUN: %rows %s | commsched-opt --commsched-schedule -o %t.mlir %remarks 2> %t.remarks
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: commsched-opt %t.mlir --commsched-schedule -o - | diff %t.mlir -
// RUN: %rows %s | commsched-opt --commsched-split -o - | FileCheck %s --check-prefix=SPLIT

commsched.group @tp size(8) ranks_per_node(8)

// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: all_gather {{.*}}"gather.chunk0"
// CHECK: "up.chunk0"
// CHECK: reduce_scatter {{.*}}"scatter.chunk0"
// CHECK: scf.yield
// SPLIT-LABEL: func.func @loop
// SPLIT: scf.for
// SPLIT: "gather.chunk1"
// SPLIT: scf.yield
func.func @loop(%x: tensor<4096x8192xbf16>, %v: tensor<8192x7168xbf16>,
                %w: tensor<7168x8192xbf16>, %n: index) -> tensor<4096x8192xbf16> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %y = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> tensor<4096x8192xbf16> {
    $run(%w1 = all_gather %a on @tp dim(0) {commsched.name = "gather"} : tensor<4096x8192xbf16> -> tensor<32768x8192xbf16>)
    %2 = commsched.compute "mm"(%w1, %v) {commsched.name = "up", flops = 3.848e12, split = "m k, k n -> m n"} : (tensor<32768x8192xbf16>, tensor<8192x7168xbf16>) -> tensor<32768x7168xbf16>
    %3 = commsched.compute "silu"(%2) {split = "a b -> a b"} : (tensor<32768x7168xbf16>) -> tensor<32768x7168xbf16>
    %4 = commsched.compute "mm"(%3, %w) {commsched.name = "down", flops = 3.848e12, split = "m k, k n -> m n"} : (tensor<32768x7168xbf16>, tensor<7168x8192xbf16>) -> tensor<32768x8192xbf16>
    $run(%w6 = reduce_scatter %4 on @tp reduction(sum) dim(0) {commsched.name = "scatter"} : tensor<32768x8192xbf16> -> tensor<4096x8192xbf16>)
    scf.yield %w6 : tensor<4096x8192xbf16>
  }
  return %y : tensor<4096x8192xbf16>
}

// REMARK: CollectiveNotSplit | {{.*}}Function=used {{.*}}'gather': not split: the block computes mm 'up', which another block uses
func.func @used(%x: tensor<4096x8192xbf16>, %v: tensor<8192x7168xbf16>) -> tensor<32768x7168xbf16> {
  $run(%w1 = all_gather %x on @tp dim(0) {commsched.name = "gather"} : tensor<4096x8192xbf16> -> tensor<32768x8192xbf16>)
  %2 = commsched.compute "mm"(%w1, %v) {commsched.name = "up", flops = 3.848e12, split = "m k, k n -> m n"} : (tensor<32768x8192xbf16>, tensor<8192x7168xbf16>) -> tensor<32768x7168xbf16>
  cf.br ^exit
^exit:
  return %2 : tensor<32768x7168xbf16>
}

// REMARK: CollectiveNotSplit | {{.*}}Function=outer {{.*}}'gather': not split: the block has scf.if, which holds collectives
func.func @outer(%c: i1, %x: tensor<4096x8192xbf16>, %v: tensor<8192x7168xbf16>) -> (tensor<32768x7168xbf16>, tensor<4096x8192xbf16>) {
  $run(%w1 = all_gather %x on @tp dim(0) {commsched.name = "gather"} : tensor<4096x8192xbf16> -> tensor<32768x8192xbf16>)
  %2 = commsched.compute "mm"(%w1, %v) {commsched.name = "up", flops = 3.848e12, split = "m k, k n -> m n"} : (tensor<32768x8192xbf16>, tensor<8192x7168xbf16>) -> tensor<32768x7168xbf16>
  %r = scf.if %c -> tensor<4096x8192xbf16> {
    $run(%w4 = all_reduce %x on @tp reduction(max) : tensor<4096x8192xbf16> -> tensor<4096x8192xbf16>)
    scf.yield %w4 : tensor<4096x8192xbf16>
  } else {
    scf.yield %x : tensor<4096x8192xbf16>
  }
  return %2, %r : tensor<32768x7168xbf16>, tensor<4096x8192xbf16>
}
