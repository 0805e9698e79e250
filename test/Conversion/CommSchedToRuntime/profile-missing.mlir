// RUN: not commsched-opt %s --convert-commsched-to-requests=profile=%t.missing 2>&1 | FileCheck %s

// CHECK: error: option 'profile' of convert-commsched-to-requests cannot be used: {{.*}}.missing
// CHECK-NOT: func.func
func.func @step() {
  return
}
