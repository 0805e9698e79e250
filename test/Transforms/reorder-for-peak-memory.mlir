// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=BEFORE
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory > %t
// RUN: %orders < %t | FileCheck %s
// RUN: commsched-opt %t --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=AFTER
// RUN: commsched-opt %t --commsched-reorder-for-peak-memory | diff - %t
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory=methods=bfs \
// RUN:   | %orders | FileCheck %s --check-prefix=BFS
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory=methods=dfs,lpmf \
// RUN:   | %orders | FileCheck %s --check-prefix=DFS
// RUN: %fails commsched-opt %s --commsched-reorder-for-peak-memory=methods=dfs,fast "for the --methods option: 'fast' is none of lpmf, bfs, dfs"

// The best order is taken, each time another method's.


// Least peak memory first. Depth first is as good, but comes after it.
// BEFORE: "function":"lpmf"{{.*}}"peak_memory_bytes":188420,
// AFTER: "function":"lpmf"{{.*}}"peak_memory_bytes":180268,
// CHECK-LABEL: func.func @lpmf(
// CHECK-NEXT: // order: narrow1 wide1 narrow2 sum1 wide2 sum2 add{{$}}
// BFS-LABEL: func.func @lpmf(
// BFS-NEXT: // order: wide1 narrow1 narrow2 wide2 sum1 sum2 add{{$}}
// DFS-LABEL: func.func @lpmf(
// DFS-NEXT: // order: wide1 narrow2 sum1 narrow1 wide2 sum2 add{{$}}
func.func @lpmf(%x: tensor<2048xf32>) -> (tensor<2048x10xf32>, tensor<2048xf32>, tensor<f32>) {
  %0 = commsched.compute "wide1"(%x) : (tensor<2048xf32>) -> tensor<2048x10xf32>
  %1 = commsched.compute "narrow1"(%x) : (tensor<2048xf32>) -> tensor<2048xf32>
  %2 = commsched.compute "narrow2"(%0) : (tensor<2048x10xf32>) -> tensor<2048xf32>
  %3 = commsched.compute "wide2"(%1) : (tensor<2048xf32>) -> tensor<2048x10xf32>
  %4 = commsched.compute "sum1"(%2) : (tensor<2048xf32>) -> tensor<f32>
  %5 = commsched.compute "sum2"(%3) : (tensor<2048x10xf32>) -> tensor<10xf32>
  %6 = commsched.compute "add"(%4, %5) : (tensor<f32>, tensor<10xf32>) -> tensor<f32>
  return %0, %1, %6 : tensor<2048x10xf32>, tensor<2048xf32>, tensor<f32>
}

commsched.group @g size(2)

// Blocks inside the body are ordered by themselves if they hold collectives,
// and blocks of the body in any case.
// CHECK-LABEL: func.func @blocks(
// CHECK-NEXT: // order: scf.if { all_reduce wait a c b d scf.yield } else { a b c d scf.yield } cf.br ^bb1: a c b d{{$}}
func.func @blocks(%x: tensor<1xi8>, %cond: i1) -> (tensor<1xi8>, tensor<1xi8>) {
  %0:2 = scf.if %cond -> (tensor<1xi8>, tensor<1xi8>) {
    %f = commsched.all_reduce %x on @g reduction(max)
        : tensor<1xi8> -> !commsched.future<tensor<1xi8>>
    %w = commsched.wait %f : !commsched.future<tensor<1xi8>>
    %a = commsched.compute "a"(%w) : (tensor<1xi8>) -> tensor<16xi8>
    %b = commsched.compute "b"() : () -> tensor<16xi8>
    %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
    %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
    scf.yield %c, %d : tensor<1xi8>, tensor<1xi8>
  } else {
    %a = commsched.compute "a"() : () -> tensor<16xi8>
    %b = commsched.compute "b"() : () -> tensor<16xi8>
    %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
    %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
    scf.yield %c, %d : tensor<1xi8>, tensor<1xi8>
  }
  cf.br ^next
^next:
  %a = commsched.compute "a"() : () -> tensor<16xi8>
  %b = commsched.compute "b"() : () -> tensor<16xi8>
  %c = commsched.compute "c"(%a) : (tensor<16xi8>) -> tensor<1xi8>
  %d = commsched.compute "d"(%b) : (tensor<16xi8>) -> tensor<1xi8>
  return %c, %d : tensor<1xi8>, tensor<1xi8>
}
