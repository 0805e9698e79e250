// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=BEFORE
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory > %t
// RUN: FileCheck %s < %t
// RUN: commsched-opt %t --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=AFTER
// RUN: commsched-opt %t --commsched-reorder-for-peak-memory | diff - %t
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory=methods=bfs \
// RUN:   | FileCheck %s --check-prefix=BFS
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory=methods=dfs,lpmf \
// RUN:   | FileCheck %s --check-prefix=DFS
// RUN: not commsched-opt %s --commsched-reorder-for-peak-memory=methods=dfs,fast \
// RUN:   2>&1 | FileCheck %s --check-prefix=BAD

// The best order is taken, each time another method's.

// BAD: for the --methods option: 'fast' is none of lpmf, bfs, dfs

// Least peak memory first. Depth first is as good, but comes after it.
// BEFORE: "function":"lpmf"
// BEFORE-SAME: "peak_memory_bytes":188420,
// AFTER: "function":"lpmf"
// AFTER-SAME: "peak_memory_bytes":180268,
// CHECK-LABEL: func.func @lpmf(
// CHECK-NEXT: "narrow1"
// CHECK-NEXT: "wide1"
// CHECK-NEXT: "narrow2"
// CHECK-NEXT: "sum1"
// CHECK-NEXT: "wide2"
// CHECK-NEXT: "sum2"
// CHECK-NEXT: "add"
// BFS-LABEL: func.func @lpmf(
// BFS-NEXT: "wide1"
// BFS-NEXT: "narrow1"
// BFS-NEXT: "narrow2"
// BFS-NEXT: "wide2"
// DFS-LABEL: func.func @lpmf(
// DFS-NEXT: "wide1"
// DFS-NEXT: "narrow2"
// DFS-NEXT: "sum1"
// DFS-NEXT: "narrow1"
// DFS-NEXT: "wide2"
// DFS-NEXT: "sum2"
// DFS-NEXT: "add"
func.func @lpmf(%x: tensor<2048xf32>)
    -> (tensor<2048x10xf32>, tensor<2048xf32>, tensor<f32>) {
  %0 = commsched.compute "wide1"(%x)
      : (tensor<2048xf32>) -> tensor<2048x10xf32>
  %1 = commsched.compute "narrow1"(%x) : (tensor<2048xf32>) -> tensor<2048xf32>
  %2 = commsched.compute "narrow2"(%0)
      : (tensor<2048x10xf32>) -> tensor<2048xf32>
  %3 = commsched.compute "wide2"(%1)
      : (tensor<2048xf32>) -> tensor<2048x10xf32>
  %4 = commsched.compute "sum1"(%2) : (tensor<2048xf32>) -> tensor<f32>
  %5 = commsched.compute "sum2"(%3) : (tensor<2048x10xf32>) -> tensor<10xf32>
  %6 = commsched.compute "add"(%4, %5)
      : (tensor<f32>, tensor<10xf32>) -> tensor<f32>
  return %0, %1, %6 : tensor<2048x10xf32>, tensor<2048xf32>, tensor<f32>
}

// Breadth first. The last operation has two results, one of which nobody needs;
// both count while it runs.
// BEFORE: "function":"bfs"
// BEFORE-SAME: "peak_memory_bytes":124,
// AFTER: "function":"bfs"
// AFTER-SAME: "peak_memory_bytes":98,
// CHECK-LABEL: func.func @bfs(
// CHECK-NEXT: "a"
// CHECK-NEXT: "c"
// CHECK-NEXT: "b"
func.func @bfs() -> (tensor<13xi8>, tensor<37xi8>, tensor<48xi8>) {
  %a = commsched.compute "a"() : () -> tensor<13xi8>
  %b = commsched.compute "b"(%a) : (tensor<13xi8>) -> tensor<37xi8>
  %c:2 = commsched.compute "c"() : () -> (tensor<48xi8>, tensor<26xi8>)
  return %a, %b, %c#0 : tensor<13xi8>, tensor<37xi8>, tensor<48xi8>
}

// Depth first: what "a" reads counts too.
// BEFORE: "function":"dfs"
// BEFORE-SAME: "peak_memory_bytes":148,
// AFTER: "function":"dfs"
// AFTER-SAME: "peak_memory_bytes":137,
// CHECK-LABEL: func.func @dfs(
// CHECK-NEXT: "b"
// CHECK-NEXT: "a"
func.func @dfs(%x: tensor<21xi8> {commsched.freeable}) -> tensor<32xi8> {
  %a:2 = commsched.compute "a"(%x)
      : (tensor<21xi8>) -> (tensor<82xi8>, tensor<32xi8>)
  %b = commsched.compute "b"() : () -> tensor<116xi8>
  return %a#1 : tensor<32xi8>
}

// The order of the program: all methods put "c" first, for 230 bytes.
// BEFORE: "function":"program"
// BEFORE-SAME: "peak_memory_bytes":141,
// AFTER: "function":"program"
// AFTER-SAME: "peak_memory_bytes":141,
// CHECK-LABEL: func.func @program(
// CHECK-NEXT: "a"
// CHECK-NEXT: "b"
// CHECK-NEXT: "c"
func.func @program() -> (tensor<42xi8>, tensor<89xi8>) {
  %a = commsched.compute "a"() : () -> tensor<0xi8>
  %b:2 = commsched.compute "b"(%a)
      : (tensor<0xi8>) -> (tensor<42xi8>, tensor<99xi8>)
  %c = commsched.compute "c"() : () -> tensor<89xi8>
  return %b#0, %c : tensor<42xi8>, tensor<89xi8>
}
