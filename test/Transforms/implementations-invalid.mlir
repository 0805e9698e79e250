// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics --commsched-report -o /dev/null

LET $of(LIST) attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = LIST>>}
LET $copies {"copy-engine" = {latency_us = 1, bandwidth_gb_s = 1}}
LET $group size(4)
LET $T tensor<256xf32>
LET $U $T
LET $named(WHICH) {commsched.implementation = WHICH} : $T -> !commsched.future<$U>

// -----

module $target {
  commsched.group @dp $group
  func.func @f(%a: $T) {
    ROW
    %1 = commsched.wait %0 : !commsched.future<$U>
    return
  }
}

// -----

    $error('commsched.all_gather' op names the implementation 'copy-engine', but the target lists no implementations)
    %0 = commsched.all_gather %a on @dp dim(0) $named("copy-engine")
LET $target attributes {}
LET $U tensor<1024xf32>

    $error('commsched.all_gather' op names the implementation 'copy-engines', but the target lists nccl, copy-engine, symmetric)
    %0 = commsched.all_gather %a on @dp dim(0) $named("copy-engines")
LET $target $of({symmetric = {}, "copy-engine" = {latency_us = 1, bandwidth_gb_s = 1}})
LET $U tensor<1024xf32>

    $error('commsched.all_gather' op cannot be carried out by the implementation 'copy-engine', which takes groups on at most 1 node, not on 2)
    %0 = commsched.all_gather %a on @dp dim(0) $named("copy-engine")
LET $target $of($copies)
LET $group size(16) ranks_per_node(8)
LET $U tensor<4096xf32>

    $error('commsched.all_reduce' op cannot be carried out by the implementation 'copy-engine', which carries out all_gather, all_to_all, not all_reduce)
    %0 = commsched.all_reduce %a on @dp reduction(sum) $named("copy-engine")
LET $target $of($copies)

    $error('commsched.all_reduce' op cannot be carried out by the implementation 'symmetric', which has no time for it: neither 'latency_us' and 'bandwidth_gb_s' nor rows of a profile)
    %0 = commsched.all_reduce %a on @dp reduction(sum) $named("symmetric")
LET $target $of({symmetric = {}})

// -----

$error(target key 'commsched.implementations': implementation 'nccl': field 'tax' must be a number from 0 to 999)
module $of({nccl = {tax = "high"}}) {
  func.func @f() { return }
}

// -----

$error(target key 'commsched.implementations': 'implementations' must be an object of objects, by name)
module $of(["nccl"]) {
  func.func @f() { return }
}
