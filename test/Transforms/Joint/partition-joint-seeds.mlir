// Random states belong to a half, by role or by name: the backward's are no
// arguments of the forward, and the forward's are saved where the backward reads
// them. Both come last.

// RUN: %rows %s > %t.mlir
// DEFINE: %{split} = commsched-opt %t.mlir --test-commsched-verify-partition --commsched-partition-joint=
// RUN: %{split} --test-commsched-verify-partition | FileCheck %s
// RUN: %{split}strategy=default --test-commsched-verify-partition | FileCheck %s
// RUN: %{split}activation-memory-budget=0 --test-commsched-verify-partition | FileCheck %s
// RUN: commsched-opt %t.mlir --test-commsched-fit-memory=memory-budget=1GiB \
// RUN:   --test-commsched-verify-partition | FileCheck %s
// RUN: commsched-opt %t.mlir --commsched-export-json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=JSON

// JSON: "name":"bwd_seed_0","type":{"kind":"tensor","shape":[1],"element":"i64"},"role":"bwd_rng_state"
// JSON-SAME: "name":"philox","type":{"kind":"tensor","shape":[1],"element":"i64"},"role":"rng_state"

!t = tensor<4xf32>
!u = tensor<1xi64>

// CHECK-LABEL: func.func private @names_forward(
// CHECK-SAME: %{{.+}}: tensor<4xf32> {commsched.role = "input"},
// CHECK-SAME: %{{.+}}: tensor<1xi64> {commsched.name = "philox", commsched.role = "rng_state"},
// CHECK-SAME: %[[SEED:.+]]: tensor<1xi64> {commsched.name = "fwd_seed_0", commsched.role = "rng_state"},
// CHECK-SAME: %{{.+}}: tensor<1xi64> {commsched.name = "fwd_base_offset_0", commsched.role = "rng_state"}) -> (tensor<4xf32>,
// CHECK-SAME: tensor<1xi64> {commsched.name = "fwd_seed_0"}) attributes
// CHECK: return %{{.+}}, %[[SEED]]
// CHECK-LABEL: func.func private @names_backward(
// CHECK-SAME: %{{.+}}: tensor<1xi64> {commsched.name = "fwd_seed_0", commsched.role = "rng_state"},
// CHECK-SAME: %{{.+}}: tensor<4xf32> {commsched.role = "tangent"},
// CHECK-SAME: %{{.+}}: tensor<1xi64> {commsched.name = "bwd_seed_0", commsched.role = "rng_state"},
// CHECK-SAME: %{{.+}}: tensor<1xi64> {commsched.name = "bwd_base_offset_0", commsched.role = "rng_state"})
func.func @names(%bs: !u {commsched.name = "bwd_seed_0", commsched.role = "rng_state"}, %fs: !u
    {commsched.name = "fwd_seed_0", commsched.role = "rng_state"}, %fo: !u
    {commsched.name = "fwd_base_offset_0", commsched.role = "rng_state"}, %bo: !u
    {commsched.name = "bwd_base_offset_0", commsched.role = "rng_state"}, %x: !t $in, %dy: !t $tangent, %s: !u
    {commsched.name = "philox", commsched.role = "rng_state"}) -> (!t, !t) $joint {
  %y = commsched.compute "dropout"(%x, %s, %fs, %fo) : (!t, !u, !u, !u) -> !t
  %g = commsched.compute "back"(%dy, %fs, %bs, %bo) : (!t, !u, !u, !u) -> !t
  return %y, %g : !t, !t
}

// What reads a seed of the backward is computed there, tangent or not, and its
// operands are saved: no budget makes the forward save "noise".

// CHECK-LABEL: func.func private @roles_forward(
// CHECK-SAME: %{{.+}}: tensor<4x4xf32> {commsched.role = "input"}, %{{.+}}: tensor<2xi64> {commsched.role = "fwd_rng_state"})
// CHECK-NOT: "aten.sum"
// CHECK-LABEL: func.func private @roles_backward(
// CHECK-SAME: %{{.+}}: tensor<4x4xf32> {commsched.name = "arg2", commsched.role = "input"},
// CHECK-SAME: %{{.+}}: tensor<4xf32> {commsched.role = "tangent"},
// CHECK-SAME: %{{.+}}: tensor<2xi64> {commsched.role = "bwd_rng_state"})
// CHECK: "aten.sum"
func.func @roles(%bs: tensor<2xi64> {commsched.role = "bwd_rng_state"}, %fs: tensor<2xi64>
    {commsched.role = "fwd_rng_state"}, %x: tensor<4x4xf32> $in, %dy: !t $tangent) -> (!t, !t) $joint {
  %y = commsched.compute "dropout"(%x, %fs) : (tensor<4x4xf32>, tensor<2xi64>) -> !t
  %noise = commsched.compute "aten.sum"(%x, %bs) {commsched.name = "noise"}
      : (tensor<4x4xf32>, tensor<2xi64>) -> !t
  %g = commsched.compute "aten.mul"(%dy, %noise) : (!t, !t) -> !t
  return %y, %g : !t, !t
}
