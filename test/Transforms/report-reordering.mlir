// RUN: commsched-opt %s --commsched-report=format=json -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=JSON
// RUN: commsched-opt %s --commsched-report=format=table -o /dev/null \
// RUN:   | FileCheck %s --strict-whitespace --match-full-lines

// What passes say about a start or its wait is shown with the collective, and
// only there: one may have both, either or none.

commsched.group @dp size(4)

// JSON: "function":"step"
// JSON-SAME: {"name":"both",{{[^}]*}}"exposed_ns":{{[0-9]+}},"limited_by":{{[^}]*}},"reorder":{"start":{"comm_ns":2000000,"compute_ns":500,"exposed_before_ns":2000000,"exposed_after_ns":1999000,"moves":3,"grouped":1,"limiting_factor":"data","pass":"raise"},"wait":{"comm_ns":2000000,"compute_ns":4500000,"exposed_before_ns":1999000,"exposed_after_ns":-2500000,"moves":12,"grouped":0,"limiting_factor":"peak memory","pass":"sink"}}},
// JSON-SAME: {"name":"start_only",{{[^}]*}}"exposed_ns":{{[0-9]+}},"limited_by":{{[^}]*}}},"reorder":{"start":{"comm_ns":7,"compute_ns":0,"exposed_before_ns":7,"exposed_after_ns":7,"moves":0,"grouped":0,"limiting_factor":"","pass":"raise"}}},
// JSON-SAME: {"name":"none",{{[^}]*}}"exposed_ns":{{[0-9]+}},"limited_by":"stream busy with start_only,{{[^}]*}}"exact":{"by_ns":{{[0-9]+}}}},
// JSON-SAME: {"name":"wait_only",{{[^}]*}}"exposed_ns":{{[0-9]+}},"limited_by":{{[^}]*}}},"reorder":{"wait":{"comm_ns":7,"compute_ns":7007,"exposed_before_ns":-999,"exposed_after_ns":-7000,"moves":1,"grouped":2,"limiting_factor":"order","pass":"sink"}}}]

//      CHECK:function @step
//      CHECK:  wait_only   all_reduce  dp       4 B  {{.*}}
// CHECK-EMPTY:
// CHECK-NEXT:  most exposed  limited by {{.*}}
// CHECK-NEXT:  both {{.*}}
// CHECK-NEXT:  start_only {{.*}}
// CHECK-NEXT:  none {{.*}}
// CHECK-NEXT:  wait_only {{.*}}
// CHECK-EMPTY:
// CHECK-NEXT:  reordering  moved  limiting factor  pass   communication  hiding compute  exposed before  exposed after  moves  grouped
// CHECK-NEXT:  both        start  data             raise       2.000 ms          500 ns        2.000 ms       1.999 ms      3        1
// CHECK-NEXT:  both        wait   peak memory      sink        2.000 ms        4.500 ms        1.999 ms      -2.500 ms     12        0
// CHECK-NEXT:  start_only  start                   raise           7 ns            0 ns            7 ns           7 ns      0        0
// CHECK-NEXT:  wait_only   wait   order            sink            7 ns        7.007 us         -999 ns      -7.000 us      1        2
// CHECK-EMPTY:
func.func @step(%x: tensor<1xf32>) {
  %both = commsched.all_reduce %x on @dp reduction(sum) {
      commsched.name = "both", commsched.reorder_info = {
        comm_ns = 2000000 : i64, compute_ns = 500 : i64,
        exposed_before_ns = 2000000 : i64, exposed_after_ns = 1999000 : i64,
        moves = 3 : i64, grouped = 1 : i64,
        limiting_factor = "data", pass = "raise"}}
      : tensor<1xf32> -> !commsched.future<tensor<1xf32>>
  %start = commsched.all_reduce %x on @dp reduction(sum) {
      commsched.name = "start_only", commsched.reorder_info = {
        comm_ns = 7 : i64, compute_ns = 0 : i64,
        exposed_before_ns = 7 : i64, exposed_after_ns = 7 : i64,
        moves = 0 : i64, grouped = 0 : i64,
        limiting_factor = "", pass = "raise"}}
      : tensor<1xf32> -> !commsched.future<tensor<1xf32>>
  %none = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.name = "none"}
      : tensor<1xf32> -> !commsched.future<tensor<1xf32>>
  %wait = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.name = "wait_only"}
      : tensor<1xf32> -> !commsched.future<tensor<1xf32>>
  %0 = commsched.wait %both {commsched.reorder_info = {
        comm_ns = 2000000 : i64, compute_ns = 4500000 : i64,
        exposed_before_ns = 1999000 : i64, exposed_after_ns = -2500000 : i64,
        moves = 12 : i64, grouped = 0 : i64,
        limiting_factor = "peak memory", pass = "sink"}}
      : !commsched.future<tensor<1xf32>>
  %1 = commsched.wait %start : !commsched.future<tensor<1xf32>>
  %2 = commsched.wait %none : !commsched.future<tensor<1xf32>>
  %3 = commsched.wait %wait {commsched.reorder_info = {
        comm_ns = 7 : i64, compute_ns = 7007 : i64,
        exposed_before_ns = -999 : i64, exposed_after_ns = -7000 : i64,
        moves = 1 : i64, grouped = 2 : i64,
        limiting_factor = "order", pass = "sink"}}
      : !commsched.future<tensor<1xf32>>
  return
}
