// What the user says of operations holds for both strategies.

// DEFINE: %{options} =
// DEFINE: %{saved} = commsched-opt %s -o /dev/null \
// DEFINE:   --commsched-partition-joint="propose=- %{options}"
// RUN: %{saved} | FileCheck %s --check-prefixes=CHECK,CUT
// REDEFINE: %{options} = strategy=default
// RUN: %{saved} | FileCheck %s --check-prefixes=CHECK,EAGER
// REDEFINE: %{options} = activation-memory-budget=0
// RUN: %{saved} | FileCheck %s --check-prefixes=CHECK,LEAST
// RUN: commsched-opt %s --commsched-partition-joint \
// RUN:   --test-commsched-verify-partition | FileCheck %s --check-prefix=CODE

// What is preferred yields to the budget; what must be does not. "none" is what
// the backward has to write to memory, so a minimum cut saves it, too.

// EAGER: "function":"policies"{{.*}}"saved":["arg0","none","ms","ps","mm"],
// CUT: "function":"policies"{{.*}}"saved":["arg0","none","ms","ps","mm"],
// LEAST: "function":"policies"{{.*}}"saved":["arg0","ms"],

!t = tensor<4xf32>
!future = !commsched.future<!t>

// CODE-LABEL: func.func private @policies_backward(
// CODE-NEXT: {commsched.name = "pr"
// CODE-NEXT: {commsched.name = "mr"
// CODE-NEXT: "back"
func.func @policies(%x: !t {commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %none = commsched.compute "aten.sin"(%x) {commsched.name = "none"}
      : (!t) -> !t
  %ms = commsched.compute "aten.sin"(%x) {commsched.name = "ms",
      commsched.recompute = "must_save"} : (!t) -> !t
  %ps = commsched.compute "aten.sin"(%x) {commsched.name = "ps",
      commsched.recompute = "prefer_save"} : (!t) -> !t
  %pr = commsched.compute "aten.mm"(%x) {commsched.name = "pr",
      commsched.recompute = "prefer_recompute"} : (!t) -> !t
  %mr = commsched.compute "aten.mm"(%x) {commsched.name = "mr",
      commsched.recompute = "must_recompute"} : (!t) -> !t
  %mm = commsched.compute "aten.mm"(%x) {commsched.name = "mm"} : (!t) -> !t
  %y = commsched.compute "y"(%none, %ms, %ps, %pr, %mr, %mm) : (!t, !t, !t, !t,
         !t, !t) -> !t
  %g = commsched.compute "back"(%dy, %none, %ms, %ps, %pr, %mr, %mm)
      : (!t, !t, !t, !t, !t, !t, !t) -> !t
  return %y, %g : !t, !t
}

// Without a word "fused" is computed again by a minimum cut: with one it is
// saved.

// EAGER: "function":"fused"{{.*}}"saved":["fused","fused_ps"],
// CUT: "function":"fused"{{.*}}"saved":["arg0","fused_ps"],
// LEAST: "function":"fused"{{.*}}"saved":["arg0"],
func.func @fused(%x: !t {commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %fused = commsched.compute "aten.sin"(%x) {commsched.name = "fused"}
      : (!t) -> !t
  %fused_ps = commsched.compute "aten.sin"(%x) {commsched.name = "fused_ps",
      commsched.recompute = "prefer_save"} : (!t) -> !t
  %y = commsched.compute "aten.add"(%fused, %fused_ps) : (!t, !t) -> !t
  %g = commsched.compute "aten.mul"(%dy, %fused, %fused_ps) : (!t, !t, !t) -> !t
  return %y, %g : !t, !t
}

// Views and constants, which nothing else saves, are saved where they must be.
// "h" is what the other view shows.

// CHECK: "function":"must_save"{{.*}}"saved":["h","v","c"],

// CODE-LABEL: func.func private @must_save_backward(
// CODE-NEXT: {alias = 0 : i64, commsched.name = "u"}
// CODE-NEXT: "back"
func.func @must_save(%x: !t {commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %h = commsched.compute "aten.mm"(%x) {commsched.name = "h",
      commsched.recompute = "must_save"} : (!t) -> !t
  %v = commsched.compute "aten.view"(%h) {commsched.name = "v", alias = 0,
      commsched.recompute = "must_save"} : (!t) -> tensor<2x2xf32>
  %u = commsched.compute "aten.view"(%h) {commsched.name = "u", alias = 0}
      : (!t) -> tensor<1x4xf32>
  %c = commsched.compute "aten.full"() {commsched.name = "c",
      commsched.recompute = "must_save"} : () -> !t
  %y = commsched.compute "y"(%v, %c) : (tensor<2x2xf32>, !t) -> !t
  %g = commsched.compute "back"(%dy, %v, %c, %u)
      : (!t, tensor<2x2xf32>, !t, tensor<1x4xf32>) -> !t
  return %y, %g : !t, !t
}

// Between regions of checkpointing values are saved, in them they are not. Of
// several results one may be saved and another computed again.

// CHECK: "function":"regions"{{.*}}"saved":["arg0","a2","b#0"],

// CODE-LABEL: func.func private @regions_backward(
// CODE-NEXT: {commsched.name = "a1"
// CODE-NEXT: {commsched.name = "b"
// CODE-NEXT: {commsched.name = "c"
// CODE-NEXT: "back"
func.func @regions(%x: !t {commsched.role = "input"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %a1 = commsched.compute "aten.sin"(%x) {commsched.name = "a1",
      commsched.recompute = "must_recompute",
      commsched.recompute_region = 0 : i64} : (!t) -> !t
  %a2 = commsched.compute "aten.sin"(%a1) {commsched.name = "a2",
      commsched.recompute = "must_recompute",
      commsched.recompute_region = 0 : i64} : (!t) -> !t
  %b:2 = commsched.compute "aten.native_layer_norm"(%a2)
      {commsched.name = "b", commsched.recompute = "must_recompute",
       commsched.recompute_region = 1 : i64} : (!t) -> (!t, tensor<1xf32>)
  %c = commsched.compute "aten.sin"(%b#0) {commsched.name = "c",
      commsched.recompute = "must_recompute",
      commsched.recompute_region = 2 : i64} : (!t) -> !t
  %y = commsched.compute "y"(%c) : (!t) -> !t
  %g = commsched.compute "back"(%dy, %a1, %a2, %b#0, %b#1, %c)
      : (!t, !t, !t, !t, tensor<1xf32>, !t) -> !t
  return %y, %g : !t, !t
}

// A word on a collective's start or on its wait is one on both.

commsched.group @dp size(4)

// CHECK: "function":"collectives"{{.*}}"saved":["arg0","arg1","fu"],

// CODE-LABEL: func.func private @collectives_backward(
// CODE-NEXT: commsched.all_gather {{.*}}{commsched.name = "sw"
// CODE-NEXT: commsched.wait {{.*}}{commsched.name = "fw"
// CODE-NEXT: commsched.all_gather {{.*}}{commsched.name = "sv"
// CODE-NEXT: commsched.wait {{.*}}{commsched.name = "fv"
// CODE-NEXT: "back"
func.func @collectives(%w: tensor<1xf32> {commsched.role = "parameter"},
    %v: tensor<1xf32> {commsched.role = "parameter"},
    %u: tensor<1xf32> {commsched.role = "parameter"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %sw = commsched.all_gather %w on @dp dim(0)
      {commsched.name = "sw", commsched.recompute = "must_recompute"}
      : tensor<1xf32> -> !future
  %fw = commsched.wait %sw {commsched.name = "fw"} : !future
  %sv = commsched.all_gather %v on @dp dim(0) {commsched.name = "sv"}
      : tensor<1xf32> -> !future
  %fv = commsched.wait %sv
      {commsched.name = "fv", commsched.recompute = "prefer_recompute"}
      : !future
  %su = commsched.all_gather %u on @dp dim(0)
      {commsched.name = "su", commsched.recompute = "must_save"}
      : tensor<1xf32> -> !future
  %fu = commsched.wait %su {commsched.name = "fu"} : !future
  %y = commsched.compute "y"(%fw, %fv, %fu) : (!t, !t, !t) -> !t
  %g = commsched.compute "back"(%dy, %fw, %fv, %fu) : (!t, !t, !t, !t) -> !t
  return %y, %g : !t, !t
}

// One wait may deliver several values.

// CHECK: "function":"coalesced"{{.*}}"saved":["arg0","arg1"],
func.func @coalesced(%w: tensor<1xf32> {commsched.role = "parameter"},
    %v: tensor<2xf32> {commsched.role = "parameter"},
    %dy: !t {commsched.role = "tangent"}) -> (!t, !t)
    attributes {commsched.num_forward_outputs = 1 : i64} {
  %s = commsched.all_gather %w, %v on @dp dim(0)
      {commsched.recompute = "must_recompute"} : tensor<1xf32>, tensor<2xf32>
      -> !commsched.future<!t, tensor<8xf32>>
  %f:2 = commsched.wait %s : !commsched.future<!t, tensor<8xf32>>
  %y = commsched.compute "y"(%f#0, %f#1) : (!t, tensor<8xf32>) -> !t
  %g = commsched.compute "back"(%dy, %f#1) : (!t, tensor<8xf32>) -> !t
  return %y, %g : !t, !t
}
