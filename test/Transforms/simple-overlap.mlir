// RUN: %rows %s | commsched-opt --commsched-simple-overlap %remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %orders < %t | FileCheck %s
// RUN: commsched-opt %t --commsched-simple-overlap | diff %t -

// Starts rise and waits sink where that costs nothing: neither memory, nor time,
// nor the order of collectives. A second run finds nothing to do.

!t = tensor<16xi8>
!future = !commsched.future<!t>
commsched.group @g size(4)

// What makes the operand is not taken along, cheap as it is, nor what needs the
// result.
// REMARK: Function=nothing_goes_along
// REMARK-SAME: 'ar': its start moves up by 1, limited by data dependence with cast
// REMARK: Function=nothing_goes_along
// REMARK-SAME: 'ar': its wait moves down by 1, limited by data dependence with use
// CHECK-LABEL: func.func @nothing_goes_along(
// CHECK-NEXT: // order: a cast ar b c wait use d{{$}}
func.func @nothing_goes_along(%x: !t) -> (!t, !t, !t, !t, tensor<64xi8>) {
  %a = commsched.compute "a"(%x) : (!t) -> !t
  %cast = commsched.compute "cast"(%x) : (!t) -> !t
  %b = commsched.compute "b"(%x) : (!t) -> !t
  $run(%w = all_reduce %cast on @g reduction(max) {commsched.name = "ar"} : !t -> !t)
  %c = commsched.compute "c"(%x) : (!t) -> !t
  %use = commsched.compute "use"(%w) : (!t) -> tensor<64xi8>
  %d = commsched.compute "d"(%x) : (!t) -> !t
  return %a, %b, %c, %d, %use : !t, !t, !t, !t, tensor<64xi8>
}

// Each block by itself, within its own peak.
// REMARK: Function=blocks
// REMARK-SAME: its start moves up by 1, limited by memory: passing large takes 80 bytes of 64
// REMARK: Function=blocks
// REMARK: Function=blocks
// REMARK-SAME: its start moves up by 2, limited by nothing
// CHECK-LABEL: func.func @blocks({{.*}}-> tensor<16xi8>
// CHECK-NEXT: // order: scf.if { large all_reduce small wait scf.yield } else { all_reduce large small wait scf.yield }{{$}}
func.func @blocks(%x: !t, %c: i1) -> !t {
  %r = scf.if %c -> !t {
    %large = commsched.compute "large"() : () -> tensor<64xi8>
    %small = commsched.compute "small"() : () -> !t
    $run(%w = all_reduce %x on @g reduction(max) : !t -> !t)
    scf.yield %w : !t
  } else {
    %large = commsched.compute "large"() : () -> tensor<64xi8>
    %small = commsched.compute "small"() : () -> !t
    $run(%w = all_reduce %x on @g reduction(max) into %x : !t into !t -> !t)
    scf.yield %w : !t
  }
  return %r : !t
}
