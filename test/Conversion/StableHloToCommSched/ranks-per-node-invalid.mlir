// RUN: not commsched-opt %s --convert-stablehlo-to-commsched=ranks-per-node=0 2>&1 \
// RUN:   | FileCheck %s

// CHECK: error: the option 'ranks-per-node' is 0, and a node has at least one rank
module {
}
