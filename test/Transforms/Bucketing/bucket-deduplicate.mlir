// RUN: %rows %s > %t.mlir
// DEFINE: %{merge} = commsched-opt %t.mlir --commsched-bucket-all-gather=

// RUN: %{merge}deduplicate > %t
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t --commsched-bucket-all-gather=deduplicate | diff %t -
// RUN: %{merge} | FileCheck %s --check-prefix=ALL

// A parameter that is gathered again is gathered once, before buckets are made
// of what is left.

!shard = tensor<4xf32>
!whole = tensor<8xf32>

commsched.group @g size(2)

// CHECK-LABEL: func.func @forward_and_backward(
// CHECK: commsched.all_gather {{.*}} "p1+q1"
// CHECK-NOT: commsched.all_gather %
// CHECK: return
// ALL-LABEL: func.func @forward_and_backward(
// ALL: commsched.all_gather {{.*}} "p1+q1+q2+p2"
func.func @forward_and_backward(%p: !shard {commsched.role = "parameter"}, %q: !shard {commsched.role = "parameter"}, %x: !whole) -> !whole {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  $run(%p1 = all_gather %p on @g dim(0) {commsched.name = "p1"} : !shard -> !whole)
  %x1 = commsched.compute "layer"(%x, %p1) : (!whole, !whole) -> !whole
  $run(%q1 = all_gather %q on @g dim(0) {commsched.name = "q1"} : !shard -> !whole)
  %x2 = commsched.compute "layer"(%x1, %q1) : (!whole, !whole) -> !whole
  $run(%q2 = all_gather %q on @g dim(0) {commsched.name = "q2"} : !shard -> !whole)
  %g2 = commsched.compute "gradient"(%x2, %q2) : (!whole, !whole) -> !whole
  $run(%p2 = all_gather %p on @g dim(0) {commsched.name = "p2"} : !shard -> !whole)
  %g1 = commsched.compute "gradient"(%g2, %p2) : (!whole, !whole) -> !whole
  return %g1 : !whole
}
