// RUN: %prints commsched-run %s --opt-level=0 -o /dev/null --compare=%s 'equal: all 12 elements on 1 rank'

// Conversions for which processors have no instruction.

func.func @main(%x: tensor<4xf64>) -> (tensor<4xbf16>, tensor<4xf16>, tensor<4xf64>) {
  %a = arith.truncf %x : tensor<4xf64> to tensor<4xbf16>
  %b = arith.truncf %x : tensor<4xf64> to tensor<4xf16>
  %c = arith.extf %a : tensor<4xbf16> to tensor<4xf64>
  return %a, %b, %c : tensor<4xbf16>, tensor<4xf16>, tensor<4xf64>
}
