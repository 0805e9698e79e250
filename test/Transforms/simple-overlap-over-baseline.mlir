// RUN: commsched-opt %s --commsched-simple-overlap | %orders | FileCheck %s

// Where an earlier pass has spent memory, the peak that it has left counts and
// not the baseline: nothing is put into another order to get back to that.
commsched.group @g size(4)
commsched.group @h size(2)

// CHECK-LABEL: func.func @raised({{.*}}attributes {commsched.baseline_peak_bytes = 100 : i64}
// CHECK-NEXT: // order: all_gather b all_reduce wait wait{{$}}
func.func @raised(%x: tensor<50xi8>) -> (tensor<200xi8>, tensor<100xi8>)
    attributes {commsched.baseline_peak_bytes = 100 : i64} {
  %f = commsched.all_gather %x on @g dim(0) : tensor<50xi8> -> !commsched.future<tensor<200xi8>>
  %b = commsched.compute "b"() : () -> tensor<100xi8>
  %f1 = commsched.all_reduce %b on @h reduction(max)
      : tensor<100xi8> -> !commsched.future<tensor<100xi8>>
  %w1 = commsched.wait %f1 : !commsched.future<tensor<100xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<200xi8>>
  return %w, %w1 : tensor<200xi8>, tensor<100xi8>
}
