// DEFINE: %{dump} = commsched-opt %s --dump-pass-pipeline -o /dev/null 2>&1 --commsched-inductor-pipeline=

// RUN: %{dump} | FileCheck %s --check-prefixes=ORDER,PEAK,RECOMMENDED
// RUN: %{dump}order-collectives=false | FileCheck %s --check-prefixes=NO-ORDER,PEAK,RECOMMENDED
// RUN: %{dump}reorder_for_peak_memory=false | FileCheck %s --check-prefixes=ORDER,NO-PEAK,RECOMMENDED
// RUN: %{dump}memory-budget=5% | FileCheck %s --check-prefixes=BUDGET
// RUN: %{dump}"bucket_all_gathers_fx=all bucket_reduce_scatters_fx=only_fsdp bucket_all_reduces_fx=all" \
// RUN:   | FileCheck %s --check-prefixes=BUCKETS,PEAK,RECOMMENDED
// RUN: %{dump}"bucket_all_reduces_fx=only_fsdp bucket-cap-mb=0.5" | FileCheck \
// RUN:   %s --check-prefix=REDUCE-BUCKETS
// RUN: %{dump}passes=simple_overlap,sink_waits_iterative,sink_waits,raise_comms,reorder_compute_for_overlap,reorder_communication_preserving_peak_memory,sink_waits \
// RUN:   | FileCheck %s --check-prefixes=ORDER,PEAK,GIVEN

// What the pipeline consists of.

//      BUCKETS: func.func(
// BUCKETS-NEXT:   commsched-bucket-all-gather{cap-mb={2.000000e+03}
// BUCKETS-SAME:     fsdp-only=false {{.*}}mode=copy {{.*}}plan=
// BUCKETS-NEXT:   commsched-bucket-reduce-scatter{{.*}}cap-mb={2.000000e+03}
// BUCKETS-SAME:     fsdp-only=true {{.*}}mode=copy {{.*}}plan=
// BUCKETS-NEXT:   commsched-bucket-all-reduce{{.*}}cap-mb={2.000000e+03}
// BUCKETS-SAME:     fsdp-only=false {{.*}}mode=copy {{.*}}plan=
// BUCKETS-NEXT:   commsched-order-collectives,
//      REDUCE-BUCKETS: func.func(
// REDUCE-BUCKETS-NEXT:   commsched-bucket-all-reduce{{.*}}cap-mb={5.000000e-01} fsdp-only=true
// REDUCE-BUCKETS-NEXT:   commsched-order-collectives,
//      ORDER: func.func(
// ORDER-NEXT:   commsched-order-collectives,
//   NO-ORDER: func.func(
// NO-ORDER-NOT: commsched-order-collectives
//         PEAK: commsched-reorder-for-peak-memory{},
// NO-PEAK-NOT: commsched-reorder-for-peak-memory
//      RECOMMENDED: commsched-reorder-comms-preserving-peak-memory{
// RECOMMENDED-SAME: memory-budget= {{.*}} reorder_iterative_peak_memory_budget=2.000000e-01
// RECOMMENDED-NEXT: commsched-sink-waits-iterative{
// RECOMMENDED-SAME: memory-budget= {{.*}} sink_iterative_peak_memory_budget=2.000000e-01
// RECOMMENDED-NEXT: commsched-reorder-comms-preserving-peak-memory{
// RECOMMENDED-NEXT: )
//      GIVEN: commsched-simple-overlap,
// GIVEN-NEXT: commsched-sink-waits-iterative{
// GIVEN-NEXT: commsched-sink-waits,
// GIVEN-NEXT: commsched-raise-comms,
// GIVEN-NEXT: commsched-reorder-compute-for-overlap,
// GIVEN-NEXT: commsched-reorder-comms-preserving-peak-memory{
// GIVEN-NEXT: commsched-sink-waits
// GIVEN-NEXT: )
//      BUDGET: commsched-reorder-comms-preserving-peak-memory{{.*}} memory-budget=5%
// BUDGET-NEXT: commsched-sink-waits-iterative{{.*}} memory-budget=5%
// BUDGET-NEXT: commsched-reorder-comms-preserving-peak-memory{{.*}} memory-budget=5%

// It runs by its name in a pipeline as well, and is the same as its passes.
// RUN: commsched-opt %s --pass-pipeline='builtin.module(commsched-inductor-pipeline{order-collectives=false memory-budget=10%})' > %t
// RUN: commsched-opt %s --commsched-inductor-pipeline="order-collectives=false memory-budget=10%" | diff - %t
// RUN: commsched-opt %s --commsched-reorder-for-peak-memory \
// RUN:   --commsched-reorder-comms-preserving-peak-memory=memory-budget=10% \
// RUN:   --commsched-sink-waits-iterative=memory-budget=10% \
// RUN:   --commsched-reorder-comms-preserving-peak-memory=memory-budget=10% | diff - %t

// What it makes of a step, with the order of collectives fixed and without.
// RUN: commsched-opt %s --commsched-inductor-pipeline=memory-budget=1000% \
// RUN:   | %orders | FileCheck %s --check-prefix=FIXED
// RUN: commsched-opt %s \
// RUN:   --commsched-inductor-pipeline="memory-budget=1000% order-collectives=false" \
// RUN:   | %orders | FileCheck %s --check-prefix=FREE
// RUN: commsched-opt %s --commsched-inductor-pipeline=bucket_all_reduces_fx=all \
// RUN:   | FileCheck %s --check-prefix=MERGED
// RUN: commsched-opt %s --commsched-inductor-pipeline > %t
// RUN: commsched-opt %s --commsched-inductor-pipeline="bucket_all_gathers_fx=all bucket_reduce_scatters_fx=all bucket_all_reduces_fx=only_fsdp" \
// RUN:   | diff %t -

// Options that make no sense.
// RUN: not %{dump}passes=sink_waits,bucket | FileCheck %s --check-prefix=UNKNOWN-PASS
// UNKNOWN-PASS: 'bucket' is none of sink_waits, raise_comms, reorder_compute_for_overlap, reorder_communication_preserving_peak_memory, sink_waits_iterative, simple_overlap
// RUN: not %{dump}bucket_all_gathers_fx=some | FileCheck %s --check-prefix=UNKNOWN-BUCKETS
// UNKNOWN-BUCKETS: bucket_all_gathers_fx option: Cannot find option named 'some'
// RUN: not %{dump}"bucket_all_gathers_fx=all bucket-cap-mb=0" | FileCheck %s --check-prefix=BAD-CAP
// BAD-CAP: error: option 'bucket-cap-mb' of pipeline 'commsched-inductor-pipeline' must be of sizes above 0 and up to 1e12, but has 0.0
// Also where nothing is merged.
// RUN: not %{dump}bucket-cap-mb=0 | FileCheck %s --check-prefix=BAD-CAP
// RUN: not %{dump}reorder_iterative_peak_memory_budget=0.2 | FileCheck %s --check-prefix=UNKNOWN-OPTION
// UNKNOWN-OPTION: no such option reorder_iterative_peak_memory_budget

!t = tensor<16xi8>
!u = tensor<8xi8>
commsched.group @g size(2)

// The second start may go up to the top, and passes the first then. With the
// order fixed, it stays behind it.
// FIXED-LABEL: func.func @step({{.*}}attributes {commsched.baseline_peak_bytes = 64 : i64}
// FIXED-NEXT: // order: mm1 first second mm2 wait2 wait1{{$}}
// FIXED: "first", commsched.order = 0
// FIXED: "second", commsched.order = 1
// FREE-LABEL: func.func @step({{.*}}attributes {commsched.baseline_peak_bytes = 64 : i64}
// FREE-NEXT: // order: second mm1 first mm2 wait2 wait1{{$}}
// FREE-NOT: commsched.order
// Merged, they start behind the first product, and have one place in the order.
// MERGED-LABEL: func.func @step(
// MERGED: "mm1"
// MERGED-NEXT: tensor.concat
// MERGED-NEXT: commsched.all_reduce {{.*}}"first+second", commsched.order = 0
// MERGED-NOT: commsched.all_reduce
// MERGED: "mm2"
// MERGED: commsched.wait {{.*}}"wait1+wait2"
func.func @step(%x: !t, %y: !u) -> (!t, !t, !u) {
  %mm1 = commsched.compute "mm1"(%x) {flops = 1.0e9 : f64} : (!t) -> !t
  %f = commsched.all_reduce %mm1 on @g reduction(max) {commsched.name = "first"}
      : !t -> !commsched.future<!t>
  %w = commsched.wait %f {commsched.name = "wait1"} : !commsched.future<!t>
  %f1 = commsched.all_reduce %y on @g reduction(max) {commsched.name = "second"}
      : !u -> !commsched.future<!u>
  %w1 = commsched.wait %f1 {commsched.name = "wait2"} : !commsched.future<!u>
  %mm2 = commsched.compute "mm2"(%x) {flops = 1.0e9 : f64} : (!t) -> !t
  return %w, %mm2, %w1 : !t, !t, !u
}
