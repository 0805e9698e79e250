//===- Register.cpp - Models of other dialects' operations ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/ExternalModels/Register.h"

#include "Models.h"

using namespace mlir;

void mlir::commsched::registerExternalModels(DialectRegistry &registry) {
  detail::registerArithModels(registry);
  detail::registerBufferizationModels(registry);
  detail::registerLinalgModels(registry);
  detail::registerMathModels(registry);
  detail::registerTensorModels(registry);
  detail::registerTosaModels(registry);
}
