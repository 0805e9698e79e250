// RUN: %fails commsched-opt %s --test-commsched-split-backward "error: option 'function' of pass 'test-commsched-split-backward' names '@backward', but there is no such function"
// RUN: not commsched-opt %s --test-commsched-split-backward=function=@g 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GROUP
// RUN: not commsched-opt %s --test-commsched-split-backward=function=external 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EXTERNAL
// RUN: not commsched-opt %s --test-commsched-split-backward="function=f input-gradients=0,2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RESULT
// RUN: not commsched-opt %s --test-commsched-split-backward="function=f input-gradients=0" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TAKEN

// GROUP: error: option 'function' of pass 'test-commsched-split-backward' names '@g', but there is no such function
// GROUP: split-backward-invalid.mlir:[[@LINE+3]]:1: note: the symbol is here
// EXTERNAL: error: option 'function' of pass 'test-commsched-split-backward' names '@external', which has no body
// EXTERNAL: split-backward-invalid.mlir:[[@LINE+2]]:1: note: the symbol is here
commsched.group @g size(2)
func.func private @external(tensor<4xf32>)

// RESULT: error: option 'input-gradients' of pass 'test-commsched-split-backward' names result 2, but '@f' has 2 results
// RESULT: split-backward-invalid.mlir:[[@LINE+3]]:1: note: the function is here
// TAKEN: split-backward-invalid.mlir:[[@LINE+2]]:1: error: 'func.func' op is to be split, and a half is to be '@f_weight', but the module has that symbol
// TAKEN: split-backward-invalid.mlir:[[@LINE+4]]:1: note: it is here
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
func.func private @f_weight()
