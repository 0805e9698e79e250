// RUN: commsched-opt %s --commsched-report -o /dev/null \
// RUN:   | FileCheck %s --strict-whitespace --match-full-lines
// RUN: commsched-opt %s --commsched-report=format=table -o /dev/null \
// RUN:   | FileCheck %s --strict-whitespace --match-full-lines

// The table for people, which is the default.

commsched.group @dp size(4)

//      CHECK:function @step
// CHECK-NEXT:  simulated: costs pinned in the program (commsched.runtime_ns)
// CHECK-NEXT:  operations                           5
// CHECK-NEXT:  collectives                          2  1 hidden
// CHECK-NEXT:  bytes communicated            6.00 MiB
// CHECK-NEXT:  step time                     2.750 ms
// CHECK-NEXT:  computation                   2.500 ms  90.9 % of the step
// CHECK-NEXT:  communication                 1.750 ms
// CHECK-NEXT:  exposed communication       250.000 us  9.1 % of the step
// CHECK-NEXT:  lower bound                   2.750 ms  the step is 0.0 % above it
// CHECK-NEXT:  tight lower bound             2.750 ms  the step is 0.0 % above it
// CHECK-NEXT:  merging lower bound           2.750 ms  the step is 0.0 % above it
// CHECK-NEXT:  peak memory                   7.00 MiB  at operation 1, aten.mm
// CHECK-EMPTY:
// CHECK-NEXT:  largest at the peak  counted as     bytes  operation
// CHECK-NEXT:  gather               collective  4.00 MiB          0
// CHECK-NEXT:  aten.mm                  result  2.00 MiB          1
// CHECK-NEXT:  %arg0                  argument  1.00 MiB          -
// CHECK-EMPTY:
// CHECK-NEXT:  collective    kind        group     bytes     start       end      wait     exposed
// CHECK-NEXT:  gather        all_gather  dp     4.00 MiB      0 ns  1.500 ms  2.500 ms        0 ns
// CHECK-NEXT:  all_reduce_1  all_reduce  dp     2.00 MiB  2.500 ms  2.750 ms  2.500 ms  250.000 us
// CHECK-EMPTY:
// CHECK-NEXT:  most exposed  limited by                                                                                  exposed
// CHECK-NEXT:  all_reduce_1  nothing left to hide it: all computation has to precede it, needs it, or runs beside it  250.000 us
// CHECK-EMPTY:
//  CHECK-NOT:{{.+}}
func.func @step(%a: tensor<262144xf32>) -> tensor<524288xf32> {
  %f = commsched.all_gather %a on @dp dim(0)
      {commsched.name = "gather", commsched.runtime_ns = 1500000}
      : tensor<262144xf32> -> !commsched.future<tensor<1048576xf32>>
  %y = commsched.compute "aten.mm"(%a) {commsched.runtime_ns = 2500000}
      : (tensor<262144xf32>) -> tensor<524288xf32>
  %full = commsched.wait %f : !commsched.future<tensor<1048576xf32>>
  %g = commsched.all_reduce %y on @dp reduction(sum) into %y
      {commsched.runtime_ns = 250000} : tensor<524288xf32>
      into tensor<524288xf32> -> !commsched.future<tensor<524288xf32>>
  %r = commsched.wait %g : !commsched.future<tensor<524288xf32>>
  return %r : tensor<524288xf32>
}
