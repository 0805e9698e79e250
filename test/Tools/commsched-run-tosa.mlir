// Operations of tosa are computed: elementwise ones with operands of size 1,
// products, reductions, changes of shape, branches.

// RUN: rm -rf %t && mkdir -p %t/in
// RUN: %python %S/Inputs/npy.py make %t/in/arg0.npy '<f4' 1x2x2 1 2 3 -4
// RUN: %python %S/Inputs/npy.py make %t/in/arg1.npy '|b1' - 1
// RUN: commsched-run %s --ranks=2 --inputs-dir=%t/in --output-dir=%t/out
// RUN: %python %S/Inputs/npy.py show %t/out/rank1/*.npy | FileCheck %s

// Before scheduling and after.
// RUN: commsched-opt %s --commsched-pipeline -o %t/scheduled.mlir
// RUN: commsched-run %t/scheduled.mlir --ranks=2 --inputs-dir=%t/in --output-dir=%t/scheduled
// RUN: %python %S/Inputs/npy.py show %t/scheduled/rank1/*.npy | FileCheck %s

// The square of [[1, 2], [3, -4]] is [[7, -6], [-9, 22]].
// CHECK: result0.npy <f4 (1, 2, 2) 15.0 1.0 1.0 45.0{{$}}
// CHECK: result1.npy <f4 (1, 2) 14.0 44.0{{$}}
// CHECK: result2.npy <f4 (1, 2, 1) 7.0 -9.0{{$}}
// CHECK: result3.npy <f4 (1, 2, 2) 2.0 4.0 6.0 -8.0{{$}}

!t = tensor<1x2x2xf32>
!u = tensor<1x2xf32>
!v = tensor<1xf32>
commsched.group @all size(2)

func.func @step(%x: !t, %c: tensor<i1>) -> (!t, !u, tensor<1x2x1xf32>, !t) {
  %zero = "tosa.const"() {values = dense<0.0> : !v} : () -> !v
  %product = tosa.matmul %x, %x, %zero, %zero : (!t, !t, !v, !v) -> !t
  %f = commsched.all_reduce %product on @all reduction(sum) : !t -> !commsched.future<!t>
  %one = "tosa.const"() {values = dense<1.0> : tensor<1x1x1xf32>}
      : () -> tensor<1x1x1xf32>
  %begin = tosa.const_shape {values = dense<[0, 0, 0]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %size = tosa.const_shape {values = dense<[1, 2, 1]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %column = tosa.slice %product, %begin, %size : (!t, !tosa.shape<3>,
      !tosa.shape<3>) -> tensor<1x2x1xf32>
  %doubled = tosa.cond_if %c : tensor<i1> -> !t {
    %sum = tosa.add %x, %x : (!t, !t) -> !t
    tosa.yield %sum : tensor<1x2x2xf32>
  } else {
    tosa.yield %x : tensor<1x2x2xf32>
  }
  %reduced = commsched.wait %f : !commsched.future<!t>
  %more = tosa.add %reduced, %one : (!t, tensor<1x1x1xf32>) -> !t
  %clamped = tosa.clamp %more {min_val = 1.0 : f32, max_val = 99.0 : f32} : (!t) -> !t
  %top = tosa.reduce_max %reduced {axis = 1 : i32} : (!t) -> tensor<1x1x2xf32>
  %flat = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %row = tosa.reshape %top, %flat : (tensor<1x1x2xf32>, !tosa.shape<2>) -> !u
  return %clamped, %row, %column, %doubled : !t, !u, tensor<1x2x1xf32>, !t
}
