// Every type of number goes in and out, in memory and by value. Formats that
// NumPy lacks are their bits.

// RUN: rm -rf %t && mkdir -p %t/in
// RUN: %python %S/Inputs/npy.py make %t/in/arg0.npy '<V2' 3 16256 0 49024
// RUN: %python %S/Inputs/npy.py make %t/in/arg1.npy '|u1' - 56
// RUN: %python %S/Inputs/npy.py make %t/in/arg2.npy '<c8' 2x1 1 2 3 4
// RUN: %python %S/Inputs/npy.py make %t/in/arg3.npy '|b1' 4 1 0 0 1
// RUN: %python %S/Inputs/npy.py make %t/in/arg4.npy '<i8' - -9000000000
// RUN: %python %S/Inputs/npy.py make %t/in/arg5.npy '<f4' - 0.75
// RUN: %python %S/Inputs/npy.py make %t/in/arg6.npy '<i4' 0x3
// RUN: %python %S/Inputs/npy.py make %t/in/arg7.npy '<u2' 2 65535 1
// RUN: %python %S/Inputs/npy.py make %t/in/arg8.npy '<i8' - 7
// RUN: %python %S/Inputs/npy.py make %t/in/arg9.npy '|b1' - 1
// RUN: %python %S/Inputs/npy.py make %t/in/arg10.npy '<u2' - 16256
// RUN: %python %S/Inputs/npy.py make %t/in/arg11.npy '<f2' 2 0.5 -2
// RUN: %python %S/Inputs/npy.py make %t/in/arg12.npy '|i1' 2 -3 5
// RUN: commsched-run %s --entry=all --inputs-dir=%t/in --output-dir=%t/out
// RUN: %python %S/Inputs/npy.py show %t/out/rank0/*.npy | FileCheck %s

// CHECK: result0.npy <u2 (3,) 16384 0 49152{{$}}
// CHECK: result1.npy |u1 () 56{{$}}
// CHECK: result10.npy <u2 () 16256{{$}}
// CHECK: result11.npy <f2 (2,) 1.0 -4.0{{$}}
// CHECK: result12.npy |i1 (2,) -3 5{{$}}
// CHECK: result2.npy <c8 (2, 1) (1+2j) (3+4j){{$}}
// CHECK: result3.npy |b1 (4,) True False False True{{$}}
// CHECK: result4.npy <i8 () -9000000000{{$}}
// CHECK: result5.npy <f4 () 1.5{{$}}
// CHECK: result6.npy <i4 (0, 3){{$}}
// CHECK: result7.npy <u2 (2,) 65535 1{{$}}
// CHECK: result8.npy <i8 () 7{{$}}
// CHECK: result9.npy |b1 () True{{$}}

func.func @all(
    %bf16: tensor<3xbf16>, %fp8: tensor<f8E4M3FN>,
    %complex: tensor<2x1xcomplex<f32>>, %bools: tensor<4xi1>, %i64: i64,
    %f32: f32, %empty: tensor<0x3xi32>, %ui16: tensor<2xui16>, %index: index,
    %bool: i1, %bf16value: bf16, %f16: tensor<2xf16>, %i8: tensor<2xi8>)
    -> (tensor<3xbf16>, tensor<f8E4M3FN>, tensor<2x1xcomplex<f32>>,
        tensor<4xi1>, i64, f32, tensor<0x3xi32>, tensor<2xui16>, index, i1,
        bf16, tensor<2xf16>, tensor<2xi8>) {
  %bf16s = arith.addf %bf16, %bf16 : tensor<3xbf16>
  %f16s = arith.addf %f16, %f16 : tensor<2xf16>
  %f32s = arith.addf %f32, %f32 : f32
  return %bf16s, %fp8, %complex, %bools, %i64, %f32s, %empty, %ui16, %index,
      %bool, %bf16value, %f16s, %i8
      : tensor<3xbf16>, tensor<f8E4M3FN>, tensor<2x1xcomplex<f32>>,
        tensor<4xi1>, i64, f32, tensor<0x3xi32>, tensor<2xui16>, index, i1,
        bf16, tensor<2xf16>, tensor<2xi8>
}

// A single number is returned in a register, a complex one in memory.
// RUN: %python %S/Inputs/npy.py make %t/x.npy '<f8' - 0.1
// RUN: commsched-run %s --entry=one --input=0=%t/x.npy --output-dir=%t/one
// RUN: %prints %python %S/Inputs/npy.py show %t/one/rank0/result0.npy 'result0.npy <f8 () 0.2{{$}}'
func.func @one(%x: f64) -> f64 {
  %sum = arith.addf %x, %x : f64
  return %sum : f64
}

// RUN: %python %S/Inputs/npy.py make %t/c.npy '<c16' - 1 -2
// RUN: commsched-run %s --entry=pair --input=0=%t/c.npy --output-dir=%t/pair
// RUN: %prints %python %S/Inputs/npy.py show %t/pair/rank0/result0.npy 'result0.npy <c16 () (1-2j){{$}}'
func.func @pair(%x: complex<f64>) -> complex<f64> {
  return %x : complex<f64>
}
