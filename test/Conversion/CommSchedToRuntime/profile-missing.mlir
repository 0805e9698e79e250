// RUN: not commsched-opt %s --convert-commsched-to-requests=profile=%t.missing 2>&1 | FileCheck %s

// CHECK: profile-missing.mlir:{{.*}} error: option 'profile' of pass 'convert-commsched-to-requests' cannot be used: {{.*}}.missing
// CHECK-NOT: func.func
func.func @step() {
  return
}
