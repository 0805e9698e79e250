// RUN: %rows %s > %t.mlir
// DEFINE: %{run} = commsched-opt %t.mlir %remarks -o /dev/null 2>&1 --commsched-schedule=

// A budget on what the allocator reserves. The arguments of 2.75 MiB and one
// gather of 11 MiB share a segment of 20 MiB, the small tensors take one of 2
// MiB, and a second gather in flight takes one of 12 MiB: then 27.5 MiB are
// live and 34 MiB are reserved.
//
// 30 MiB hold the live bytes, so that the second gather is hidden.
// RUN: %{run}"memory-budget=30MiB buckets=off split=off" | FileCheck %s --check-prefix=LIVE
// LIVE: BlockScheduled
// LIVE-NOT: ReservedBytes
// LIVE-SAME: the step takes 300 ns instead of 400, and 28835904 bytes instead of 17301600, for a budget of 31457280 (constructed)

// They do not hold what is reserved: the second gather starts when the result
// of the first one is free. The bytes beside the program come on top.
// RUN: %{run}"memory-budget=30MiB budget-on=reserved buckets=off split=off strict" \
// RUN:   | FileCheck %s --check-prefix=RESERVED
// RUN: %{run}"memory-budget=1054MiB reserved-bytes=1GiB budget-on=reserved buckets=off split=off strict" \
// RUN:   | FileCheck %s --check-prefix=RESERVED
// RESERVED-NOT: BudgetExceeded
// RESERVED: BlockKept | Category:commsched | Function=step | BudgetBytes=31457280,
// RESERVED-SAME: which takes 400 ns and 17301600 bytes, for a budget of 31457280, of which the allocator reserves 23068672", ReservedBytes=23068672,

// With 34 MiB there is room for both.
// RUN: %prints %{run}"memory-budget=34MiB budget-on=reserved buckets=off split=off strict" \
// RUN:   'the step takes 300 ns instead of 400, and 28835904 bytes instead of 17301600, for a budget of 35651584, of which the allocator reserves 35651584 (constructed)'

// Expandable segments take two pages of 20 MiB for both gathers.
// RUN: %prints %{run}"memory-budget=42MiB budget-on=reserved allocator=pytorch-expandable buckets=off split=off strict" \
// RUN:   'the step takes 300 ns{{.*}} for a budget of 44040192, of which the allocator reserves 44040192 (constructed)'
// RUN: %prints %{run}"memory-budget=41MiB budget-on=reserved allocator=pytorch-expandable buckets=off split=off strict" 'which takes 400 ns{{.*}} of which the allocator reserves 23068672'

// Over the budget: the schedule that reserves least, and both figures.
// RUN: %{run}"memory-budget=21MiB budget-on=reserved buckets=off split=off" | \
// RUN:   FileCheck %s --check-prefix=OVER
// OVER: BudgetExceeded | Category:commsched | Function=step | BudgetBytes=22020096, PeakBytes=17301600,
// OVER-SAME: the allocator reserves 23068672 bytes for the schedule that needs least, 1048576 over the budget of 22020096; 17301600 of them are live at the peak", ReservedBytes=23068672
// RUN: not commsched-opt %t.mlir --commsched-schedule="memory-budget=21MiB budget-on=reserved buckets=off split=off strict" \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRICT
// STRICT: error: cannot be scheduled: the allocator reserves 23068672 bytes

// The pipeline has the options, too.
// RUN: not commsched-opt %t.mlir --commsched-pipeline="memory-budget=1024MiB reserved-bytes=1003MiB budget-on=reserved allocator=pytorch buckets=off split=off strict" \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRICT

commsched.group @g size(4)

func.func @step(%x: tensor<4xf64>, %a: tensor<2883584xi8>,
                %b: tensor<2883584xi8>) -> tensor<4xf64> {
  $run(%fa = all_gather %a on @g dim(0) {commsched.runtime_ns = 100 : i64} : tensor<2883584xi8> -> tensor<11534336xi8>)
  %y = commsched.compute "a"(%x, %fa) {commsched.runtime_ns = 100 : i64}
      : (tensor<4xf64>, tensor<11534336xi8>) -> tensor<4xf64>
  $run(%fb = all_gather %b on @g dim(0) {commsched.runtime_ns = 100 : i64} : tensor<2883584xi8> -> tensor<11534336xi8>)
  %z = commsched.compute "b"(%y, %fb) {commsched.runtime_ns = 100 : i64}
      : (tensor<4xf64>, tensor<11534336xi8>) -> tensor<4xf64>
  return %z : tensor<4xf64>
}
