//===- commsched-test-opt.cpp - Driver with the test dialect --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Register.h"
#include "CommSchedTestDialect.h"
#include "TestPasses.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace mlir::linked_stablehlo {
/// Registers the dialect `stablehlo` of LinkedStableHlo.td.
void registerDialect(DialectRegistry &registry);
} // namespace mlir::linked_stablehlo

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  mlir::commsched::registerDialects(registry);
  mlir::commsched::registerAllPasses();
  mlir::commsched_test::registerBucketTestPasses();
  mlir::commsched_test::registerJointTestPasses();
  registry.insert<mlir::commsched_test::TestDialect>();
  mlir::linked_stablehlo::registerDialect(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "CommSched optimizer driver with the test dialect\n",
      registry));
}
