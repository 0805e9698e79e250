// RUN: not commsched-opt %s --test-commsched-merge-step=name=g 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TAKEN
// RUN: not commsched-opt %s --test-commsched-merge-step=name= 2>&1 \
// RUN:   | FileCheck %s --check-prefix=EMPTY

// TAKEN: error: option 'name' of pass 'test-commsched-merge-step' is '@g', but the module has that symbol
// TAKEN: merge-step-invalid.mlir:[[@LINE+2]]:1: note: it is here
// EMPTY: error: option 'name' of pass 'test-commsched-merge-step' must not be empty
commsched.group @g size(2)

func.func @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func @b(%x: tensor<4xf32> {
    commsched.source = {function = @a, result = 0 : i64}}) {
  return
}
