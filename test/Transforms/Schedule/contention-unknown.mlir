// RUN: commsched-test-opt %s -o /dev/null --remark-policy=all \
// RUN:   --remark-format=emitRemark --remarks-filter=commsched \
// RUN:   --commsched-set-costs=exclusive-groups --commsched-schedule 2>&1 | FileCheck %s
// RUN: commsched-test-opt %s -o /dev/null --remark-policy=all \
// RUN:   --remark-format=emitRemark --remarks-filter=commsched \
// RUN:   --commsched-schedule 2>&1 | FileCheck %s --check-prefix=FREE

// A group of another dialect, of which is not known which ranks it has, is
// exclusive with every other.

commsched.group @dp size(8)

// CHECK: remark: [Analysis] UnknownContention | Category:commsched | Function=f
// CHECK-SAME: the ranks of group "c" are not known
// CHECK-NOT: UnknownContention
// CHECK: takes 60 ns
// FREE-NOT: UnknownContention
// FREE: takes 30 ns
func.func @f(%x: tensor<16xi8>) {
  %h = commsched_test.exchange %x over "c" ranks(2)
      {commsched.runtime_ns = 30 : i64} : tensor<16xi8>
  %j = commsched.all_reduce %x on @dp reduction(sum)
      {commsched.runtime_ns = 30 : i64}
      : tensor<16xi8> -> !commsched.future<tensor<16xi8>>
  %a = commsched_test.finish %h : tensor<16xi8>
  %c = commsched.wait %j : !commsched.future<tensor<16xi8>>
  return
}
