// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --split-input-file -o %t.before
// RUN: commsched-opt %t.mlir --split-input-file -verify-diagnostics -o %t.after \
// RUN:   --commsched-pipeline-loops=memory-budget=100%% --remarks-filter=commsched
// RUN: diff %t.before %t.after

// Loops that stay as they are, and the remarks that say why.

!t = tensor<8xf32>
!future = !commsched.future<!t>
commsched.group @dp size(8)

func.func @of_its_own_result(%x: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  ROW
    $run(%r = all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : !t -> !t)
    %b = commsched.compute "f"(%r) {commsched.runtime_ns = 50 : i64} : (!t) -> !t
    scf.yield %b : !t
  }
  return %y : !t
}

// -----

  // expected-remark-re@below {{[Missed] LoopKept | {{.*}}Function=of_its_own_result | {{.*}}: an iteration takes 80 ns, and nothing that fits {{[0-9]+}} bytes is shorter; 80 ns are the least, for the circle of commsched.all_reduce, commsched.wait, f"}}
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> !t {

  // expected-remark-re@below {{: its 4 iterations take 320 ns, and nothing that fits {{[0-9]+}} bytes is shorter; 80 ns are the least, for the circle of commsched.all_reduce, commsched.wait, f"}}
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> !t {

// -----

!t = tensor<8xf32>
!future = !commsched.future<!t>
commsched.group @dp size(8)

func.func @of_an_argument(%x: !t, %s: !t, %n: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  ROW
    $run(%r = all_reduce %s on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : !t -> !t)
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (!t, !t) -> !t
    scf.yield %b : !t
  }
  return %y : !t
}

// -----

  // expected-remark@below {{: it has 1 iterations, and 2 would be in progress at once"}}
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%a = %x) -> !t {

  // expected-remark@below {{: it has 0 iterations, and 2 would be in progress at once"}}
  %y = scf.for %i = %c1 to %c0 step %c1 iter_args(%a = %x) -> !t {

  %most = arith.constant 9223372036854775807 : index
  // expected-remark@below {{: its counter stands still or wraps around before it ends"}}
  %y = scf.for %i = %c1 to %most step %most iter_args(%a = %x) -> !t {

  // expected-remark@below {{: its counter stands still or wraps around before it ends"}}
  %y = scf.for %i = %c0 to %c1 step %c0 iter_args(%a = %x) -> !t {

  // expected-remark@below {{: its bounds are compared without sign"}}
  %y = scf.for unsigned %i = %c0 to %n step %c1 iter_args(%a = %x) -> !t {

// -----

!t = tensor<8xf32>
!future = !commsched.future<!t>
commsched.group @dp size(8)

func.func @four(%x: !t, %s: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  ROW
  return %y#0 : !t
}
func.func private @unknown(!t) -> !t

// -----

  %y:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x, %p = %s) -> (!t, !t) {
    $run(%r = all_reduce %p on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : !t -> !t)
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (!t, !t) -> !t
    // expected-remark@below {{yields an argument of its body as another one, which is then two iterations old"}}
    scf.yield %b, %a : !t, !t
  }

  // expected-remark@below {{: it yields value 1 without computing it; canonicalize it before"}}
  %y:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x, %p = %s) -> (!t, !t) {
    $run(%r = all_reduce %p on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : !t -> !t)
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (!t, !t) -> !t
    scf.yield %b, %p : !t, !t
  }

  // The numbers hold within a block, which would have those of two iterations.
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> !t {
    // expected-remark@below {{has a fixed place in the order of collectives, which iterations that overlap do not keep"}}
    $run(%r = all_reduce %a on @dp reduction(sum) {commsched.order = 0 : i64, commsched.runtime_ns = 30 : i64} : !t -> !t)
    $run(%w = all_reduce %x on @dp reduction(sum) {commsched.order = 1 : i64, commsched.runtime_ns = 30 : i64} : !t -> !t)
    %b = commsched.compute "f"(%r, %w) {commsched.runtime_ns = 50 : i64} : (!t, !t) -> !t
    scf.yield %b : !t
  }

  // Nothing moves across what may communicate.
  // expected-remark-re@below {{: its 4 iterations take 340 ns, {{.*}}; 85 ns are the least, for the circle of commsched.all_reduce, commsched.wait, f, func.call"}}
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> !t {
    $run(%r = all_reduce %s on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : !t -> !t)
    %b = commsched.compute "f"(%a, %r) {commsched.runtime_ns = 50 : i64} : (!t, !t) -> !t
    %c = func.call @unknown(%b) {commsched.runtime_ns = 5 : i64} : (!t) -> !t
    scf.yield %c : !t
  }

// -----

!t = tensor<8xf32>
!future = !commsched.future<!t>
commsched.group @dp size(8)

// A counter, a step and a condition that are none.
func.func @counter(%x: !t, %step: index) -> (index, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  ROW
    scf.condition(%goes_on) %i, %a : index, !t
  } do {
  ^bb0(%i: index, %a: !t):
    $run(%w = all_reduce %a on @dp reduction(sum) {commsched.runtime_ns = 30 : i64} : !t -> !t)
    %next = arith.addi %i, %by : index
    scf.yield %next, %w : index, !t
  }
  return %n, %y : index, !t
}

// -----

  %by = arith.constant 1 : index
  // expected-remark@below {{: its counter is used behind it"}}
  %n, %y = scf.while (%i = %c0, %a = %x) : (index, !t) -> (index, !t) {
    %goes_on = arith.cmpi slt, %i, %c4 : index

  %by = arith.addi %step, %c1 : index
  %n = arith.constant 0 : index
  %k, %y = scf.while (%i = %c0, %a = %x) : (index, !t) -> (index, !t) {
    %goes_on = arith.cmpi slt, %i, %c4 : index
    // expected-remark@below {{: its step is not a positive constant"}}

  %by = arith.constant 1 : index
  %n = arith.constant 0 : index
  %k, %y = scf.while (%i = %c0, %a = %x) : (index, !t) -> (index, !t) {
    %goes_on = arith.cmpi ne, %i, %c4 : index
    // expected-remark@below {{: it does not count from one bound to another by a step"}}

// -----

!t = tensor<8xi1>
!future = !commsched.future<!t>
commsched.group @dp size(8)

func.func @until(%x: !t) -> !t {
  %c0 = arith.constant 0 : index
  %y = scf.while (%a = %x) : (!t) -> !t {
    %goes_on = tensor.extract %a[%c0] : !t
    // expected-remark@below {{: it may end early: tensor.extract decides, and not a comparison of a counter with a bound"}}
    scf.condition(%goes_on) %a : !t
  } do {
  ^bb0(%a: !t):
    $run(%w = all_reduce %a on @dp reduction(min) {commsched.runtime_ns = 30 : i64} : !t -> !t)
    scf.yield %w : !t
  }
  return %y : !t
}

func.func @parallel(%x: !t) {
  // expected-remark@below {{: loops of this kind are not pipelined: scf.forall"}}
  scf.forall (%i) in (4) {
    $run(%w = all_reduce %x on @dp reduction(min) {commsched.runtime_ns = 30 : i64} : !t -> !t)
  }
  return
}
