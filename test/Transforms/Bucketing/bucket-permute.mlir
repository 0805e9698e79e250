// DEFINE: %{mode} =
// DEFINE: %{merge} = %rows %s | commsched-opt --commsched-bucket="kinds=permute,broadcast mode=%{mode}"

// REDEFINE: %{mode} = copy
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,COPY
// RUN: %{merge} | commsched-opt --commsched-bucket="kinds=permute,broadcast mode=copy" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,COPY
// REDEFINE: %{mode} = coalesced
// RUN: %{merge} | FileCheck %s --check-prefixes=CHECK,COALESCED
// RUN: %{merge} | commsched-opt --commsched-bucket="kinds=permute,broadcast mode=coalesced" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,COALESCED

// RUN: %rows %s | commsched-opt --commsched-bucket="kinds=permute max-count=2" \
// RUN:   | FileCheck %s --check-prefix=COUNT

// The messages of a halo exchange: one launch for each direction.

!row = tensor<1x16xf32>
!corner = tensor<f32>
!count = tensor<4xi32>

commsched.group @x size(4)

// CHECK-LABEL: func.func @halo(
// CHECK-SAME: %[[A:.+]]: tensor<1x16xf32>, %[[B:.+]]: tensor<1x16xf32>, %[[C:.+]]: tensor<f32>)
// COPY-DAG: %[[FA:.+]] = tensor.collapse_shape %[[A]]
// COPY-DAG: %[[FB:.+]] = tensor.collapse_shape %[[B]]
// COPY-DAG: %[[FC:.+]] = tensor.expand_shape %[[C]]
// COPY: %[[UP:.+]] = tensor.concat dim(0) %[[FA]], %[[FB]], %[[FC]] {commsched.name = "a.up+b.up+c.up.copy_in"{{.*}}}
// COPY: commsched.permute %[[UP]] on @x pairs(dense<{{\[\[}}0, 1], [1, 2], [2, 3]]> {{.*}} {commsched.name = "a.up+b.up+c.up"{{.*}}} : tensor<33xf32>
// COPY: %[[DOWN:.+]] = tensor.concat
// COPY-NEXT: commsched.permute %[[DOWN]] on @x pairs(dense<{{\[\[}}1, 0], [2, 1], [3, 2]]> {{.*}} {commsched.name = "a.down+b.down"{{.*}}} : tensor<32xf32>
// COALESCED-NEXT: %[[UP:.+]] = commsched.permute %[[A]], %[[B]], %[[C]] on @x pairs(dense<{{\[\[}}0, 1], [1, 2], [2, 3]]> {{.*}} {commsched.name = "a.up+b.up+c.up"{{.*}}}
// COALESCED-NEXT: %[[DOWN:.+]] = commsched.permute %[[A]], %[[B]] on @x pairs(dense<{{\[\[}}1, 0], [2, 1], [3, 2]]> {{.*}} {commsched.name = "a.down+b.down"{{.*}}}
// COALESCED-NEXT: %[[W:.+]]:3 = commsched.wait %[[UP]]
// COALESCED-NEXT: %[[V:.+]]:2 = commsched.wait %[[DOWN]]
// COALESCED-NEXT: return %[[W]]#0, %[[V]]#0, %[[W]]#1, %[[V]]#1, %[[W]]#2
// COUNT-LABEL: func.func @halo(
// COUNT: {commsched.name = "a.up+b.up"{{.*}}}
// COUNT: {commsched.name = "a.down+b.down"{{.*}}}
// COUNT: commsched.permute %{{.+}} {commsched.name = "c.up"}
func.func @halo(%a: !row, %b: !row, %c: !corner) -> (!row, !row, !row, !row, !corner) {
  $run(%w5 = permute %a on @x pairs(dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>) {commsched.name = "a.up"} : !row -> !row)
  $run(%w6 = permute %a on @x pairs(dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>) {commsched.name = "a.down"} : !row -> !row)
  // The same pairs in another order.
  $run(%w7 = permute %b on @x pairs(dense<[[2, 3], [0, 1], [1, 2]]> : tensor<3x2xi64>) {commsched.name = "b.up"} : !row -> !row)
  $run(%w8 = permute %b on @x pairs(dense<[[3, 2], [2, 1], [1, 0]]> : tensor<3x2xi64>) {commsched.name = "b.down"} : !row -> !row)
  $run(%w9 = permute %c on @x pairs(dense<[[1, 2], [0, 1], [2, 3]]> : tensor<3x2xi64>) {commsched.name = "c.up"} : !corner -> !corner)
  return %w5, %w6, %w7, %w8, %w9 : !row, !row, !row, !row, !corner
}

// Other pairs, of which one set holds the other, other types, and what needs
// what another one delivers: nothing is merged.
// CHECK-LABEL: func.func @different(
// CHECK-NOT: tensor.concat
// CHECK-NOT: :2 = commsched.wait
// CHECK: return
func.func @different(%a: !row, %n: !count) -> (!row, !row, !count) {
  $run(%w2 = permute %a on @x pairs(dense<[[0, 1]]> : tensor<1x2xi64>) : !row -> !row)
  $run(%w5 = permute %n on @x pairs(dense<[[0, 1]]> : tensor<1x2xi64>) : !count -> !count)
  $run(%w6 = permute %w2 on @x pairs(dense<[[0, 1]]> : tensor<1x2xi64>) : !row -> !row)
  $run(%w7 = permute %a on @x pairs(dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>) : !row -> !row)
  return %w6, %w7, %w5 : !row, !row, !count
}

// Broadcasts from one root are merged.
// CHECK-LABEL: func.func @roots(
// COPY: commsched.broadcast %{{.+}} on @x root(0) {commsched.name = "a+c"{{.*}}} : tensor<12xf32>
// COALESCED: commsched.broadcast %{{.+}}, %{{.+}} on @x root(0) {commsched.name = "a+c"{{.*}}} : tensor<8xf32>, tensor<2x2xf32>
// CHECK: commsched.broadcast %{{.+}} on @x root(1) {commsched.name = "b"}
// CHECK-NOT: commsched.broadcast
func.func @roots(%x: tensor<8xf32>, %y: tensor<2x2xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>) {
  $run(%w3 = broadcast %x on @x root(0) {commsched.name = "a"} : tensor<8xf32> -> tensor<8xf32>)
  $run(%w4 = broadcast %x on @x root(1) {commsched.name = "b"} : tensor<8xf32> -> tensor<8xf32>)
  $run(%w5 = broadcast %y on @x root(0) {commsched.name = "c"} : tensor<2x2xf32> -> tensor<2x2xf32>)
  return %w3, %w4, %w5 : tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>
}
