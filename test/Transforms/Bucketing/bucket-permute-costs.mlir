// A step with sharded parameters: its gathers and its permutes are merged.
// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-schedule=memory-budget=100% \
// RUN:   | FileCheck %s --check-prefix=SHARDED
// SHARDED-DAG: commsched.all_gather {{.*}}commsched.name = "p0+p1"
// SHARDED-DAG: commsched.permute {{.*}}commsched.name = "h0+h1+h2"
// RUN: commsched-opt %t.mlir \
// RUN:   --commsched-schedule="memory-budget=100% buckets=gathers-and-reductions" \
// RUN:   | FileCheck %s --check-prefix=PARAMETERS
// PARAMETERS-COUNT-3: commsched.permute {{.*}}commsched.name = "h{{.}}"

!shard = tensor<64xf32>
!whole = tensor<256xf32>
commsched.group @dp size(4)
commsched.group @cp size(4)
func.func @sharded(%p0: !shard {commsched.role = "parameter"},
                   %p1: !shard {commsched.role = "parameter"},
                   %x: !shard) -> (!whole, !shard) {
  $run(%w0 = all_gather %p0 on @dp dim(0) {commsched.name = "p0", commsched.module = "layers.0.a"} : !shard -> !whole)
  %a = commsched.compute "aten.mm"(%w0, %x) {commsched.runtime_ns = 1000 : i64} : (!whole, !shard) -> !whole
  $run(%w1 = all_gather %p1 on @dp dim(0) {commsched.name = "p1", commsched.module = "layers.0.b"} : !shard -> !whole)
  %b = commsched.compute "aten.mm"(%w1, %a) {commsched.runtime_ns = 1000 : i64} : (!whole, !whole) -> !whole
  $run(%v0 = permute %x on @cp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) {commsched.name = "h0"} : !shard -> !shard)
  $run(%v1 = permute %x on @cp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) {commsched.name = "h1"} : !shard -> !shard)
  $run(%v2 = permute %x on @cp pairs(dense<[[0, 1]]> : tensor<1x2xi64>) {commsched.name = "h2"} : !shard -> !shard)
  %c = commsched.compute "aten.cat"(%v0, %v1, %v2) {commsched.runtime_ns = 1000 : i64} : (!shard, !shard, !shard) -> !shard
  return %b, %c : !whole, !shard
}
