// DEFINE: %{options} =
// DEFINE: %{run} = commsched-opt %s \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory="memory-budget=1000000 %{options}" \
// DEFINE:   --remark-policy=all --remark-format=emitRemark \
// DEFINE:   --remarks-filter=commsched -o %t

// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=WITHOUT
// REDEFINE: %{options} = reorder_iterative_use_runtime_estimations=true
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=DEFAULT
// REDEFINE: %{options} = reorder_iterative_use_runtime_estimations=true \
// REDEFINE:   reorder_sink_runtime_estimations_non_comm_mult=2
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=TWICE
// REDEFINE: %{options} = reorder_iterative_use_runtime_estimations=true \
// REDEFINE:   reorder_sink_runtime_estimations_comm_mult=1
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=PLAIN
// REDEFINE: %{options} = reorder_iterative_use_runtime_estimations=true \
// REDEFINE:   reorder_sink_runtime_estimations_comm_mult=1 \
// REDEFINE:   reorder_iterative_extra_comm_comp_overlap=0
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=JUST,ALONE
// RUN: FileCheck %s --check-prefix=ALONE-IR < %t
// REDEFINE: %{options} = reorder_iterative_use_runtime_estimations=true \
// REDEFINE:   reorder_sink_runtime_estimations_comm_mult=1 \
// REDEFINE:   reorder_iterative_extra_comm_comp_overlap=0 \
// REDEFINE:   reorder_iterative_group_with_collectives=true
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=JUST,WITH
// RUN: FileCheck %s --check-prefix=WITH-IR < %t

// When estimates stop a start on its way up. Memory is no matter here.

commsched.group @g size(2)
commsched.group @h size(2)

// 10 ns of communication, and 10 ns for each operation in the way. Hidden is
// beside more than 1.5 times 20 ns by default, so that the fourth makes it so.
// It is the second if computation counts twice or communication once, and also
// without a margin: the first hides it, but nothing is left over.
// WITHOUT: Function=hidden
// WITHOUT-SAME: its start moves up by 6, limited by nothing
// DEFAULT: Function=hidden
// DEFAULT-SAME: CommNs=10, ComputeNs=40, ExposedAfterNs=-30, ExposedBeforeNs=10,
// DEFAULT-SAME: its start moves up by 4, limited by estimates: computation hides it
// TWICE: Function=hidden
// TWICE-SAME: its start moves up by 2, limited by estimates: computation hides it
// PLAIN: Function=hidden
// PLAIN-SAME: its start moves up by 2, limited by estimates: computation hides it
// JUST: Function=hidden
// JUST-SAME: its start moves up by 2, limited by estimates: computation hides it
func.func @hidden(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = commsched.compute "a"(%x) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %1 = commsched.compute "b"(%0) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %2 = commsched.compute "c"(%1) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %3 = commsched.compute "d"(%2) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %4 = commsched.compute "e"(%3) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %5 = commsched.compute "f"(%4) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 10 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  return %w : tensor<4xi8>
}

// It has to be more than enough by a nanosecond: 10 are not, 11 are.
// JUST: Function=just_enough
// JUST-SAME: its start moves up by 2, limited by nothing
// JUST: Function=more_than_enough
// JUST-SAME: its start moves up by 1, limited by estimates: computation hides it
func.func @just_enough(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = commsched.compute "a"(%x) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %1 = commsched.compute "b"(%x) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 10 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  return %w : tensor<4xi8>
}
func.func @more_than_enough(%x: tensor<4xi8>) -> tensor<4xi8> {
  %0 = commsched.compute "a"(%x) {commsched.runtime_ns = 0 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %1 = commsched.compute "b"(%x) {commsched.runtime_ns = 11 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 10 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  return %w : tensor<4xi8>
}

// Of what computation leaves over, no nanosecond is needed to go on.
// JUST: Function=hidden_before
// JUST-SAME: its start moves up by 1, limited by estimates: computation hides it
func.func @hidden_before(%x: tensor<4xi8>) -> tensor<4xi8> {
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 5 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %b = commsched.compute "b"(%x) {commsched.runtime_ns = 5 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.runtime_ns = 10 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %c = commsched.compute "c"(%x) {commsched.runtime_ns = 10 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  return %w : tensor<4xi8>
}

// By estimates expensive operations are taken along as well.
// WITHOUT: Function=expensive
// WITHOUT-SAME: its start stays, limited by data dependence with mm, which is expensive
// JUST: Function=expensive
// JUST-SAME: its start moves up by 1, with 1 other, limited by nothing
func.func @expensive(%x: tensor<4xi8>) -> tensor<4xi8> {
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 5 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %mm = commsched.compute "mm"(%x)
      {flops = 1.0e9 : f64, commsched.runtime_ns = 100 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %f = commsched.all_reduce %mm on @g reduction(max)
      {commsched.runtime_ns = 10 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  return %w : tensor<4xi8>
}

// Passing "a", the wait taken along would expose 60 ns of the first, and hide
// only 10 of the second.
// WITHOUT: Function=exposes_more
// WITHOUT: Function=exposes_more
// WITHOUT-SAME: 'second': its start moves up by 1, with 1 other, limited by data dependence with commsched.all_reduce 'first', a collective
// JUST: Function=exposes_more
// JUST: Function=exposes_more
// JUST-SAME: 'second': its start stays, with 1 other, limited by estimates: passing a exposes more than it hides
func.func @exposes_more(%x: tensor<4xi8>) -> tensor<4xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.name = "first", commsched.runtime_ns = 100 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 60 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %f1 = commsched.all_reduce %w on @g reduction(max)
      {commsched.name = "second", commsched.runtime_ns = 10 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xi8>>
  return %w1 : tensor<4xi8>
}

// With 60 ns to hide it exposes no more than it hides.
// JUST: Function=exposes_as_much
// JUST: Function=exposes_as_much
// JUST-SAME: 'second': its start moves up by 1, with
func.func @exposes_as_much(%x: tensor<4xi8>) -> tensor<4xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.name = "first", commsched.runtime_ns = 100 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 60 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %f1 = commsched.all_reduce %w on @g reduction(max)
      {commsched.name = "second", commsched.runtime_ns = 60 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xi8>>
  return %w1 : tensor<4xi8>
}

// The same where all is decided at once: 60 ns of the second are hidden, 60 of
// the first, which had 40 to spare, are exposed.
// JUST: Function=exposes_as_much_at_once
// JUST: Function=exposes_as_much_at_once
// JUST-SAME: 'second': its start moves up by 1, with 1 other, limited by estimates: computation hides it
func.func @exposes_as_much_at_once(%x: tensor<4xi8>) -> tensor<4xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.name = "first", commsched.runtime_ns = 100 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 40 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %b = commsched.compute "b"(%x) {commsched.runtime_ns = 100 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %f1 = commsched.all_reduce %w on @g reduction(max)
      {commsched.name = "second", commsched.runtime_ns = 60 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xi8>>
  return %w1 : tensor<4xi8>
}

// The first has 30 ns to spare, which "c" takes. When it comes to "b", there is
// nothing left of them.
// JUST: Function=exposes_step_by_step
// JUST: Function=exposes_step_by_step
// JUST-SAME: 'second': its start moves up by 1, with 1 other, limited by estimates: passing b exposes more than it hides
func.func @exposes_step_by_step(%x: tensor<4xi8>) -> tensor<4xi8> {
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.name = "first", commsched.runtime_ns = 100 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 70 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %b = commsched.compute "b"(%x) {commsched.runtime_ns = 30 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %c = commsched.compute "c"(%x) {commsched.runtime_ns = 30 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %f1 = commsched.all_reduce %w on @g reduction(max)
      {commsched.name = "second", commsched.runtime_ns = 40 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xi8>>
  return %w1 : tensor<4xi8>
}

// A start does not take computation away from another that needs it: "b" goes
// along with the second, and would be above the first.
// WITHOUT: Function=takes_computation
// WITHOUT: Function=takes_computation
// WITHOUT-SAME: 'second': its start moves up by 2, with 1 other, limited by nothing
// JUST: Function=takes_computation
// JUST: Function=takes_computation
// JUST-SAME: 'second': its start moves up by 1, with 1 other, limited by estimates: passing commsched.all_reduce 'first' exposes more than it hides
func.func @takes_computation(%x: tensor<4xi8>) -> (tensor<4xi8>, tensor<4xi8>) {
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.name = "first", commsched.runtime_ns = 20 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 1 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %b = commsched.compute "b"(%x) {commsched.runtime_ns = 20 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %f1 = commsched.all_reduce %b on @h reduction(max)
      {commsched.name = "second", commsched.runtime_ns = 10 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xi8>>
  return %w, %w1 : tensor<4xi8>, tensor<4xi8>
}

// The first is hidden at once and stops. Taken along by the second, which needs
// more, it goes on.
// ALONE: Function=start_goes_along
// ALONE-SAME: 'first': its start moves up by 1, limited by estimates: computation hides it
// ALONE: Function=start_goes_along
// ALONE-SAME: 'second': its start moves up by 1, with 1 other, limited by data dependence with commsched.all_reduce 'first', a collective
// WITH: Function=start_goes_along
// WITH: Function=start_goes_along
// WITH-SAME: 'second': its start moves up by 2, with 2 others, limited by nothing
// ALONE-IR-LABEL: func.func @start_goes_along(
// ALONE-IR-NEXT: "a"
// ALONE-IR-NEXT: "first"
// ALONE-IR-NEXT: commsched.wait
// ALONE-IR-NEXT: "second"
// ALONE-IR-NEXT: "b"
// WITH-IR-LABEL: func.func @start_goes_along(
// WITH-IR-NEXT: "first"
// WITH-IR-NEXT: commsched.wait
// WITH-IR-NEXT: "second"
// WITH-IR-NEXT: "a"
// WITH-IR-NEXT: "b"
func.func @start_goes_along(%x: tensor<4xi8>) -> tensor<4xi8> {
  %a = commsched.compute "a"(%x) {commsched.runtime_ns = 50 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %b = commsched.compute "b"(%x) {commsched.runtime_ns = 50 : i64}
      : (tensor<4xi8>) -> tensor<4xi8>
  %f = commsched.all_reduce %x on @g reduction(max)
      {commsched.name = "first", commsched.runtime_ns = 10 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<4xi8>>
  %f1 = commsched.all_reduce %w on @g reduction(max)
      {commsched.name = "second", commsched.runtime_ns = 200 : i64}
      : tensor<4xi8> -> !commsched.future<tensor<4xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<4xi8>>
  return %w1 : tensor<4xi8>
}
