//===- main.cpp - A program of the wheel ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

extern "C" int COMMSCHED_MAIN(int argc, char **argv);

int main(int argc, char **argv) { return COMMSCHED_MAIN(argc, argv); }
