// Operations of tosa are computed: elementwise ones with operands of size 1,
// products, reductions, changes of shape, branches.

// RUN: rm -rf %t && mkdir -p %t/in
// RUN: %python %S/Inputs/npy.py make %t/in/arg0.npy '<f4' 1x2x2 1 2 3 -4
// RUN: %python %S/Inputs/npy.py make %t/in/arg1.npy '|b1' - 1
// RUN: commsched-run %s --ranks=2 --inputs-dir=%t/in --output-dir=%t/out
// RUN: %python %S/Inputs/npy.py show %t/out/rank1/*.npy | FileCheck %s

// Before scheduling and after.
// RUN: commsched-opt %s --commsched-pipeline -o %t/scheduled.mlir
// RUN: commsched-run %t/scheduled.mlir --ranks=2 --inputs-dir=%t/in \
// RUN:   --output-dir=%t/scheduled
// RUN: %python %S/Inputs/npy.py show %t/scheduled/rank1/*.npy | FileCheck %s

// The square of [[1, 2], [3, -4]] is [[7, -6], [-9, 22]].
// CHECK: result0.npy <f4 (1, 2, 2) 15.0 1.0 1.0 45.0{{$}}
// CHECK: result1.npy <f4 (1, 2) 14.0 44.0{{$}}
// CHECK: result2.npy <f4 (1, 2, 1) 7.0 -9.0{{$}}
// CHECK: result3.npy <f4 (1, 2, 2) 2.0 4.0 6.0 -8.0{{$}}

commsched.group @all size(2)

func.func @step(%x: tensor<1x2x2xf32>, %c: tensor<i1>)
    -> (tensor<1x2x2xf32>, tensor<1x2xf32>, tensor<1x2x1xf32>,
        tensor<1x2x2xf32>) {
  %zero = "tosa.const"() {values = dense<0.0> : tensor<1xf32>}
      : () -> tensor<1xf32>
  %product = tosa.matmul %x, %x, %zero, %zero
      : (tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1xf32>, tensor<1xf32>)
      -> tensor<1x2x2xf32>
  %f = commsched.all_reduce %product on @all reduction(sum)
      : tensor<1x2x2xf32> -> !commsched.future<tensor<1x2x2xf32>>
  %one = "tosa.const"() {values = dense<1.0> : tensor<1x1x1xf32>}
      : () -> tensor<1x1x1xf32>
  %begin = tosa.const_shape {values = dense<[0, 0, 0]> : tensor<3xindex>}
      : () -> !tosa.shape<3>
  %size = tosa.const_shape {values = dense<[1, 2, 1]> : tensor<3xindex>}
      : () -> !tosa.shape<3>
  %column = tosa.slice %product, %begin, %size
      : (tensor<1x2x2xf32>, !tosa.shape<3>, !tosa.shape<3>)
      -> tensor<1x2x1xf32>
  %doubled = tosa.cond_if %c : tensor<i1> -> tensor<1x2x2xf32> {
    %sum = tosa.add %x, %x
        : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
    tosa.yield %sum : tensor<1x2x2xf32>
  } else {
    tosa.yield %x : tensor<1x2x2xf32>
  }
  %reduced = commsched.wait %f : !commsched.future<tensor<1x2x2xf32>>
  %more = tosa.add %reduced, %one
      : (tensor<1x2x2xf32>, tensor<1x1x1xf32>) -> tensor<1x2x2xf32>
  %clamped = tosa.clamp %more {min_val = 1.0 : f32, max_val = 99.0 : f32}
      : (tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
  %top = tosa.reduce_max %reduced {axis = 1 : i32}
      : (tensor<1x2x2xf32>) -> tensor<1x1x2xf32>
  %flat = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>}
      : () -> !tosa.shape<2>
  %row = tosa.reshape %top, %flat
      : (tensor<1x1x2xf32>, !tosa.shape<2>) -> tensor<1x2xf32>
  return %clamped, %row, %column, %doubled
      : tensor<1x2x2xf32>, tensor<1x2xf32>, tensor<1x2x1xf32>,
        tensor<1x2x2xf32>
}
