// RUN: %rows %s | commsched-opt --test-commsched-annotate-fsdp %remarks -o /dev/null 2>&1 \
// RUN:   | FileCheck %s

// A collective is told why it is not one of FSDP if its group gathers
// parameters anywhere in the function; of other groups nothing is expected.

commsched.group @dp size(4)
commsched.group @tp size(2)

// CHECK: [Analysis] FsdpFound | Category:commsched | Function=groups
// CHECK-SAME: GradientReduces=0, GradientScatters=0, ParameterGathers=1
// CHECK: [Missed] NotFsdp | Category:commsched | Function=groups
// CHECK-SAME: 'loss': reduces what no gradient scatter gives
// CHECK-NOT: NotFsdp
func.func @groups(%p: tensor<4xf32> {commsched.role = "parameter"},
                  %x: tensor<4xf32> {commsched.role = "input"}, %c: i1) {
  $run(%w0 = all_reduce %x on @dp reduction(sum) {commsched.name = "loss"} : tensor<4xf32> -> tensor<4xf32>)
  $run(%w1 = all_gather %x on @tp dim(0) {commsched.name = "activation"} : tensor<4xf32> -> tensor<8xf32>)
  scf.if %c {
    $run(%w2 = all_gather %p on @dp dim(0) : tensor<4xf32> -> tensor<16xf32>)
  }
  return
}

// CHECK-NOT: Function=none
func.func @none(%x: tensor<4xf32>) {
  return
}
