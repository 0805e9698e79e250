// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --test-commsched-annotate-fsdp --allow-unregistered-dialect %remarks 2>%t.remarks \
// RUN:   | grep "fsdp = " | not grep -vE 'commsched.fsdp = ("[a-z_]+").* test.fsdp = \1'
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Inside regions, and around them. A block knows the function's arguments and
// constants, and nothing else that is defined around it.

!part = tensor<4xf32>
!whole = tensor<16xf32>
!future = !commsched.future<!whole>
commsched.group @g size(4)

// REMARK-LABEL: Function=loop
// REMARK: 'outside': gathers a value from outside of its block
// REMARK: 'carried': gathers a value from outside of its block
// REMARK: 'scattered': what it scatters goes to scf.yield
// REMARK-NOT: NotFsdp
func.func @loop(%p: tensor<3x4xf32> $parameter, %a: !whole, %n: index) -> !part {
  %zeros = arith.constant dense<0.0> : !part
  %cast = arith.truncf %p : tensor<3x4xf32> to tensor<3x4xbf16>
  %r = scf.for %i = %n to %n step %n iter_args(%it = %zeros) -> !part {
    %layer = tensor.extract_slice %p[%i, 0] [1, 4] [1, 1] : tensor<3x4xf32> to !part
    $run(%w0 = all_gather %layer on @g dim(0) {commsched.name = "layer", test.fsdp = "parameter_gather"} : !part -> !whole)
    %padded = tensor.concat dim(0) %layer, %zeros : (!part, !part) -> tensor<8xf32>
    $run(%w1 = all_gather %padded on @g dim(0) {commsched.name = "padded", test.fsdp = "parameter_gather"} : tensor<8xf32> -> tensor<32xf32>)
    $run(%w2 = all_gather %cast on @g dim(0) {commsched.name = "outside"} : tensor<3x4xbf16> -> tensor<12x4xbf16>)
    $run(%w3 = all_gather %it on @g dim(0) {commsched.name = "carried"} : !part -> !whole)
    $run(%w4 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "scattered"} : !whole -> !part)
    scf.yield %w4 : !part
  }
  return %r : !part
}

// An operation that holds a region moves data if the region computes nothing
// but numbers; what the region uses counts.
// REMARK-LABEL: Function=held
// REMARK: 'computed': gathers what scf.if 'computes' makes
// REMARK: 'either': gathers what scf.if 'selects' makes
// REMARK: 'captured': what it scatters goes to tensor.generate
// REMARK: 'branched': what it scatters goes to scf.if
// REMARK: 'inner': reduces what no gradient scatter gives
// REMARK: 'also_branched': what it scatters goes to scf.if
// REMARK: 'dead': reduces what no gradient scatter gives
// REMARK-NOT: NotFsdp
func.func @held(%p: !part $parameter, %q: !part $parameter, %a: !whole, %c: i1, %n: index) -> (!part, !part,
    !part) {
  %carried = scf.for %i = %n to %n step %n iter_args(%it = %p) -> !part {
    scf.yield %it : !part
  }
  $run(%w0 = all_gather %carried on @g dim(0) {commsched.name = "carried_on", test.fsdp = "parameter_gather"} : !part -> !whole)

  %computed = scf.if %c -> !part {
    %mm = commsched.compute "mm"(%p) {flops = 1.0e9} : (!part) -> !part
    scf.yield %mm : !part
  } else {
    scf.yield %p : !part
  } {commsched.name = "computes"}
  $run(%w1 = all_gather %computed on @g dim(0) {commsched.name = "computed"} : !part -> !whole)

  %either = scf.if %c -> !part {
    scf.yield %q : !part
  } else {
    scf.yield %p : !part
  } {commsched.name = "selects"}
  $run(%w2 = all_gather %either on @g dim(0) {commsched.name = "either"} : !part -> !whole)

  $run(%w3 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "captured"} : !whole -> !part)
  %generated = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.extract %w3[%i] : !part
    %o = tensor.extract %p[%i] : !part
    %s = arith.addf %e, %o : f32
    tensor.yield %s : f32
  } : !part

  $run(%w4 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "branched"} : !whole -> !part)
  %branch = scf.if %c -> !part {
    $run(%w5 = all_reduce %w4 on @g reduction(sum) {commsched.name = "inner"} : !part -> !part)
    scf.yield %w5 : !part
  } else {
    scf.yield %p : !part
  }

  $run(%w6 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "also_branched"} : !whole -> !part)
  scf.if %c {
    $run(%w7 = all_reduce %w6 on @g reduction(sum) {commsched.name = "dead"} : !part -> !part)
  }
  return %generated, %branch, %w6 : !part, !part, !part
}

// Blocks after the first: their arguments are anything, and what goes to
// another block does not leave the function.
// REMARK-LABEL: Function=blocks
// REMARK: 'first': what it scatters goes to func.return
// REMARK: 'passed_on': gathers a value from outside of its block
func.func @blocks(%p: !part $parameter, %a: !whole) -> (!part, !part) {
  $run(%w0 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "first"} : !whole -> !part)
  cf.br ^bb1(%p : !part)
^bb1(%b: !part):
  $run(%w1 = all_gather %p on @g dim(0) {commsched.name = "argument", test.fsdp = "parameter_gather"} : !part -> !whole)
  $run(%w2 = all_gather %b on @g dim(0) {commsched.name = "passed_on"} : !part -> !whole)
  $run(%w3 = reduce_scatter %a on @g reduction(avg) dim(0) {commsched.name = "last", test.fsdp = "gradient_scatter"} : !whole -> !part)
  return %w0, %w3 : !part, !part
}
