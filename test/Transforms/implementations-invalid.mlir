// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics --commsched-report -o /dev/null

commsched.group @dp size(4)
func.func @f(%a: tensor<256xf32>) {
  // expected-error @below {{'commsched.all_gather' op names the implementation 'copy-engine', but the target lists no implementations}}
  %0 = commsched.all_gather %a on @dp dim(0) {commsched.implementation = "copy-engine"} : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
  %1 = commsched.wait %0 : !commsched.future<tensor<1024xf32>>
  return
}

// -----

ROW

// -----

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      symmetric = {}, "copy-engine" = {latency_us = 1, bandwidth_gb_s = 1}}>>} {
  commsched.group @dp size(4)
  func.func @f(%a: tensor<256xf32>) {
    // expected-error @below {{'commsched.all_gather' op names the implementation 'copy-engines', but the target lists nccl, copy-engine, symmetric}}
    %0 = commsched.all_gather %a on @dp dim(0) {commsched.implementation = "copy-engines"} : tensor<256xf32> -> !commsched.future<tensor<1024xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<1024xf32>>
    return
  }
}

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      "copy-engine" = {latency_us = 1, bandwidth_gb_s = 1}}>>} {
  commsched.group @dp size(16) ranks_per_node(8)
  func.func @f(%a: tensor<256xf32>) {
    // expected-error @below {{'commsched.all_gather' op cannot be carried out by the implementation 'copy-engine', which takes groups on at most 1 node, not on 2}}
    %0 = commsched.all_gather %a on @dp dim(0) {commsched.implementation = "copy-engine"} : tensor<256xf32> -> !commsched.future<tensor<4096xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<4096xf32>>
    return
  }
}

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {
      "copy-engine" = {latency_us = 1, bandwidth_gb_s = 1}}>>} {
  commsched.group @dp size(4)
  func.func @f(%a: tensor<256xf32>) {
    // expected-error @below {{'commsched.all_reduce' op cannot be carried out by the implementation 'copy-engine', which carries out all_gather, all_to_all, not all_reduce}}
    %0 = commsched.all_reduce %a on @dp reduction(sum) {commsched.implementation = "copy-engine"} : tensor<256xf32> -> !commsched.future<tensor<256xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<256xf32>>
    return
  }
}

module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {symmetric = {}}>>} {
  commsched.group @dp size(4)
  func.func @f(%a: tensor<256xf32>) {
    // expected-error @below {{'commsched.all_reduce' op cannot be carried out by the implementation 'symmetric', which has no time for it: neither 'latency_us' and 'bandwidth_gb_s' nor rows of a profile}}
    %0 = commsched.all_reduce %a on @dp reduction(sum) {commsched.implementation = "symmetric"} : tensor<256xf32> -> !commsched.future<tensor<256xf32>>
    %1 = commsched.wait %0 : !commsched.future<tensor<256xf32>>
    return
  }
}

// expected-error @below {{target key 'commsched.implementations': implementation 'nccl': field 'tax' must be a number from 0 to 999}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = {nccl = {tax = "high"}}>>} {
  func.func @f() { return }
}

// expected-error @below {{target key 'commsched.implementations': 'implementations' must be an object of objects, by name}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.implementations" = ["nccl"]>>} {
  func.func @f() { return }
}
