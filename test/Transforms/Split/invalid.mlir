// RUN: not commsched-opt %s --commsched-split=chunks=1 2>&1 | FileCheck %s
// CHECK: must be from 2 to 64, but is 1
func.func @empty() {
  return
}
