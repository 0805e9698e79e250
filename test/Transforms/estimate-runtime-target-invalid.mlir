// RUN: %rows %s | commsched-opt --split-input-file --verify-diagnostics --commsched-estimate-runtime

// expected-error @below {{target key 'commsched.preset' names the unknown preset 'h1000'; there are a100, h100, h200, gh200, b200}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.preset" = "h1000">>} {
  func.func @f() { return }
}

// -----

ROW

// -----

// expected-error @below {{target key 'commsched.preset' must be a string, not 100 : i64}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.preset" = 100 : i64>>} {
  func.func @f() { return }
}

// expected-error @below {{unknown target key 'commsched.memory' with the value 1.000000e+00 : f64}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.memory" = 1.0 : f64>>} {
  func.func @f() { return }
}

// expected-error @below {{target key 'commsched.memory_gb_s' must be a number, not "fast"}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.memory_gb_s" = "fast">>} {
  func.func @f() { return }
}

// expected-error @below {{target key 'commsched.memory_gb_s' cannot be 0 : i64: target field 'memory_gb_s' must be between 1e-06 and 1e+09, got 0}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<
  "GPU" = #dlti.target_device_spec<"commsched.memory_gb_s" = 0 : i64>>} {
  func.func @f() { return }
}
