//===- Connection.cpp - TCP connections that carry messages ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap/Connection.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <endian.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// Address of rank 0
//===----------------------------------------------------------------------===//

namespace {

/// Reads variables as integers and keeps the first error.
class IntegerReader {
public:
  explicit IntegerReader(const GetEnvironment &get) : get(get) {}

  /// None where `name` is not set.
  std::optional<int32_t> read(const char *name, int32_t most) {
    const char *text = get(name);
    if (!text || !*text)
      return std::nullopt;
    int32_t value = 0;
    const char *end = text + std::strlen(text);
    auto [stop, code] = std::from_chars(text, end, value);
    if (code == std::errc() && stop == end && value >= 1 && value <= most)
      return value;
    if (status)
      status = "the environment variable " + std::string(name) + " is '" +
               text + "', not an integer from 1 to " + std::to_string(most);
    return std::nullopt;
  }

  /// The first error.
  Status status;

private:
  const GetEnvironment &get;
};

constexpr const char *jobNames[] = {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE",
                                    "OMPI_MCA_orte_ess_jobid"};

} // namespace

Status commsched::runtime::readJobAddress(const GetEnvironment &getEnvironment,
                                          JobAddress &result) {
  IntegerReader reader(getEnvironment);
  std::optional<int32_t> port = reader.read("COMMSCHED_PORT", 65535);
  std::optional<int32_t> masterPort = reader.read("MASTER_PORT", 65534);
  std::optional<int32_t> size = reader.read("OMPI_COMM_WORLD_SIZE", INT32_MAX);
  std::optional<int32_t> localSize =
      reader.read("OMPI_COMM_WORLD_LOCAL_SIZE", INT32_MAX);
  if (!reader.status)
    return reader.status;

  const char *address = getEnvironment("MASTER_ADDR");
  if (address && *address)
    result.address = address;
  else if (size && localSize && *size != *localSize)
    return "only " + std::to_string(*localSize) + " of " +
           std::to_string(*size) +
           " ranks are on this machine: set MASTER_ADDR to the address of "
           "rank 0's";
  if (port)
    result.port = *port;
  else if (masterPort)
    result.port = *masterPort + 1;

  for (const char *name : jobNames)
    if (const char *job = getEnvironment(name); job && result.job.empty())
      result.job = job;
  return Status();
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

namespace {

/// Before every payload, little-endian.
struct Header {
  uint32_t magic;
  uint32_t kind;
  uint64_t bytes;
};
constexpr uint32_t magicNumber = 0x43534231;

struct AddressList {
  ~AddressList() {
    if (first)
      freeaddrinfo(first);
  }
  addrinfo *first = nullptr;
};

} // namespace

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
  if (this != &other) {
    reset();
    fd = other.release();
  }
  return *this;
}

void Descriptor::reset() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
}

int Descriptor::release() {
  int result = fd;
  fd = -1;
  return result;
}

static void makeNonBlocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

Connection::Connection(Descriptor descriptor)
    : descriptor(std::move(descriptor)) {
  makeNonBlocking(this->descriptor.get());
  int on = 1;
  setsockopt(this->descriptor.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void Connection::closeWriting() { ::shutdown(descriptor.get(), SHUT_WR); }

void Connection::send(MessageKind kind, const std::string &payload) {
  Header header = {htole32(magicNumber), htole32(static_cast<uint32_t>(kind)),
                   htole64(payload.size())};
  out.append(reinterpret_cast<const char *>(&header), sizeof(header));
  out += payload;
}

short Connection::getEvents() const {
  return POLLIN | (hasUnsent() ? POLLOUT : 0);
}

bool Connection::flush() {
  while (hasUnsent()) {
    ssize_t bytes = ::send(descriptor.get(), out.data() + sent,
                           out.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes < 0)
      return errno == EAGAIN || errno == EWOULDBLOCK;
    sent += bytes;
  }
  out.clear();
  sent = 0;
  return true;
}

bool Connection::progress() {
  // Even where nothing can be sent any more, what has come is worth reading:
  // it may say why.
  bool writable = flush();
  std::string buffer(1 << 16, '\0');
  while (true) {
    ssize_t bytes = ::recv(descriptor.get(), buffer.data(), buffer.size(), 0);
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return writable;
    if (bytes <= 0)
      return false;
    in.append(buffer, 0, bytes);
  }
}

bool Connection::receive(Message &message, uint64_t mostBytes) {
  Header header;
  if (in.size() < sizeof(header))
    return false;
  std::memcpy(&header, in.data(), sizeof(header));
  uint64_t bytes = le64toh(header.bytes);
  uint32_t kind = le32toh(header.kind);
  if (le32toh(header.magic) != magicNumber || bytes > mostBytes ||
      kind > static_cast<uint32_t>(MessageKind::Leave)) {
    in.clear();
    close();
    return false;
  }
  if (in.size() - sizeof(header) < bytes)
    return false;
  message.kind = static_cast<MessageKind>(kind);
  message.payload = in.substr(sizeof(header), bytes);
  in.erase(0, sizeof(header) + bytes);
  return true;
}

static Status resolve(const std::string &address, int32_t port,
                      AddressList &list) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const char *host = address.empty() ? nullptr : address.c_str();
  int code =
      getaddrinfo(host, std::to_string(port).c_str(), &hints, &list.first);
  if (code == 0)
    return Status();
  return "the address '" + address +
         "' of rank 0 is unknown: " + gai_strerror(code);
}

Status commsched::runtime::listenAt(const std::string &address, int32_t port,
                                    Descriptor &result) {
  AddressList list;
  if (Status status = resolve(address, port, list); !status)
    return status;
  Descriptor socket(
      ::socket(list.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.get(), list.first->ai_addr, list.first->ai_addrlen) == 0 &&
      ::listen(socket.get(), SOMAXCONN) == 0) {
    makeNonBlocking(socket.get());
    result = std::move(socket);
    return Status();
  }
  int code = errno;
  if (code == EADDRNOTAVAIL && !address.empty())
    return listenAt("", port, result);
  return "rank 0 cannot listen at " + address + ":" + std::to_string(port) +
         ": " + std::strerror(code) +
         (code == EADDRINUSE ? "; set COMMSCHED_PORT to a free port" : "");
}

/// Whether a port has been connected to itself, which the kernel does when it
/// gives out the number that one is looking for.
static bool isConnectedToItself(int fd) {
  sockaddr_storage own = {}, peer = {};
  socklen_t ownSize = sizeof(own), peerSize = sizeof(peer);
  return getsockname(fd, reinterpret_cast<sockaddr *>(&own), &ownSize) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &peerSize) == 0 &&
         ownSize == peerSize && std::memcmp(&own, &peer, ownSize) == 0;
}

void commsched::runtime::connectTo(const std::string &address, int32_t port,
                                   Deadline deadline, Descriptor &result,
                                   std::string &reason) {
  AddressList list;
  if (Status status = resolve(address, port, list); !status) {
    reason = status.getMessage();
    return;
  }
  for (addrinfo *info = list.first; info; info = info->ai_next) {
    Descriptor socket(::socket(info->ai_family, SOCK_STREAM, 0));
    makeNonBlocking(socket.get());
    int code = 0;
    if (::connect(socket.get(), info->ai_addr, info->ai_addrlen) != 0)
      code = errno;
    if (code == EINPROGRESS) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - Clock::now());
      pollfd entry = {socket.get(), POLLOUT, 0};
      // A machine that does not answer shall not take the whole deadline.
      int wait = std::clamp<int64_t>(left.count(), 0, 1000);
      if (::poll(&entry, 1, wait) == 1) {
        socklen_t size = sizeof(code);
        getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size);
      } else {
        code = ETIMEDOUT;
      }
    }
    if (code == 0 && !isConnectedToItself(socket.get())) {
      result = std::move(socket);
      return;
    }
    reason = std::strerror(code ? code : ECONNREFUSED);
  }
}

Descriptor commsched::runtime::acceptFrom(const Descriptor &listener) {
  return Descriptor(::accept(listener.get(), nullptr, nullptr));
}

WakePipe::WakePipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0) {
    reading = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
  }
}

void WakePipe::wake() {
  // A full pipe wakes as well.
  [[maybe_unused]] ssize_t bytes = ::write(writing.get(), "", 1);
}

void WakePipe::clear() {
  char buffer[64];
  while (::read(reading.get(), buffer, sizeof(buffer)) > 0) {
  }
}
