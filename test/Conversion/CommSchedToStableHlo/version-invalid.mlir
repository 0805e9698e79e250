// RUN: commsched-opt %s -verify-diagnostics --convert-commsched-to-stablehlo=version=new

// expected-error @+1 {{the option 'version' is 'new', not a version of StableHLO such as '1.17'}}
module {
}
