// RUN: commsched-opt %s --test-commsched-annotate-fsdp \
// RUN:   --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Inside regions, and around them. A block knows the function's arguments and
// constants, and nothing else that is defined around it.

commsched.group @g size(4)

// CHECK-LABEL: func.func @loop(
// CHECK: all_gather {{.*}}fsdp = "parameter_gather", commsched.name = "layer"
// CHECK: all_gather {{.*}}fsdp = "parameter_gather", commsched.name = "padded"
// CHECK-NOT: commsched.fsdp
// CHECK: return
// REMARK-LABEL: Function=loop
// REMARK: 'outside': gathers a value from outside of its block
// REMARK: 'carried': gathers a value from outside of its block
// REMARK: 'scattered': what it scatters goes to scf.yield
// REMARK-NOT: NotFsdp
func.func @loop(%p: tensor<3x4xf32> {commsched.role = "parameter"},
                %a: tensor<16xf32>, %n: index)
    -> tensor<4xf32> {
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %cast = arith.truncf %p : tensor<3x4xf32> to tensor<3x4xbf16>
  %r = scf.for %i = %n to %n step %n iter_args(%it = %zeros)
      -> tensor<4xf32> {
    %layer = tensor.extract_slice %p[%i, 0] [1, 4] [1, 1]
        : tensor<3x4xf32> to tensor<4xf32>
    %f0 = commsched.all_gather %layer on @g dim(0) {commsched.name = "layer"}
        : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
    %w0 = commsched.wait %f0 : !commsched.future<tensor<16xf32>>
    %padded = tensor.concat dim(0) %layer, %zeros
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %f1 = commsched.all_gather %padded on @g dim(0) {commsched.name = "padded"}
        : tensor<8xf32> -> !commsched.future<tensor<32xf32>>
    %w1 = commsched.wait %f1 : !commsched.future<tensor<32xf32>>
    %f2 = commsched.all_gather %cast on @g dim(0) {commsched.name = "outside"}
        : tensor<3x4xbf16> -> !commsched.future<tensor<12x4xbf16>>
    %w2 = commsched.wait %f2 : !commsched.future<tensor<12x4xbf16>>
    %f3 = commsched.all_gather %it on @g dim(0) {commsched.name = "carried"}
        : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
    %w3 = commsched.wait %f3 : !commsched.future<tensor<16xf32>>
    %f4 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
        {commsched.name = "scattered"}
        : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
    %w4 = commsched.wait %f4 : !commsched.future<tensor<4xf32>>
    scf.yield %w4 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// An operation that holds a region moves data if the region computes nothing
// but numbers; what the region uses counts.
// CHECK-LABEL: func.func @held(
// CHECK: all_gather {{.*}}fsdp = "parameter_gather", commsched.name = "carried_on"
// CHECK-NOT: commsched.fsdp
// CHECK: return
// REMARK-LABEL: Function=held
// REMARK: 'computed': gathers what scf.if 'computes' makes
// REMARK: 'either': gathers what scf.if 'selects' makes
// REMARK: 'captured': what it scatters goes to tensor.generate
// REMARK: 'branched': what it scatters goes to scf.if
// REMARK: 'inner': reduces what no gradient scatter gives
// REMARK: 'also_branched': what it scatters goes to scf.if
// REMARK: 'dead': reduces what no gradient scatter gives
// REMARK-NOT: NotFsdp
func.func @held(%p: tensor<4xf32> {commsched.role = "parameter"},
                %q: tensor<4xf32> {commsched.role = "parameter"},
                %a: tensor<16xf32>, %c: i1, %n: index)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %carried = scf.for %i = %n to %n step %n iter_args(%it = %p)
      -> tensor<4xf32> {
    scf.yield %it : tensor<4xf32>
  }
  %f0 = commsched.all_gather %carried on @g dim(0)
      {commsched.name = "carried_on"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %w0 = commsched.wait %f0 : !commsched.future<tensor<16xf32>>

  %computed = scf.if %c -> tensor<4xf32> {
    %mm = commsched.compute "mm"(%p) {flops = 1.0e9}
        : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %mm : tensor<4xf32>
  } else {
    scf.yield %p : tensor<4xf32>
  } {commsched.name = "computes"}
  %f1 = commsched.all_gather %computed on @g dim(0)
      {commsched.name = "computed"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<16xf32>>

  %either = scf.if %c -> tensor<4xf32> {
    scf.yield %q : tensor<4xf32>
  } else {
    scf.yield %p : tensor<4xf32>
  } {commsched.name = "selects"}
  %f2 = commsched.all_gather %either on @g dim(0) {commsched.name = "either"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<16xf32>>

  %f3 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "captured"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<4xf32>>
  %generated = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.extract %w3[%i] : tensor<4xf32>
    %o = tensor.extract %p[%i] : tensor<4xf32>
    %s = arith.addf %e, %o : f32
    tensor.yield %s : f32
  } : tensor<4xf32>

  %f4 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "branched"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w4 = commsched.wait %f4 : !commsched.future<tensor<4xf32>>
  %branch = scf.if %c -> tensor<4xf32> {
    %f5 = commsched.all_reduce %w4 on @g reduction(sum)
        {commsched.name = "inner"}
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %w5 = commsched.wait %f5 : !commsched.future<tensor<4xf32>>
    scf.yield %w5 : tensor<4xf32>
  } else {
    scf.yield %p : tensor<4xf32>
  }

  %f6 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "also_branched"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w6 = commsched.wait %f6 : !commsched.future<tensor<4xf32>>
  scf.if %c {
    %f7 = commsched.all_reduce %w6 on @g reduction(sum)
        {commsched.name = "dead"}
        : tensor<4xf32> -> !commsched.future<tensor<4xf32>>
    %w7 = commsched.wait %f7 : !commsched.future<tensor<4xf32>>
  }
  return %generated, %branch, %w6
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Blocks after the first: their arguments are anything, and what goes to
// another block does not leave the function.
// CHECK-LABEL: func.func @blocks(
// CHECK: reduce_scatter %{{[^ ]*}} on @g reduction(avg) dim(0) {commsched.name = "first"}
// CHECK: ^bb1
// CHECK: all_gather {{.*}}fsdp = "parameter_gather", commsched.name = "argument"
// CHECK: all_gather %{{[^ ]*}} on @g dim(0) {commsched.name = "passed_on"}
// CHECK: reduce_scatter {{.*}}fsdp = "gradient_scatter", commsched.name = "last"
// REMARK-LABEL: Function=blocks
// REMARK: 'first': what it scatters goes to func.return
// REMARK: 'passed_on': gathers a value from outside of its block
func.func @blocks(%p: tensor<4xf32> {commsched.role = "parameter"},
                  %a: tensor<16xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %f0 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "first"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w0 = commsched.wait %f0 : !commsched.future<tensor<4xf32>>
  cf.br ^bb1(%p : tensor<4xf32>)
^bb1(%b: tensor<4xf32>):
  %f1 = commsched.all_gather %p on @g dim(0) {commsched.name = "argument"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<16xf32>>
  %f2 = commsched.all_gather %b on @g dim(0) {commsched.name = "passed_on"}
      : tensor<4xf32> -> !commsched.future<tensor<16xf32>>
  %w2 = commsched.wait %f2 : !commsched.future<tensor<16xf32>>
  %f3 = commsched.reduce_scatter %a on @g reduction(avg) dim(0)
      {commsched.name = "last"}
      : tensor<16xf32> -> !commsched.future<tensor<4xf32>>
  %w3 = commsched.wait %f3 : !commsched.future<tensor<4xf32>>
  return %w0, %w3 : tensor<4xf32>, tensor<4xf32>
}
