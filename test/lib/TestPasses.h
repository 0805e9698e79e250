//===- TestPasses.h - Passes for tests only ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that show single parts of CommSched to the tests.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TEST_LIB_TESTPASSES_H
#define COMMSCHED_TEST_LIB_TESTPASSES_H

namespace mlir::commsched_test {

void registerBucketTestPasses();
void registerJointTestPasses();

} // namespace mlir::commsched_test

#endif // COMMSCHED_TEST_LIB_TESTPASSES_H
