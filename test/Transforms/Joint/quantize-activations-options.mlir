// Options that cannot be, and defaults.

// RUN: %fails commsched-opt %s -o /dev/null --commsched-quantize-activations=quant-type=f8E4M3 \
// RUN:   "for the --quant-type option: Cannot find option named 'f8E4M3'!"

// RUN: %fails commsched-opt %s -o /dev/null \
// RUN:   --commsched-quantize-activations=allowed-dtypes=bf16,f8E5M2 \
// RUN:   "for the --allowed-dtypes option: 'f8E5M2' is none of bf16, f16, f32, f64"

// RUN: %fails commsched-opt %s -o /dev/null --commsched-quantize-activations=size-in-mb=-1 \
// RUN:   "error: option 'size-in-mb' of pass 'commsched-quantize-activations' must be finite and not negative, but is -1"

// RUN: %fails commsched-opt %s -o /dev/null --commsched-quantize-activations=size-in-mb=nan \
// RUN:   "error: option 'size-in-mb' of pass 'commsched-quantize-activations' must be finite and not negative, but is nan"

// By default bf16 of 100 MiB and more.

// RUN: commsched-opt %s --commsched-quantize-activations | FileCheck %s --check-prefix=DEFAULT
!t = tensor<1x52428799xbf16>

// DEFAULT: return
// DEFAULT-SAME: : tensor<1x52428799xbf16>, tensor<1x52428800xf8E5M2>, tensor<1x52428800xf32>, tensor<1x1xf32>
func.func @f_forward(%x: tensor<8xbf16> {commsched.role = "input"}) -> (!t,
    tensor<1x52428800xbf16>, tensor<1x52428800xf32>) {
  %a = commsched.compute "a"(%x) : (tensor<8xbf16>) -> !t
  %b = commsched.compute "b"(%x) : (tensor<8xbf16>) -> tensor<1x52428800xbf16>
  %c = commsched.compute "c"(%x) : (tensor<8xbf16>) -> tensor<1x52428800xf32>
  return %a, %b, %c : !t, tensor<1x52428800xbf16>, tensor<1x52428800xf32>
}
func.func @f_backward(%a: !t {commsched.role = "saved_activation"},
    %b: tensor<1x52428800xbf16> {commsched.role = "saved_activation"},
    %c: tensor<1x52428800xf32> {commsched.role = "saved_activation"}) {
  return
}

func.func @f(%x0: tensor<8xbf16> {commsched.role = "input"}) {
  %f:3 = call @f_forward(%x0) : (tensor<8xbf16>) -> (!t, tensor<1x52428800xbf16>, tensor<1x52428800xf32>)
  call @f_backward(%f#0, %f#1, %f#2) : (!t, tensor<1x52428800xbf16>, tensor<1x52428800xf32>) -> ()
  return
}
