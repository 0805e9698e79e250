// DEFINE: %{options} = sink_iterative_peak_memory_budget=0
// DEFINE: %{run} = commsched-opt %s --commsched-sink-waits-iterative="%{options}"

// RUN: %{run} --remark-policy=all --remark-format=emitRemark \
// RUN:   --remarks-filter=commsched -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t
// Every move compared with a simulation from scratch.
// REDEFINE: %{options} = sink_iterative_peak_memory_budget=0 \
// REDEFINE:   reorder_iterative_debug_memory_recompute=true
// RUN: %{run} | diff - %t

// How far a wait sinks is a matter of single bytes: of each pair of functions,
// the second allows one byte less than the move takes. The budget is what the
// functions say, and nothing on top.

commsched.group @g size(2)

// What is sent stays until the wait: beside "large" 50 + 50 + 100 bytes.
// REMARK: Function=operand
// REMARK-SAME: its wait moves down by 1, limited by nothing
// CHECK-LABEL: func.func @operand(
// CHECK-NEXT: "make"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "large"
// CHECK-NEXT: commsched.wait
func.func @operand() -> (tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 200 : i64} {
  %make = commsched.compute "make"() : () -> tensor<50xi8>
  %f = commsched.all_reduce %make on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %w : tensor<100xi8>, tensor<50xi8>
}

// REMARK: Function=operand_less
// REMARK-SAME: its wait stays, limited by memory: passing large takes 200 bytes of 199
// CHECK-LABEL: func.func @operand_less(
// CHECK-NEXT: "make"
// CHECK-NEXT: "ar"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "large"
func.func @operand_less() -> (tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 199 : i64} {
  %make = commsched.compute "make"() : () -> tensor<50xi8>
  %f = commsched.all_reduce %make on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %w : tensor<100xi8>, tensor<50xi8>
}

// What stays anyhow costs nothing, nor does the result, which is there from the
// start on: the wait sinks where there is no byte to spare.
// REMARK: Function=argument
// REMARK-SAME: its wait moves down by 1, limited by nothing
func.func @argument(%x: tensor<50xi8>) -> (tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 200 : i64} {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %w : tensor<100xi8>, tensor<50xi8>
}

// A freeable argument goes with the wait.
// REMARK: Function=freeable
// REMARK-SAME: its wait stays, limited by memory: passing large takes 200 bytes of 199
func.func @freeable(%x: tensor<50xi8> {commsched.freeable})
    -> (tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 199 : i64} {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %w : tensor<100xi8>, tensor<50xi8>
}

// Written in place it is the result, and there is nothing else to free.
// REMARK: Function=into
// REMARK-SAME: its wait moves down by 1, limited by nothing
func.func @into(%x: tensor<50xi8> {commsched.freeable})
    -> (tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 150 : i64} {
  %f = commsched.all_reduce %x on @g reduction(max) into %x
      {commsched.name = "ar"}
      : tensor<50xi8> into tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %w : tensor<100xi8>, tensor<50xi8>
}

// "use" is the last to read what is sent. Once the wait has sunk below it, the
// wait frees that, and it is still there beside "large".
// REMARK: Function=last_use
// REMARK-SAME: its wait moves down by 2, limited by nothing
// CHECK-LABEL: func.func @last_use(
// CHECK-NEXT: "make"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "use"
// CHECK-NEXT: "large"
// CHECK-NEXT: commsched.wait
func.func @last_use() -> (tensor<10xi8>, tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 210 : i64} {
  %make = commsched.compute "make"() : () -> tensor<50xi8>
  %f = commsched.all_reduce %make on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %use = commsched.compute "use"(%make) : (tensor<50xi8>) -> tensor<10xi8>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %use, %large, %w : tensor<10xi8>, tensor<100xi8>, tensor<50xi8>
}

// REMARK: Function=last_use_less
// REMARK-SAME: its wait moves down by 1, limited by memory: passing large takes 210 bytes of 209
// CHECK-LABEL: func.func @last_use_less(
// CHECK-NEXT: "make"
// CHECK-NEXT: "ar"
// CHECK-NEXT: "use"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "large"
func.func @last_use_less() -> (tensor<10xi8>, tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 209 : i64} {
  %make = commsched.compute "make"() : () -> tensor<50xi8>
  %f = commsched.all_reduce %make on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %use = commsched.compute "use"(%make) : (tensor<50xi8>) -> tensor<10xi8>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %use, %large, %w : tensor<10xi8>, tensor<100xi8>, tensor<50xi8>
}

// That the wait frees it now is known to the wait whose turn comes next: beside
// "large" that one needs the 215 bytes and 5 that it sends.
// REMARK: Function=last_use_for_the_next
// REMARK-SAME: 'ar': its wait moves down by 2, limited by nothing
// REMARK: Function=last_use_for_the_next
// REMARK-SAME: 'next': its wait moves down by 1, limited by memory: passing large takes 220 bytes of 219
// CHECK-LABEL: func.func @last_use_for_the_next(
// CHECK: "use"
// CHECK-NEXT: "wait0"
// CHECK-NEXT: "large"
// CHECK-NEXT: "wait"
func.func @last_use_for_the_next()
    -> (tensor<10xi8>, tensor<100xi8>, tensor<5xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 219 : i64} {
  %send = commsched.compute "send"() : () -> tensor<5xi8>
  %make = commsched.compute "make"() : () -> tensor<50xi8>
  %f0 = commsched.all_reduce %send on @g reduction(max)
      {commsched.name = "next"}
      : tensor<5xi8> -> !commsched.future<tensor<5xi8>>
  %f = commsched.all_reduce %make on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w0 = commsched.wait %f0 {commsched.name = "wait0"}
      : !commsched.future<tensor<5xi8>>
  %w = commsched.wait %f {commsched.name = "wait"}
      : !commsched.future<tensor<50xi8>>
  %use = commsched.compute "use"(%make) : (tensor<50xi8>) -> tensor<10xi8>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %use, %large, %w0, %w
      : tensor<10xi8>, tensor<100xi8>, tensor<5xi8>, tensor<50xi8>
}

// The cast goes along, which frees the result and leaves less: sunk, there are
// x, "large", the result and the cast at last.
// REMARK: Function=cast
// REMARK-SAME: its wait moves down by 1, with 1 other, limited by nothing
func.func @cast(%x: tensor<50xi8>) -> (tensor<100xi8>, tensor<10xi8>)
    attributes {commsched.baseline_peak_bytes = 210 : i64} {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %cast = commsched.compute "cast"(%w) : (tensor<50xi8>) -> tensor<10xi8>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %cast : tensor<100xi8>, tensor<10xi8>
}

// REMARK: Function=cast_less
// REMARK-SAME: its wait stays, with 1 other, limited by memory: passing large takes 210 bytes of 209
func.func @cast_less(%x: tensor<50xi8>) -> (tensor<100xi8>, tensor<10xi8>)
    attributes {commsched.baseline_peak_bytes = 209 : i64} {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %cast = commsched.compute "cast"(%w) : (tensor<50xi8>) -> tensor<10xi8>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %cast : tensor<100xi8>, tensor<10xi8>
}

// Of two tensors in one launch the wait frees the one that nobody uses, and what
// both of them sent: x and y, the results, "large".
// REMARK: Function=several_results
// REMARK-SAME: its wait moves down by 1, limited by nothing
func.func @several_results(%x: tensor<50xi8> {commsched.freeable},
    %y: tensor<20xi8> {commsched.freeable})
    -> (tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 240 : i64} {
  %f = commsched.all_reduce %x, %y on @g reduction(max)
      {commsched.name = "ar"} : tensor<50xi8>, tensor<20xi8>
      -> !commsched.future<tensor<50xi8>, tensor<20xi8>>
  %w:2 = commsched.wait %f : !commsched.future<tensor<50xi8>, tensor<20xi8>>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %w#0 : tensor<100xi8>, tensor<50xi8>
}

// REMARK: Function=several_results_less
// REMARK-SAME: its wait stays, limited by memory: passing large takes 240 bytes of 239
func.func @several_results_less(%x: tensor<50xi8> {commsched.freeable},
    %y: tensor<20xi8> {commsched.freeable})
    -> (tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 239 : i64} {
  %f = commsched.all_reduce %x, %y on @g reduction(max)
      {commsched.name = "ar"} : tensor<50xi8>, tensor<20xi8>
      -> !commsched.future<tensor<50xi8>, tensor<20xi8>>
  %w:2 = commsched.wait %f : !commsched.future<tensor<50xi8>, tensor<20xi8>>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %large, %w#0 : tensor<100xi8>, tensor<50xi8>
}

// What is sent and what "use" reads are views of one storage of 100 bytes, which
// is there until the wait: beside it, the result and "use" there is "large".
// REMARK: Function=views
// REMARK-SAME: its wait moves down by 2, limited by nothing
func.func @views()
    -> (tensor<10xi8>, tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 260 : i64} {
  %mm = commsched.compute "mm"() : () -> tensor<100xi8>
  %v0 = commsched.compute "view"(%mm) {alias = 0 : i64}
      : (tensor<100xi8>) -> tensor<50xi8>
  %v1 = tensor.extract_slice %mm[50] [50] [1]
      : tensor<100xi8> to tensor<50xi8>
  %f = commsched.all_reduce %v0 on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %use = commsched.compute "use"(%v1) : (tensor<50xi8>) -> tensor<10xi8>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %use, %large, %w : tensor<10xi8>, tensor<100xi8>, tensor<50xi8>
}

// REMARK: Function=views_less
// REMARK-SAME: its wait moves down by 1, limited by memory: passing large takes 260 bytes of 259
func.func @views_less()
    -> (tensor<10xi8>, tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 259 : i64} {
  %mm = commsched.compute "mm"() : () -> tensor<100xi8>
  %v0 = commsched.compute "view"(%mm) {alias = 0 : i64}
      : (tensor<100xi8>) -> tensor<50xi8>
  %v1 = tensor.extract_slice %mm[50] [50] [1]
      : tensor<100xi8> to tensor<50xi8>
  %f = commsched.all_reduce %v0 on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  %use = commsched.compute "use"(%v1) : (tensor<50xi8>) -> tensor<10xi8>
  %large = commsched.compute "large"() : () -> tensor<100xi8>
  return %use, %large, %w : tensor<10xi8>, tensor<100xi8>, tensor<50xi8>
}

// What overwrites what is sent waits for the wait, and goes along if it is cheap.
// REMARK: Function=overwritten
// REMARK-SAME: its wait moves down by 1, with 1 other, limited by memory dependence with mm, which is expensive
// CHECK-LABEL: func.func @overwritten(
// CHECK-NEXT: "ar"
// CHECK-NEXT: "other"
// CHECK-NEXT: commsched.wait
// CHECK-NEXT: "fill"
// CHECK-NEXT: "mm"
// CHECK-NEXT: "last"
func.func @overwritten(%x: tensor<50xi8>)
    -> (tensor<100xi8>, tensor<100xi8>, tensor<50xi8>)
    attributes {commsched.baseline_peak_bytes = 400 : i64} {
  %f = commsched.all_reduce %x on @g reduction(max) {commsched.name = "ar"}
      : tensor<50xi8> -> !commsched.future<tensor<50xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<50xi8>>
  commsched.compute "fill"(%x) {mutates = array<i64: 0>}
      : (tensor<50xi8>) -> ()
  %other = commsched.compute "other"() : () -> tensor<100xi8>
  commsched.compute "mm"(%x) {flops = 1.0e9 : f64, mutates = array<i64: 0>}
      : (tensor<50xi8>) -> ()
  %last = commsched.compute "last"() : () -> tensor<100xi8>
  return %other, %last, %w : tensor<100xi8>, tensor<100xi8>, tensor<50xi8>
}
