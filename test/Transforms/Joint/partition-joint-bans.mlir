// What each ban from recomputation saves, and that nothing else saves it. The
// proposals list what is saved.

// RUN: %rows %s > %t.mlir
// DEFINE: %{saved} = commsched-opt %t.mlir -o /dev/null --commsched-partition-joint="propose=- "

// RUN: %{saved} | FileCheck %s --check-prefix=BANNED
// RUN: %{saved}ban-recompute-used-far-apart=false | FileCheck %s --check-prefix=FAR
// RUN: %{saved}ban-recompute-materialized-backward=false | FileCheck %s --check-prefix=MATERIALIZED
// RUN: %{saved}ban-recompute-not-in-allowlist=false | FileCheck %s --check-prefix=ALLOW
// RUN: %{saved}ban-recompute-reductions=false | FileCheck %s --check-prefix=REDUCTION
// RUN: %{saved}recompute-views=false | FileCheck %s --check-prefix=VIEWS
// RUN: %{saved}treat-parameters-as-free-to-save=false | FileCheck %s --check-prefix=PARAMETERS
// RUN: %{saved}max-dist-from-bw=1 | FileCheck %s --check-prefix=DISTANCE
// RUN: %{saved}aggressive-recomputation | FileCheck %s --check-prefix=AGGRESSIVE

// "f" could be computed in one kernel with "n", but what "n" is multiplied to is
// used long before.

!m = tensor<4x4xf32>
!part = tensor<2x4xf32>
!t = tensor<4xf32>
!u = tensor<1xf32>

// BANNED: "function":"far_apart"{{.*}}"saved":["n","f"],
// FAR: "function":"far_apart"{{.*}}"saved":["n"],
// AGGRESSIVE: "function":"far_apart"{{.*}}"saved":["n"],
func.func @far_apart(%x: !m $in, %dy: !m $tangent) -> (!m, !m) $joint {
  $op(h = aten.mm %x, %x : (!m, !m) -> !m)
  $op(n = aten.sin %h : (!m) -> !m)
  $op(m = aten.mm %n, %n : (!m, !m) -> !m)
  %r = commsched.compute "aten.relu"(%m) : (!m) -> !m
  $op(f = aten.cos %n : (!m) -> !m)
  %y = commsched.compute "aten.mul"(%r, %f) : (!m, !m) -> !m
  %df = commsched.compute "aten.mul"(%dy, %f) : (!m, !m) -> !m
  %dm = commsched.compute "aten.mm"(%df, %n) : (!m, !m) -> !m
  return %y, %dm : !m, !m
}

// The backward multiplies "a": it has to be in memory, computed again or not.

// BANNED: "function":"materialized"{{.*}}"saved":["a"],
// MATERIALIZED: "function":"materialized"{{.*}}"saved":["arg0"],
// AGGRESSIVE: "function":"materialized"{{.*}}"saved":["arg0"],
func.func @materialized(%x: !m $in, %dy: !m $tangent) -> (!m, !m) $joint {
  $op(a = aten.sin %x : (!m) -> !m)
  %v = commsched.compute "aten.view"(%a) {alias = 0} : (!m) -> !m
  %g = commsched.compute "aten.mm"(%dy, %v) : (!m, !m) -> !m
  return %a, %g : !m, !m
}

// Nobody knows what "unknown" takes. A product of matrices is known to take much.

// BANNED: "function":"not_allowed"{{.*}}"saved":["unknown","product"],
// ALLOW: "function":"not_allowed"{{.*}}"saved":["arg0","product"],
// AGGRESSIVE: "function":"not_allowed"{{.*}}"saved":["arg0","product"],
func.func @not_allowed(%x: !m $in, %dy: !m $tangent) -> (!m, tensor<12x4xf32>) $joint {
  $op(unknown = vendor.op %x : (!m) -> !m)
  $op(product = aten.mm %x, %x : (!m, !m) -> !m)
  %y = commsched.compute "aten.mul"(%unknown, %product) : (!m, !m) -> !m
  %g = commsched.compute "aten.cat"(%dy, %unknown, %product) : (!m, !m, !m) -> tensor<12x4xf32>
  return %y, %g : !m, tensor<12x4xf32>
}

// "tiny" is less than a quarter of its operand, "quarter" is not.

// BANNED: "function":"reduction"{{.*}}"saved":["arg1","tiny"],
// REDUCTION: "function":"reduction"{{.*}}"saved":["arg0","arg1"],
// AGGRESSIVE: "function":"reduction"{{.*}}"saved":["arg1","tiny"],
func.func @reduction(%x: !m $in, %z: !m $in, %dy: !u $tangent) -> (!u, !u) $joint {
  $op(tiny = aten.sum %x : (!m) -> !u)
  $op(quarter = aten.sum %z : (!m) -> !t)
  %y = commsched.compute "aten.mul"(%tiny, %quarter) : (!u, !t) -> !u
  %g = commsched.compute "aten.mul"(%dy, %tiny, %quarter) : (!u, !u, !t) -> !u
  return %y, %g : !u, !u
}

// A view that depends on a number takes two values to show it again.

// BANNED: "function":"views"{{.*}}"saved":["arg1","h"],
// VIEWS: "function":"views"{{.*}}"saved":["v"],
func.func @views(%x: !m $in, %i: index $in, %dy: !part $tangent) -> (!part, !part) $joint {
  $op(h = aten.mm %x, %x : (!m, !m) -> !m)
  %v = tensor.extract_slice %h[%i, 0] [2, 4] [1, 1] {commsched.name = "v"} : !m to !part
  %y = commsched.compute "aten.sin"(%v) : (!part) -> !part
  %g = commsched.compute "aten.mul"(%dy, %v) : (!part, !part) -> !part
  return %y, %g : !part, !part
}

// Half of a parameter takes memory; the parameter is there anyway.

// BANNED: "function":"parameters"{{.*}}"saved":["arg0"],
// PARAMETERS: "function":"parameters"{{.*}}"saved":["half"],
func.func @parameters(%w: !m {commsched.role = "parameter"}, %dy: !part $tangent) -> (!part, !part) $joint {
  $op(half = aten.index %w : (!m) -> !part)
  %y = commsched.compute "y"(%half) : (!part) -> !part
  %g = commsched.compute "aten.mul"(%dy, %half) : (!part, !part) -> !part
  return %y, %g : !part, !part
}

// The operations are so far from the backward as they are called.

// BANNED: "function":"distance"{{.*}}"saved":["arg0"],
// DISTANCE: "function":"distance"{{.*}}"saved":["one"],
func.func @distance(%x: !t $in, %dy: !t $tangent) -> (!t, !t) $joint {
  $op(three = aten.sin %x : (!t) -> !t)
  $op(two = aten.sin %three : (!t) -> !t)
  $op(one = aten.sin %two : (!t) -> !t)
  %g = commsched.compute "aten.mul"(%dy, %one) : (!t, !t) -> !t
  return %one, %g : !t, !t
}
