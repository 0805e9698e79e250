//===- Connection.h - TCP connections that carry messages -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The address of rank 0 and the connections to it. A `Connection` never blocks:
// what cannot be sent yet is kept, and received bytes are handed out message by
// message. The owner of the connection polls it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_BOOTSTRAP_CONNECTION_H
#define COMMSCHED_RUNTIME_BOOTSTRAP_CONNECTION_H

#include "CommSched/Runtime/Backend.h"

#include <functional>

namespace commsched::runtime {

struct JobAddress {
  int32_t rank = 0;
  int32_t numRanks = 1;
  /// The address at which rank 0 listens.
  std::string address = "127.0.0.1";
  int32_t port = 29501;
  /// Distinguishes jobs of one machine; empty when the launcher has no name.
  std::string job;
};

/// Looks up an environment variable; null when it is not set.
using GetEnvironment = std::function<const char *(const char *)>;

/// Reads the address of rank 0 from MASTER_ADDR, and its port from
/// COMMSCHED_PORT or MASTER_PORT; since the latter is PyTorch's own, the port
/// is the next one. Leaves `rank` and `numRanks` as they are.
Status readJobAddress(const GetEnvironment &getEnvironment,
                      JobAddress &address);

/// Owns a file descriptor.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd(other.release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor() { reset(); }

  int get() const { return fd; }
  explicit operator bool() const { return fd >= 0; }
  void reset();

private:
  int release();
  int fd = -1;
};

enum class MessageKind : uint32_t {
  Hello,    ///< to rank 0: the rank that connects
  Accepted, ///< from rank 0: the hello was right
  Refused,  ///< from rank 0: why it was not
  Busy,     ///< from rank 0: that it belongs to another job, which may end
  Complete, ///< from rank 0: all ranks are here
  Part,     ///< to rank 0: a rank's text of an exchange
  Gathered, ///< from rank 0: the texts of all
  Notice,   ///< both ways: a rank has failed, left or died
  Ask,      ///< to rank 0: how do the others stand?
  Query,    ///< from rank 0: how do you stand?
  Status,   ///< to rank 0: the answer to a query
  Standing, ///< from rank 0: the answer to an ask
  Leave     ///< to rank 0: an orderly end
};

struct Message {
  MessageKind kind;
  std::string payload;
};

class Connection {
public:
  Connection() = default;
  explicit Connection(Descriptor descriptor);

  int getDescriptor() const { return descriptor.get(); }
  bool isOpen() const { return static_cast<bool>(descriptor); }
  void close() { descriptor.reset(); }
  /// Signals the other side that nothing more will come.
  void closeWriting();

  void send(MessageKind kind, const std::string &payload);
  bool hasUnsent() const { return sent < out.size(); }
  /// Sends what can be without waiting; false when the connection is broken.
  bool flush();
  /// The events that poll() should wait for.
  short getEvents() const;
  /// Sends and receives what can be without waiting. False when the other side
  /// has closed or broken the connection; messages may have come before. All
  /// messages must be received before poll() is asked again.
  bool progress();
  /// The next whole message. False when there is none. A connection that
  /// carries something else, or more than `mostBytes`, closes.
  bool receive(Message &message, uint64_t mostBytes);

private:
  Descriptor descriptor;
  std::string in, out;
  size_t sent = 0;
};

/// Listens at `address`; if that is not an address of this machine, at all of
/// its addresses.
Status listenAt(const std::string &address, int32_t port, Descriptor &result);
/// Tries once. If there is no listener, `result` stays empty and `reason` is
/// set.
void connectTo(const std::string &address, int32_t port, Deadline deadline,
               Descriptor &result, std::string &reason);
/// The next connection to `listener`; empty if there is none.
Descriptor acceptFrom(const Descriptor &listener);

/// Two ends of a pipe, to wake a thread that polls.
class WakePipe {
public:
  WakePipe();
  int getDescriptor() const { return reading.get(); }
  void wake();
  void clear();

private:
  Descriptor reading, writing;
};

} // namespace commsched::runtime

#endif // COMMSCHED_RUNTIME_BOOTSTRAP_CONNECTION_H
