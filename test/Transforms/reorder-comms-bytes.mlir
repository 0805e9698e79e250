// DEFINE: %{options} = reorder_iterative_peak_memory_budget=0
// DEFINE: %{run} = commsched-opt %s \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory="%{options}"

// RUN: %{run} --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t
// Every move compared with a simulation from scratch.
// REDEFINE: %{options} = reorder_iterative_peak_memory_budget=0 \
// REDEFINE:   reorder_iterative_debug_memory_recompute=true
// RUN: %{run} | diff - %t

// How far a start rises is a matter of single bytes: of each pair of functions,
// the second allows one byte less than the move takes. The budget is what the
// functions say, and nothing on top.

commsched.group @g size(2)

// The result is live from the start on: beside "make", its use and x that are
// 50 + 100 + 10 + 50 bytes.
// REMARK: Function=result
// REMARK-SAME: its start moves up by 2, limited by nothing
// CHECK-LABEL: func.func @result(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "make"
// CHECK-NEXT: "use"
func.func @result(%x: tensor<50xi8>) -> (tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 210 : i64} {
  %make = commsched.compute "make"() : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use, %w : tensor<10xi8>, tensor<50xi8>
}

// REMARK: Function=result_less
// REMARK-SAME: Moved=0,
// REMARK-SAME: its start stays, limited by memory: passing use takes 210 bytes of 209
// CHECK-LABEL: func.func @result_less(
// CHECK-NEXT: "make"
// CHECK-NEXT: "use"
// CHECK-NEXT: "ar"
func.func @result_less(%x: tensor<50xi8>) -> (tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 209 : i64} {
  %make = commsched.compute "make"() : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use, %w : tensor<10xi8>, tensor<50xi8>
}

// It stops only where the bytes are needed.
// REMARK: Function=part_of_the_way
// REMARK-SAME: its start moves up by 1, limited by memory: passing use takes 210 bytes of 209
// CHECK-LABEL: func.func @part_of_the_way(
// CHECK-NEXT: "make"
// CHECK-NEXT: "use"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "small"
func.func @part_of_the_way(%x: tensor<50xi8>)
    -> (tensor<10xi8>, tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 209 : i64} {
  %make = commsched.compute "make"() : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %small = commsched.compute "small"(%x) : (tensor<50xi8>) -> tensor<10xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use, %small, %w : tensor<10xi8>, tensor<10xi8>, tensor<50xi8>
}

// The cast is the last to use "make"; once it has passed "use", that one is:
// then "make", cast, result and "use" are there together. What is sent stays
// until the wait.
// REMARK: Function=last_use
// REMARK-SAME: its start moves up by 1, with 1 other, limited by data dependence with make, which is expensive
// CHECK-LABEL: func.func @last_use(
// CHECK-NEXT: "make"
// CHECK-NEXT: "cast"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "use"
func.func @last_use() -> (tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 210 : i64} {
  %make = commsched.compute "make"() {flops = 1.0e9 : f64}
      : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %cast = commsched.compute "cast"(%make) : (tensor<100xi8>) -> tensor<50xi8>
  %f = commsched.all_reduce %cast on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use, %w : tensor<10xi8>, tensor<50xi8>
}

// REMARK: Function=last_use_less
// REMARK-SAME: its start stays, with 1 other, limited by memory: passing use takes 210 bytes of 209
// CHECK-LABEL: func.func @last_use_less(
// CHECK-NEXT: "make"
// CHECK-NEXT: "use"
// CHECK-NEXT: "cast"
// CHECK-NEXT: "ar"
func.func @last_use_less() -> (tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 209 : i64} {
  %make = commsched.compute "make"() {flops = 1.0e9 : f64}
      : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %cast = commsched.compute "cast"(%make) : (tensor<100xi8>) -> tensor<50xi8>
  %f = commsched.all_reduce %cast on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use, %w : tensor<10xi8>, tensor<50xi8>
}

// That "use" is the last is known to the next start: passing it takes 5 bytes
// more, and 5 for x.
// REMARK: Function=last_use_for_the_next
// REMARK-SAME: 'ar': its start moves up by 1, with 1 other
// REMARK: Function=last_use_for_the_next
// REMARK-SAME: 'next': its start stays, limited by memory: passing use takes 220 bytes of 219
// CHECK-LABEL: func.func @last_use_for_the_next(
// CHECK-NEXT: "make"
// CHECK-NEXT: "cast"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "use"
// CHECK-NEXT: "next"
func.func @last_use_for_the_next(%x: tensor<5xi8>)
    -> (tensor<10xi8>, tensor<50xi8>, tensor<5xi8>)
    attributes {commsched.baseline_peak_bytes = 219 : i64} {
  %make = commsched.compute "make"() {flops = 1.0e9 : f64}
      : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %cast = commsched.compute "cast"(%make) : (tensor<100xi8>) -> tensor<50xi8>
  %f = commsched.all_reduce %cast on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %f1 = commsched.all_reduce %x on @g reduction(max) {commsched.name = "next"}
      : tensor<5xi8> -> !commsched.future<tensor<5xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<5xi8>>
  return %use, %w, %w1 : tensor<10xi8>, tensor<50xi8>, tensor<5xi8>
}

// Written in place, the result takes nothing, and the start rises where there is
// no byte to spare.
// REMARK: Function=into
// REMARK-SAME: its start moves up by 2, limited by nothing
// CHECK-LABEL: func.func @into(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "make"
// CHECK-NEXT: "use"
func.func @into(%x: tensor<50xi8>) -> (tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 160 : i64} {
  %make = commsched.compute "make"() : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %f = commsched.all_reduce %x on @g reduction(max) into %x
      {commsched.name = "ar"}
      : tensor<50xi8> into tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use, %w : tensor<10xi8>, tensor<50xi8>
}

// The cast frees its argument, so the group gets smaller the higher it rises:
// above "use" 100 + 100 + 10 bytes, above "make" 10 + 10 + 100 + 1.
// REMARK: Function=freeable
// REMARK-SAME: its start moves up by 2, with 1 other, limited by nothing
// CHECK-LABEL: func.func @freeable(
// CHECK-NEXT: "cast"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "make"
// CHECK-NEXT: "use"
func.func @freeable(%s: tensor<100xi8> {commsched.role = "saved_activation"})
    -> (tensor<1xi8>, tensor<10xi8>)
    attributes {commsched.baseline_peak_bytes = 210 : i64} {
  %make = commsched.compute "make"() : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<1xi8>
  %cast = commsched.compute "cast"(%s) : (tensor<100xi8>) -> tensor<10xi8>
  %f = commsched.all_reduce %cast on @g reduction(max) {commsched.name = "ar"}
      : tensor<10xi8> -> !commsched.future<tensor<10xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<10xi8>>
  return %use, %w : tensor<1xi8>, tensor<10xi8>
}

// REMARK: Function=not_freeable
// REMARK-SAME: its start stays, with 1 other, limited by memory: passing use takes 221 bytes of 210
func.func @not_freeable(%s: tensor<100xi8> {commsched.role = "input"})
    -> (tensor<1xi8>, tensor<10xi8>)
    attributes {commsched.baseline_peak_bytes = 210 : i64} {
  %make = commsched.compute "make"() : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<1xi8>
  %cast = commsched.compute "cast"(%s) : (tensor<100xi8>) -> tensor<10xi8>
  %f = commsched.all_reduce %cast on @g reduction(max) {commsched.name = "ar"}
      : tensor<10xi8> -> !commsched.future<tensor<10xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<10xi8>>
  return %use, %w : tensor<1xi8>, tensor<10xi8>
}

// Two views of one product, written by one operation and used apart, are one
// storage, which is there until both uses are done: passing "use", which makes
// 10 bytes and needs 40 more, takes 1 + 100 + 50 + 10 + 40. The start stays
// behind the operation that writes what it sends.
// REMARK: Function=views
// REMARK-SAME: its start moves up by 1, limited by memory dependence with foreach, which is expensive
func.func @views(%x: tensor<1xi8>) -> (tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 201 : i64} {
  %mm = commsched.compute "mm"(%x) {flops = 1.0e9 : f64}
      : (tensor<1xi8>) -> tensor<100xi8>
  %v0 = commsched.compute "view"(%mm) {alias = 0 : i64}
      : (tensor<100xi8>) -> tensor<50xi8>
  %v1 = tensor.extract_slice %mm[50] [50] [1]
      : tensor<100xi8> to tensor<50xi8>
  commsched.compute "foreach"(%v0, %v1)
      {flops = 1.0e9 : f64, mutates = array<i64: 0, 1>}
      : (tensor<50xi8>, tensor<50xi8>) -> ()
  %use:2 = commsched.compute "use"(%v1)
      : (tensor<50xi8>) -> (tensor<10xi8>, tensor<40xi8>)
  %f = commsched.all_reduce %v0 on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use#0, %w : tensor<10xi8>, tensor<50xi8>
}

// REMARK: Function=views_less
// REMARK-SAME: its start stays, limited by memory: passing use takes 201 bytes of 200
func.func @views_less(%x: tensor<1xi8>) -> (tensor<10xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 200 : i64} {
  %mm = commsched.compute "mm"(%x) {flops = 1.0e9 : f64}
      : (tensor<1xi8>) -> tensor<100xi8>
  %v0 = commsched.compute "view"(%mm) {alias = 0 : i64}
      : (tensor<100xi8>) -> tensor<50xi8>
  %v1 = tensor.extract_slice %mm[50] [50] [1]
      : tensor<100xi8> to tensor<50xi8>
  commsched.compute "foreach"(%v0, %v1)
      {flops = 1.0e9 : f64, mutates = array<i64: 0, 1>}
      : (tensor<50xi8>, tensor<50xi8>) -> ()
  %use:2 = commsched.compute "use"(%v1)
      : (tensor<50xi8>) -> (tensor<10xi8>, tensor<40xi8>)
  %f = commsched.all_reduce %v0 on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use#0, %w : tensor<10xi8>, tensor<50xi8>
}

// However often a buffer is filled in place, it is one storage: the group takes
// along what makes it and what fills it, without a byte to spare.
// REMARK: Function=filled_in_place
// REMARK-SAME: its start moves up by 1, with 3 others, limited by nothing
// CHECK-LABEL: func.func @filled_in_place(
// CHECK-NEXT: "empty"
// CHECK-NEXT: "fill"
// CHECK-NEXT: "again"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "other"
func.func @filled_in_place() -> (tensor<30xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 130 : i64} {
  %other = commsched.compute "other"() : () -> tensor<30xi8>
  %empty = commsched.compute "empty"() : () -> tensor<50xi8>
  commsched.compute "fill"(%empty) {mutates = array<i64: 0>}
      : (tensor<50xi8>) -> ()
  commsched.compute "again"(%empty) {mutates = array<i64: 0>}
      : (tensor<50xi8>) -> ()
  %f = commsched.all_reduce %empty on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %other, %w : tensor<30xi8>, tensor<50xi8>
}

// Every result of an operation is a storage of its own, and one that nobody uses
// is there only while it is made: "split" makes 10 + 20 + 40 bytes and leaves
// 10 + 20. Above "use" and its 9 bytes there are 50 of x and 50 of the result as
// well, above "split" all of them but the 9.
// REMARK: Function=several_results
// REMARK-SAME: its start moves up by 1, limited by memory: passing split takes 170 bytes of 139
// CHECK-LABEL: func.func @several_results(
// CHECK-NEXT: "split"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "use"
func.func @several_results(%x: tensor<50xi8>)
    -> (tensor<10xi8>, tensor<9xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 139 : i64} {
  %split:3 = commsched.compute "split"()
      : () -> (tensor<10xi8>, tensor<20xi8>, tensor<40xi8>)
  %use = commsched.compute "use"(%split#1) : (tensor<20xi8>) -> tensor<9xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %split#0, %use, %w : tensor<10xi8>, tensor<9xi8>, tensor<50xi8>
}

// A collective nobody needs the result of: it is there until the wait all the
// same.
// REMARK: Function=unused
// REMARK-SAME: its start stays, limited by memory: passing use takes 210 bytes of 209
func.func @unused(%x: tensor<50xi8>) -> tensor<10xi8>
    attributes {commsched.baseline_peak_bytes = 209 : i64} {
  %make = commsched.compute "make"() : () -> tensor<100xi8>
  %use = commsched.compute "use"(%make) : (tensor<100xi8>) -> tensor<10xi8>
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  return %use : tensor<10xi8>
}

// Operations with effects keep their order among each other, but a collective of
// other values passes them, and they hold nothing longer than they use it: of
// the chain two buffers are there while a step runs, next to x and the result.
// REMARK: Function=effects
// REMARK-SAME: its start moves up by 4, limited by nothing
func.func @effects(%x: tensor<10xi8>) -> tensor<10xi8>
    attributes {commsched.baseline_peak_bytes = 60 : i64} {
  %0 = commsched.compute "step0"(%x) {random} : (tensor<10xi8>) -> tensor<20xi8>
  %1 = commsched.compute "step1"(%0) {random} : (tensor<20xi8>) -> tensor<20xi8>
  %2 = commsched.compute "step2"(%1) {random} : (tensor<20xi8>) -> tensor<20xi8>
  commsched.compute "print"(%2) : (tensor<20xi8>) -> ()
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<10xi8> -> !commsched.future<tensor<10xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<10xi8>>
  return %w : tensor<10xi8>
}

// REMARK: Function=effects_less
// REMARK-SAME: its start moves up by 1, limited by memory: passing step2 takes 60 bytes of 59
func.func @effects_less(%x: tensor<10xi8>) -> tensor<10xi8>
    attributes {commsched.baseline_peak_bytes = 59 : i64} {
  %0 = commsched.compute "step0"(%x) {random} : (tensor<10xi8>) -> tensor<20xi8>
  %1 = commsched.compute "step1"(%0) {random} : (tensor<20xi8>) -> tensor<20xi8>
  %2 = commsched.compute "step2"(%1) {random} : (tensor<20xi8>) -> tensor<20xi8>
  commsched.compute "print"(%2) : (tensor<20xi8>) -> ()
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<10xi8> -> !commsched.future<tensor<10xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<10xi8>>
  return %w : tensor<10xi8>
}
