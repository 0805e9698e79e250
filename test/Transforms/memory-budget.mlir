// DEFINE: %{raise} = commsched-opt %s %remarks -o /dev/null 2>&1 \
// DEFINE:   --commsched-reorder-comms-preserving-peak-memory=
// DEFINE: %{sink} = commsched-opt %s %remarks -o /dev/null 2>&1 --commsched-sink-waits-iterative=

// What a budget comes to, told by a collective that takes more. Each program has
// a peak of 1,600 bytes, of which 400 are arguments that stay.

// RUN: %{raise} | FileCheck %s --check-prefix=RAISE -DLIMIT=1920
// RUN: %{sink} | FileCheck %s --check-prefix=SINK -DLIMIT=1920

// As a fraction on top of the peak, by the option of the reference.
// RUN: %{raise}reorder_iterative_peak_memory_budget=0.05 | FileCheck %s --check-prefix=RAISE -DLIMIT=1680
// RUN: %{sink}sink_iterative_peak_memory_budget=0.05 | FileCheck %s --check-prefix=SINK -DLIMIT=1680

// As a percentage, rounded down to a byte. It counts, not the fraction.
// RUN: %{raise}memory-budget=5% | FileCheck %s --check-prefix=RAISE -DLIMIT=1680
// RUN: %{raise}memory-budget=0.999% | FileCheck %s --check-prefix=RAISE -DLIMIT=1615
// RUN: %{raise}"memory-budget=5% reorder_iterative_peak_memory_budget=1e300" \
// RUN:   | FileCheck %s --check-prefix=RAISE -DLIMIT=1680

// As bytes.
// RUN: %{raise}memory-budget=1601 | FileCheck %s --check-prefix=RAISE -DLIMIT=1601

// All that it takes, and one byte less.
// RUN: %{raise}memory-budget=2399 | FileCheck %s --check-prefix=RAISE -DLIMIT=2399
// RUN: %{raise}memory-budget=2400 | FileCheck %s --check-prefix=FREE

// As a fraction of what the reference counts, still on top of the whole.
// RUN: %{raise}reference-memory-model=true | FileCheck %s --check-prefix=RAISE -DLIMIT=1840
// RUN: %{sink}reference-memory-model=true | FileCheck %s --check-prefixes=SINK,INSIDE -DLIMIT=1840

// RUN: %{raise}"reference-memory-model=true memory-budget=5%" | FileCheck %s --check-prefix=RAISE -DLIMIT=1660

// More than there is.
// RUN: %{raise}memory-budget=1e300% | FileCheck %s --check-prefix=FREE
// RUN: %{raise}reorder_iterative_peak_memory_budget=inf | FileCheck %s --check-prefix=FREE

commsched.group @g size(2)

// RAISE: Function=raise
// RAISE-SAME: limited by memory: passing use takes 2400 bytes of [[LIMIT]]"
// FREE: its start moves up by 2, limited by nothing
func.func @raise(%x: tensor<300xi8>, %s: tensor<200xi8> {commsched.freeable},
                 %unused: tensor<100xi8> {commsched.freeable})
    -> (tensor<10xi8>, tensor<400xi8>) {
  %make = commsched.compute "make"() : () -> tensor<990xi8>
  %use = commsched.compute "use"(%make) : (tensor<990xi8>) -> tensor<10xi8>
  %f = commsched.all_gather %s, %s on @g dim(0)
      : tensor<200xi8>, tensor<200xi8>
      -> !commsched.future<tensor<400xi8>, tensor<400xi8>>
  %w:2 = commsched.wait %f : !commsched.future<tensor<400xi8>, tensor<400xi8>>
  return %use, %w#0 : tensor<10xi8>, tensor<400xi8>
}

// SINK: Function=sink
// SINK-SAME: limited by memory: passing large takes 2000 bytes of [[LIMIT]]"
func.func @sink(%x: tensor<300xi8>, %s: tensor<200xi8> {commsched.freeable},
                %unused: tensor<100xi8> {commsched.freeable})
    -> (tensor<200xi8>, tensor<800xi8>) {
  %make = commsched.compute "make"() : () -> tensor<400xi8>
  %f = commsched.reduce_scatter %make on @g reduction(max) dim(0)
      : tensor<400xi8> -> !commsched.future<tensor<200xi8>>
  %w = commsched.wait %f : !commsched.future<tensor<200xi8>>
  %large = commsched.compute "large"(%s) : (tensor<200xi8>) -> tensor<800xi8>
  return %w, %large : tensor<200xi8>, tensor<800xi8>
}

// Around the loop 600 bytes are live.
// INSIDE: limited by memory: passing large takes 1400 bytes of 1240"
func.func @inside(%x: tensor<300xi8>, %s: tensor<200xi8> {commsched.freeable},
                  %unused: tensor<100xi8> {commsched.freeable}, %i: index) {
  scf.for %j = %i to %i step %i {
    %make = commsched.compute "make"() : () -> tensor<400xi8>
    %f = commsched.reduce_scatter %make on @g reduction(max) dim(0)
        : tensor<400xi8> -> !commsched.future<tensor<200xi8>>
    %w = commsched.wait %f : !commsched.future<tensor<200xi8>>
    %large = commsched.compute "large"(%s) : (tensor<200xi8>) -> tensor<800xi8>
    commsched.compute "end"(%w, %large) {mutates = array<i64>} : (tensor<200xi8>, tensor<800xi8>) -> ()
  }
  return
}
