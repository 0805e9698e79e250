// RUN: %rows %s | commsched-opt --commsched-mimic-autograd-order -o /dev/null %remarks 2>&1 \
// RUN:   | FileCheck %s

// Three checkpoints of 10 bytes, from each of which 100 are computed again; the
// tangent and the gradients have 1. In front of the backward all three are live
// at once; afterwards one, beside the checkpoints that are not used up yet.

// CHECK: remark: [Passed] BlockReordered
// CHECK-SAME: Function=checkpointed
// CHECK-SAME: Moved=2, PeakBytesAfter=131, PeakBytesBefore=311
// CHECK-SAME: 2 of 3 operations in front of the backward moved to where they are needed
func.func @checkpointed(%c0: tensor<10xi8> $saved, %c1: tensor<10xi8> $saved, %c2: tensor<10xi8> $saved,
    %t: tensor<1xi8> $tangent) -> tensor<1xi8> {
  $take(%a0 = a0 %c0 in 1 ns : (tensor<10xi8>) -> tensor<100xi8>)
  $take(%a1 = a1 %c1 in 1 ns : (tensor<10xi8>) -> tensor<100xi8>)
  $take(%a2 = a2 %c2 in 1 ns : (tensor<10xi8>) -> tensor<100xi8>)
  $take(%g2 = g2 %t, %a2 in 1 ns : (tensor<1xi8>, tensor<100xi8>) -> tensor<1xi8>)
  $take(%g1 = g1 %g2, %a1 in 1 ns : (tensor<1xi8>, tensor<100xi8>) -> tensor<1xi8>)
  $take(%g0 = g0 %g1, %a0 in 1 ns : (tensor<1xi8>, tensor<100xi8>) -> tensor<1xi8>)
  return %g0 : tensor<1xi8>
}
