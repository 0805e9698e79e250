// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir \
// RUN:   --commsched-interleave="first=@forward second=@backward name=both memory-budget=100%" \
// RUN:   %remarks 2> %t.remarks | %orders | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: commsched-opt %t.mlir -o - --commsched-interleave="first=forward \
// RUN:   second=backward name=both share=none" | FileCheck %s --check-prefix=NONE
// RUN: commsched-opt %t.mlir -o - --commsched-interleave="first=@forward \
// RUN:   second=@backward name=both share=0:1" | FileCheck %s --check-prefix=LIST
// RUN: commsched-opt %t.mlir -o - --commsched-interleave="first=@forward \
// RUN:   second=@forward name=both" | FileCheck %s --check-prefix=TWICE

!t = tensor<4xi8>
commsched.group @g size(2)
commsched.group @h size(2)

// Each function alone waits for 100 ns. Together, one computes meanwhile, but
// for the reduction at the end. The parameter is shared by its name; the caller
// of the forward may not free it. The later one of two operations of one name
// gets another name.

// CHECK: func.func @forward(
// CHECK: func.func @backward(
// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xi8> {commsched.name = "w", commsched.role = "parameter"},
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xi8> {commsched.role = "input"},
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<4xi8> {commsched.role = "saved_activation"})
// CHECK-SAME: -> (tensor<4xi8> {commsched.name = "loss"}, tensor<4xi8>)
// CHECK-SAME: attributes {commsched.baseline_peak_bytes = {{[0-9]+}} : i64}
// CHECK-NEXT: // order: all_gather backward.product wait all_reduce product wait{{$}}

// REMARK: remark: [Passed] Interleaved | Category:commsched | Function=both
// REMARK-SAME: ExposedNsAfter=0, ExposedNsBefore=200
// REMARK-SAME: '@forward' and '@backward' take 200 ns, of which 0 are exposed, instead of 400 with 200 one after the other, each scheduled
// REMARK-SAME: StepNsAfter=200, StepNsBefore=400

// NONE-LABEL: func.func @both({{.*}}"w"{{.*}}"input"{{.*}}"saved_activation"}
// NONE-SAME: {commsched.freeable, commsched.name = "w", commsched.role = "parameter"}) ->

// LIST-LABEL: func.func @both({{.*}}"w"{{.*}}"input"}, %{{[^,]*}}"saved_activation"})

// TWICE-LABEL: func.func @both({{.*}}"w"
// TWICE-SAME: "input"{{.*}}"input"})
// TWICE-COUNT-1: commsched.name = "product"
// TWICE: commsched.name = "forward.product"

func.func @forward(%w: !t {commsched.name = "w", commsched.role = "parameter"},
    %x: !t {commsched.role = "input"}) -> (!t {commsched.name = "loss"}) {
  $run(%g = all_gather %w on @g dim(0) {commsched.runtime_ns = 100} : !t -> tensor<8xi8>)
  %l = commsched.compute "product"(%x, %g)
      {commsched.name = "product", commsched.runtime_ns = 100}
      : (!t, tensor<8xi8>) -> !t
  return %l : !t
}

func.func @backward(%s: !t {commsched.role = "saved_activation"}, %w: !t
    {commsched.freeable, commsched.name = "w", commsched.role = "parameter"})
    -> !t {
  %p = commsched.compute "product_backward"(%s, %w)
      {commsched.name = "product", commsched.runtime_ns = 100} : (!t, !t) -> !t
  $run(%d = all_reduce %p on @h reduction(sum) {commsched.runtime_ns = 100} : !t -> !t)
  return %d : !t
}
