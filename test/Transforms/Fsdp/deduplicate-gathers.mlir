// RUN: %rows %s > %t.mlir
// RUN: commsched-opt %t.mlir --commsched-bucket-all-gather="deduplicate max-count=1" > %t
// RUN: %orders < %t | FileCheck %s
// RUN: commsched-opt %t --commsched-bucket-all-gather="deduplicate max-count=1" | diff - %t
// RUN: commsched-opt %t.mlir --commsched-bucket-all-gather="deduplicate max-count=1" %remarks -o /dev/null \
// RUN:   2>&1 | FileCheck %s --check-prefix=REMARK

// Gathers of what has been gathered before are dropped. Memory is not short here:
// it is "large" that makes the peak.

!whole = tensor<8xf32>
!part = tensor<4xf32>
!cast = tensor<8xbf16>
!future = !commsched.future<!cast>
commsched.group @dp size(2)

LET $gather(W = P as NAME)
  $run(%W = all_gather %P on @dp dim(0) {commsched.name = "NAME"} : !part -> !whole)
LET $cast_gather(W = P)
  $run(%W = all_gather %P on @dp dim(0) : tensor<4xbf16> -> !cast)
LET $padded_gather(K)
  %e.K = tensor.empty() : tensor<3xbf16>
  %c.K = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%p : tensor<3xf32>) outs(%e.K : tensor<3xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<3xbf16>
  %p.K = tensor.pad %c.K low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : bf16
  } : tensor<3xbf16> to tensor<4xbf16>
  $cast_gather(w.K = p.K)

// The second gather goes with its cast, whatever both are called and pinned to.
// REMARK: [Passed] GatherDeduplicated | Category:commsched | Function=forward_and_backward
// REMARK-SAME: PeakBytesAfter=4128, PeakBytesBefore=4128
// REMARK-SAME: commsched.all_gather 'backward' is dropped for what commsched.all_gather 'forward' gathers
// REMARK-SAME: SavedNs=7
// CHECK-LABEL: func.func @forward_and_backward(
// CHECK-SAME: %[[P:.*]]: tensor<4xf32>
// CHECK: commsched.compute "large"
// CHECK-NEXT: %[[CAST:.*]] = commsched.compute "cast"(%[[P]])
// CHECK-NEXT: %[[FUTURE:.*]] = commsched.all_gather %[[CAST]] {{.*}} {commsched.name = "forward", commsched.origin = {{\[\[}}"forward", "backward"]]}
// CHECK-NEXT: %[[FULL:.*]] = commsched.wait %[[FUTURE]]
// CHECK-NEXT: %[[Y:.*]] = commsched.compute "layer"(%{{.*}}, %[[FULL]])
// CHECK-NEXT: %[[D:.*]] = commsched.compute "gradient"(%[[Y]], %[[FULL]])
// CHECK-NEXT: return
func.func @forward_and_backward(%p: !part, %x: !cast) -> !cast {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %c0 = commsched.compute "cast"(%p) : (!part) -> tensor<4xbf16>
  $run(%w0 = all_gather %c0 on @dp dim(0) {commsched.name = "forward"} : tensor<4xbf16> -> !cast)
  %y = commsched.compute "layer"(%x, %w0) : (!cast, !cast) -> !cast
  %c1 = commsched.compute "cast"(%p) {commsched.name = "again"} : (!part) -> tensor<4xbf16>
  $run(%w1 = all_gather %c1 on @dp dim(0) {commsched.name = "backward", commsched.runtime_ns = 7 : i64}
      : tensor<4xbf16> -> !cast)
  %d = commsched.compute "gradient"(%y, %w1) : (!cast, !cast) -> !cast
  return %d : !cast
}

// All use the first. A cast with another user stays; one that is returned does
// too; one that several gathers share goes with the last of them.
// CHECK-LABEL: func.func @four(
// CHECK-NEXT: // order: large cast all_gather wait cast cast user{{$}}
func.func @four(%p: !part) -> (!cast, tensor<4xbf16>) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %c0 = commsched.compute "cast"(%p) : (!part) -> tensor<4xbf16>
  $cast_gather(w0 = c0)
  %c1 = commsched.compute "cast"(%p) : (!part) -> tensor<4xbf16>
  $cast_gather(w1 = c1)
  %c2 = commsched.compute "cast"(%p) : (!part) -> tensor<4xbf16>
  $cast_gather(w2 = c2)
  %c3 = commsched.compute "cast"(%p) : (!part) -> tensor<4xbf16>
  $cast_gather(w3 = c3)
  $cast_gather(w4 = c3)
  %y = commsched.compute "user"(%w1, %w2, %w3, %w4, %c2)
      : (!cast, !cast, !cast, !cast, tensor<4xbf16>) -> !cast
  return %y, %c1 : !cast, tensor<4xbf16>
}

// Padded and cast by operations with regions, and by constants.
// CHECK-LABEL: func.func @structured(
// CHECK: commsched.all_gather
// CHECK-NEXT: %[[FULL:.*]] = commsched.wait
// CHECK-NEXT: commsched.compute "sum"(%[[FULL]], %[[FULL]])
#id = affine_map<(d0) -> (d0)>
func.func @structured(%p: tensor<3xf32>) -> !cast {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  %zero = arith.constant 0.0 : bf16
  $padded_gather(0)
  $padded_gather(1)
  %sum = commsched.compute "sum"(%w.0, %w.1) : (!cast, !cast) -> !cast
  return %sum : !cast
}

// In a region, with a constant from outside. What is written once the gathers
// are over does not matter.
// CHECK-LABEL: func.func @written_afterwards(
// CHECK: scf.if
// CHECK: commsched.all_gather
// CHECK-NEXT: %[[FULL:.*]] = commsched.wait
// CHECK-NOT: commsched.all_gather
// CHECK: commsched.compute "sum"(%[[FULL]], %[[FULL]])
func.func @written_afterwards(%p: tensor<3xf32>, %old: !whole, %condition: i1) -> !whole {
  %zeros = arith.constant dense<0.0> : !part
  %result = scf.if %condition -> !whole {
    %large = commsched.compute "large"() : () -> tensor<1024xf32>
    %s0 = tensor.insert_slice %p into %zeros[0] [3] [1] : tensor<3xf32> into !part
    %c0 = commsched.compute "copy"(%s0) : (!part) -> !part
    $gather(w0 = c0 as 0)
    %scale = commsched.compute "scale"(%c0) {mutates = array<i64: 0>} : (!part) -> !part
    %s1 = tensor.insert_slice %p into %zeros[0] [3] [1] : tensor<3xf32> into !part
    %c1 = commsched.compute "copy"(%s1) : (!part) -> !part
    $gather(w1 = c1 as 1)
    %step = commsched.compute "step"(%p) {mutates = array<i64: 0>}
        : (tensor<3xf32>) -> tensor<3xf32>
    %sum = commsched.compute "sum"(%w0, %w1) : (!whole, !whole) -> !whole
    scf.yield %sum : !whole
  } else {
    scf.yield %old : !whole
  }
  return %result : !whole
}

// Two parameters. What the second gather of one delivers is changed, but the
// third delivers what the first did.
// CHECK-LABEL: func.func @two_parameters(
// CHECK-NEXT: // order: large p0 wait q0 wait p1 wait scale use{{$}}
// CHECK: %[[P:.*]] = commsched.wait
// CHECK: %[[Q:.*]] = commsched.wait
// CHECK: "use"(%[[P]], %[[P]], %[[Q]], %[[Q]])
func.func @two_parameters(%p: !part, %q: !part) -> (!whole, !whole) {
  %large = commsched.compute "large"() : () -> tensor<1024xf32>
  $gather(wp0 = p as p0)
  $gather(wq0 = q as q0)
  $gather(wp1 = p as p1)
  %scale = commsched.compute "scale"(%wp1)
      {alias = 0 : i64, mutates = array<i64: 0>} : (!whole) -> !whole
  $gather(wq1 = q as q1)
  $gather(wp2 = p as p2)
  %sum = commsched.compute "use"(%wp0, %wp2, %wq0, %wq1)
      : (!whole, !whole, !whole, !whole) -> !whole
  return %sum, %scale : !whole, !whole
}
