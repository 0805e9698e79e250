// RUN: commsched-opt %s -o /dev/null --commsched-set-costs="link-sharing" \
// RUN:   --commsched-report="format=json" | FileCheck %s --check-prefix=GROUPS
// RUN: commsched-opt %s -o /dev/null --commsched-set-costs="link-sharing=d2h" \
// RUN:   --commsched-report="format=json" | FileCheck %s --check-prefix=OUT
// RUN: commsched-opt %s -o /dev/null --commsched-set-costs="link-sharing=d2h,h2d" \
// RUN:   --commsched-report="format=json" | FileCheck %s --check-prefix=BOTH
// RUN: %prints commsched-opt %s -o /dev/null --dump-pass-pipeline \
// RUN:   --commsched-pipeline="link-sharing=h2d,d2h" 'commsched-set-costs{{.*}} link-sharing=d2h,h2d'
// RUN: %fails commsched-opt %s -o /dev/null --commsched-set-costs="link-sharing=d2d" --commsched-report "--link-sharing option: Cannot find option named 'd2d'!"
// RUN: %fails commsched-opt %s -o /dev/null --commsched-set-costs="link-sharing=d2h,d2h" --commsched-report "--link-sharing option: Cannot find option named 'd2h,d2h'!"

// What transfers to and from the host take from collectives and computation:
// nothing, unless link-sharing names their streams. They never slow
// computation down. All three are issued at 0; 400 ns of computation follow.

!t = tensor<8xi8>
commsched.group @across size(16)

// GROUPS: "step_time_ns":400,
// GROUPS-SAME: "name":"out",{{[^}]*}}"end_ns":100,
// GROUPS-SAME: "name":"sum",{{[^}]*}}"end_ns":200,{{.*}}"name":"in",{{[^}]*}}"end_ns":300,

// OUT: "step_time_ns":400,
// OUT-SAME: "name":"out",{{[^}]*}}"end_ns":200,
// OUT-SAME: "name":"sum",{{[^}]*}}"end_ns":300,{{.*}}"name":"in",{{[^}]*}}"end_ns":300,

// BOTH: "step_time_ns":600,
// BOTH-SAME: "name":"out",{{[^}]*}}"end_ns":300,
// BOTH-SAME: "name":"sum",{{[^}]*}}"end_ns":500,{{.*}}"name":"in",{{[^}]*}}"end_ns":600,

func.func @step(%x: !t, %h: tensor<8xi8, #commsched.host>)
    -> (!t, !t, !t, tensor<8xi8, #commsched.host>) {
  %out = commsched.offload %x
      {commsched.name = "out", commsched.runtime_ns = 100}
      : !t -> !commsched.future<tensor<8xi8, #commsched.host>>
  %sum = commsched.all_reduce %x on @across reduction(sum)
      {commsched.name = "sum", commsched.runtime_ns = 200}
      : !t -> !commsched.future<!t>
  %in = commsched.reload %h {commsched.name = "in", commsched.runtime_ns = 300}
      : tensor<8xi8, #commsched.host> -> !commsched.future<!t>
  %y = commsched.compute "aten.mm"(%x) {commsched.runtime_ns = 400} : (!t) -> !t
  %a = commsched.wait %out : !commsched.future<tensor<8xi8, #commsched.host>>
  %b = commsched.wait %sum : !commsched.future<!t>
  %c = commsched.wait %in : !commsched.future<!t>
  return %y, %b, %c, %a : !t, !t, !t, tensor<8xi8, #commsched.host>
}
