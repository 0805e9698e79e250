// DEFINE: %{options} = memory-budget=1000000
// DEFINE: %{run} = commsched-test-opt %s --allow-unregistered-dialect \
// DEFINE:   --commsched-sink-waits-iterative="%{options}" \
// DEFINE:   --remark-policy=all --remark-format=emitRemark \
// DEFINE:   --remarks-filter=commsched -o %t

// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,STOP
// RUN: FileCheck %s --check-prefixes=CHECK,STOP-IR < %t
// REDEFINE: %{options} = memory-budget=1000000 \
// REDEFINE:   sink_waits_iterative_swap_with_collectives=true
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=REMARK,SWAP
// RUN: FileCheck %s --check-prefixes=CHECK,SWAP-IR < %t
// REDEFINE: %{options} = memory-budget=1000000 max-group-size=1
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=ONE

// What a wait takes along on its way down, and what it does not pass. Memory is
// no matter here.

commsched.group @g size(4)
commsched.group @h size(4)
func.func private @unknown()

// The cheap operations that need the result, and those that need theirs.
// REMARK: Function=chain
// REMARK-SAME: Grouped=2,
// REMARK-SAME: Moved=1,
// REMARK-SAME: 'ar': its wait moves down by 1, with 2 others, limited by nothing
// ONE: Function=chain
// ONE-SAME: 'ar': its wait stays, with 1 other, limited by data dependence with copy; the group is full
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "other"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "cast"
// CHECK-NEXT: "copy"
func.func @chain(%x: tensor<16xi8>) -> (tensor<16xi8>, tensor<16xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<16xi8>>
  %cast = commsched.compute "cast"(%w) : (tensor<16xi8>) -> tensor<16xi8>
  %copy = commsched.compute "copy"(%cast) : (tensor<16xi8>) -> tensor<16xi8>
  %other = commsched.compute "other"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  return %copy, %other : tensor<16xi8>, tensor<16xi8>
}

// More than eight floating-point operations a byte are too expensive.
// REMARK: Function=expensive
// REMARK-SAME: 'ar': its wait moves down by 1, limited by data dependence with mm, which is expensive
// CHECK-LABEL: func.func @expensive(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "other"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "mm"
// CHECK-NEXT: "last"
func.func @expensive(%x: tensor<16xi8>)
    -> (tensor<16xi8>, tensor<16xi8>, tensor<16xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<16xi8>>
  %other = commsched.compute "other"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  %mm = commsched.compute "mm"(%w) {flops = 257. : f64}
      : (tensor<16xi8>) -> tensor<16xi8>
  %last = commsched.compute "last"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  return %other, %mm, %last : tensor<16xi8>, tensor<16xi8>, tensor<16xi8>
}

// A start ends the way, unless waits may pass starts.
// REMARK: Function=next_start
// REMARK-SAME: 'second': its wait stays, limited by nothing
// STOP: Function=next_start
// STOP-SAME: 'first': its wait moves down by 1, limited by the collective commsched.all_reduce 'second'
// SWAP: Function=next_start
// SWAP-SAME: 'first': its wait moves down by 3, limited by nothing
// STOP-IR-LABEL: func.func @next_start(
// STOP-IR-NEXT: "first"
// STOP-IR-NEXT: "other"
// STOP-IR-NEXT: "wait1"
// STOP-IR-NEXT: "second"
// STOP-IR-NEXT: "wait2"
// SWAP-IR-LABEL: func.func @next_start(
// SWAP-IR-NEXT: "first"
// SWAP-IR-NEXT: "other"
// SWAP-IR-NEXT: "second"
// SWAP-IR-NEXT: "wait2"
// SWAP-IR-NEXT: "wait1"
func.func @next_start(%x: tensor<16xi8>)
    -> (tensor<16xi8>, tensor<16xi8>, tensor<16xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "first"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f {commsched.name = "wait1"}
      : !commsched.future<tensor<16xi8>>
  %other = commsched.compute "other"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  %f1 = commsched.all_reduce %x on @h reduction(max)
      {commsched.name = "second"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w1 = commsched.wait %f1 {commsched.name = "wait2"}
      : !commsched.future<tensor<16xi8>>
  return %w, %other, %w1 : tensor<16xi8>, tensor<16xi8>, tensor<16xi8>
}

// No start is taken along, even where waits may pass starts.
// REMARK: Function=start_needs_it
// REMARK-SAME: 'second': its wait
// STOP: Function=start_needs_it
// STOP-SAME: 'first': its wait moves down by 1, with 1 other, limited by the collective commsched.all_reduce 'second'
// SWAP: Function=start_needs_it
// SWAP-SAME: 'first': its wait moves down by 1, with 1 other, limited by data dependence with commsched.all_reduce 'second', a collective
// CHECK-LABEL: func.func @start_needs_it(
// CHECK-NEXT: "first"
// CHECK-NEXT: "other"
// CHECK-NEXT: "wait1"
// CHECK-NEXT: "cast"
// CHECK-NEXT: "second"
// CHECK-NEXT: "last"
// CHECK-NEXT: "wait2"
func.func @start_needs_it(%x: tensor<16xi8>)
    -> (tensor<16xi8>, tensor<16xi8>, tensor<16xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "first"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f {commsched.name = "wait1"}
      : !commsched.future<tensor<16xi8>>
  %cast = commsched.compute "cast"(%w) : (tensor<16xi8>) -> tensor<16xi8>
  %other = commsched.compute "other"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  %f1 = commsched.all_reduce %cast on @g reduction(max)
      {commsched.name = "second"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %last = commsched.compute "last"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  %w1 = commsched.wait %f1 {commsched.name = "wait2"}
      : !commsched.future<tensor<16xi8>>
  return %last, %other, %w1 : tensor<16xi8>, tensor<16xi8>, tensor<16xi8>
}

// A wait passes another wait.
// REMARK: Function=other_waits
// REMARK-SAME: 'second': its wait moves down by 1, limited by nothing
// REMARK: Function=other_waits
// REMARK-SAME: 'first': its wait moves down by 2, limited by nothing
// CHECK-LABEL: func.func @other_waits(
// CHECK-NEXT: "first"
// CHECK-NEXT: "second"
// CHECK-NEXT: "other"
// CHECK-NEXT: "wait2"
// CHECK-NEXT: "wait1"
func.func @other_waits(%x: tensor<16xi8>)
    -> (tensor<16xi8>, tensor<16xi8>, tensor<16xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "first"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %f1 = commsched.all_reduce %x on @h reduction(max)
      {commsched.name = "second"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f {commsched.name = "wait1"}
      : !commsched.future<tensor<16xi8>>
  %w1 = commsched.wait %f1 {commsched.name = "wait2"}
      : !commsched.future<tensor<16xi8>>
  %other = commsched.compute "other"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  return %w, %w1, %other : tensor<16xi8>, tensor<16xi8>, tensor<16xi8>
}

// A collective that is start and wait in one ends the way of every group.
// REMARK: Function=blocking
// REMARK-SAME: 'ar': its wait moves down by 1, limited by barrier dependence with commsched.barrier, a collective
// CHECK-LABEL: func.func @blocking(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "free"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: commsched.barrier
// CHECK-NEXT: "last"
func.func @blocking(%x: tensor<16xi8>)
    -> (tensor<16xi8>, tensor<16xi8>, tensor<16xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<16xi8>>
  %free = commsched.compute "free"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  commsched.barrier on @h
  %last = commsched.compute "last"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  return %w, %free, %last : tensor<16xi8>, tensor<16xi8>, tensor<16xi8>
}

// What may communicate in an unknown way is taken along.
// REMARK: Function=call
// REMARK-SAME: 'ar': its wait moves down by 1, with 1 other, limited by nothing
// CHECK-LABEL: func.func @call(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "free"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: call @unknown
func.func @call(%x: tensor<16xi8>) -> (tensor<16xi8>, tensor<16xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<16xi8>>
  %free = commsched.compute "free"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  call @unknown() : () -> ()
  return %w, %free : tensor<16xi8>, tensor<16xi8>
}

// And what needs the result, known or not.
// REMARK: Function=unregistered
// REMARK-SAME: 'ar': its wait moves down by 2, with 1 other, limited by nothing
// CHECK-LABEL: func.func @unregistered(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "free"
// CHECK-NEXT: "last"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "foreign.op"
func.func @unregistered(%x: tensor<16xi8>)
    -> (tensor<16xi8>, tensor<16xi8>, tensor<16xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<16xi8>>
  %free = commsched.compute "free"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  %y = "foreign.op"(%w) : (tensor<16xi8>) -> tensor<16xi8>
  %last = commsched.compute "last"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  return %y, %free, %last : tensor<16xi8>, tensor<16xi8>, tensor<16xi8>
}

// Other dialects move alike: the wait takes the computation along, and what
// communicates though no interface describes it.
// REMARK: Function=other_dialect
// REMARK-SAME: commsched_test.exchange: its wait moves down by 1, with 2 others, limited by nothing
// CHECK-LABEL: func.func @other_dialect(
// CHECK-NEXT: commsched_test.exchange
// CHECK-NEXT: "free"
// CHECK-NEXT: commsched_test.finish
// CHECK-NEXT: commsched_test.work
// CHECK-NEXT: commsched_test.probe
func.func @other_dialect(%x: tensor<16xi8>) -> (tensor<16xi8>, tensor<16xi8>) {
  %h = commsched_test.exchange %x over "c" ranks(2) : tensor<16xi8>
  %w = commsched_test.finish %h : tensor<16xi8>
  %y = commsched_test.work 5(%w) : (tensor<16xi8>) -> tensor<16xi8>
  %free = commsched.compute "free"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  commsched_test.probe
  return %free, %y : tensor<16xi8>, tensor<16xi8>
}

// Collectives in a region: no wait passes the operation that holds it. They move
// by themselves, as far as the budget of the function allows beside what is
// live around.
// REMARK: Function=region
// REMARK-SAME: 'inner': its wait moves down by 2, with 1 other, limited by nothing
// REMARK: Function=region
// REMARK-SAME: 'ar': its wait moves down by 1, with 1 other, limited by nothing
// CHECK-LABEL: func.func @region(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "free"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: scf.if
// CHECK-NEXT: "cast"
// CHECK-NEXT: "inner"
// CHECK-NEXT: "small"
// CHECK-NEXT: "large"
// CHECK-NEXT: commsched.wait
func.func @region(%x: tensor<16xi8>, %c: i1)
    -> (tensor<16xi8>, tensor<16xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<16xi8>>
  %free = commsched.compute "free"(%x) : (tensor<16xi8>) -> tensor<16xi8>
  %y = scf.if %c -> tensor<16xi8> {
    %cast = commsched.compute "cast"(%x) : (tensor<16xi8>) -> tensor<32xi8>
    %f1 = commsched.all_reduce %cast on @g reduction(max)
        {commsched.name = "inner"}
        : tensor<32xi8> -> !commsched.future<tensor<32xi8>>
    %w1 = commsched.wait %f1 : !commsched.future<tensor<32xi8>>
    %small = commsched.compute "small"(%x) : (tensor<16xi8>) -> tensor<16xi8>
    %large = commsched.compute "large"(%small)
        : (tensor<16xi8>) -> tensor<64xi8>
    %add = commsched.compute "add"(%large, %w1)
        : (tensor<64xi8>, tensor<32xi8>) -> tensor<16xi8>
    scf.yield %add : tensor<16xi8>
  } else {
    scf.yield %x : tensor<16xi8>
  }
  return %w, %y : tensor<16xi8>, tensor<16xi8>
}
