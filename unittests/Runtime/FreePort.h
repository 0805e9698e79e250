//===- FreePort.h - Ports for tests -----------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A TCP port on which a test's rank 0 can listen. It is below those that
// systems hand out to connecting programs: one of these could be taken between
// the choice and the listening.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_RUNTIME_FREEPORT_H
#define COMMSCHED_UNITTESTS_RUNTIME_FREEPORT_H

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cstdint>
#include <random>
#include <sys/socket.h>
#include <unistd.h>

namespace commsched::test {

/// A port of this machine that is free now; 0 and a failure if none is found.
inline int32_t findFreePort() {
  std::random_device random;
  for (int attempt = 0; attempt < 100; ++attempt) {
    auto port = static_cast<uint16_t>(20000 + random() % 12000);
    int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    int status =
        ::bind(socket, reinterpret_cast<sockaddr *>(&address), sizeof(address));
    ::close(socket);
    if (status == 0)
      return port;
  }
  ADD_FAILURE() << "no port is free";
  return 0;
}

} // namespace commsched::test

#endif // COMMSCHED_UNITTESTS_RUNTIME_FREEPORT_H
