//===- Bootstrap.cpp - Rendezvous of ranks by TCP -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap/Bootstrap.h"
#include "Bootstrap/Payloads.h"

#include <algorithm>
#include <poll.h>

using namespace commsched::runtime;
using nlohmann::json;
using std::chrono::milliseconds;

static int64_t getMsUntil(Deadline deadline) {
  auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return std::max<int64_t>(left.count(), 0);
}

static void appendItem(std::string &list, const std::string &item) {
  if (!list.empty())
    list += "; ";
  list += item;
}

Status Bootstrap::join(const JobAddress &address,
                       std::function<std::string()> getStatus,
                       Deadline deadline, std::unique_ptr<Bootstrap> &result) {
  std::unique_ptr<Bootstrap> bootstrap(
      new Bootstrap(address, std::move(getStatus)));
  if (address.numRanks > 1) {
    if (address.rank == 0)
      if (Status status = Hub::start(address, bootstrap->hub); !status)
        return status;
    Status status = bootstrap->connect(deadline);
    if (status)
      status = bootstrap->waitForAll(deadline);
    if (!status) {
      bootstrap->fail(status.getMessage());
      bootstrap->leave(/*failed=*/true, Clock::now() + answerTime);
      return status;
    }
  }
  result = std::move(bootstrap);
  return Status();
}

Bootstrap::~Bootstrap() { leave(/*failed=*/true, Clock::now()); }

Status Bootstrap::connect(Deadline deadline) {
  int64_t ms = getMsUntil(deadline);
  std::string reason = "nobody listens";
  do {
    Descriptor descriptor;
    connectTo(address.address, address.port, deadline, descriptor, reason);
    if (descriptor) {
      Connection candidate(std::move(descriptor));
      bool accepted = false;
      if (Status status = introduce(candidate, deadline, accepted, reason);
          !status)
        return status;
      if (accepted) {
        connection = std::move(candidate);
        thread = std::thread([this] { run(); });
        return Status();
      }
    }
    std::this_thread::sleep_for(milliseconds(20));
  } while (Clock::now() < deadline);
  return "rank " + std::to_string(address.rank) + " cannot reach rank 0 at " +
         address.address + ":" + std::to_string(address.port) + " within " +
         std::to_string(ms) + " ms: " + reason;
}

/// Sends a hello and waits for the answer. If another program answers, rank 0
/// may still be about to come.
Status Bootstrap::introduce(Connection &candidate, Deadline deadline,
                            bool &accepted, std::string &reason) {
  Hello hello{backendVersion, address.job, address.rank, address.numRanks};
  candidate.send(MessageKind::Hello, hello.write());
  reason = "what listens there does not answer as a rank 0";
  while (Clock::now() < deadline) {
    bool alive = candidate.progress();
    Message message;
    // The connection's other messages wait for the thread.
    if (candidate.receive(message, mostMessageBytes)) {
      accepted = message.kind == MessageKind::Accepted;
      if (message.kind == MessageKind::Refused)
        return message.payload;
      if (message.kind == MessageKind::Busy)
        reason = "another job is there: " + message.payload;
      return Status();
    }
    if (!alive || !candidate.isOpen())
      return Status();
    pollfd entry = {candidate.getDescriptor(), candidate.getEvents(), 0};
    ::poll(&entry, 1, std::min<int64_t>(getMsUntil(deadline), 1000));
  }
  return Status();
}

Status Bootstrap::waitForAll(Deadline deadline) {
  int64_t ms = getMsUntil(deadline);
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_until(lock, deadline, [&] { return complete || failure; });
    if (failure)
      return *failure;
    if (complete)
      return Status();
  }
  std::string missing;
  std::vector<Standing> all = ask();
  // A rank that has given up meanwhile has sent the reason.
  if (Status status = getFailure(); !status)
    return status;
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].isThere)
      appendItem(missing,
                 "rank " + std::to_string(rank) + " " + all[rank].absence);
  return "timed out after " + std::to_string(ms) + " ms in the start of " +
         std::to_string(address.numRanks) + " ranks" +
         (missing.empty() ? "" : ": " + missing);
}

Status Bootstrap::exchange(const std::string &mine,
                           std::vector<std::string> &all, Deadline deadline) {
  if (address.numRanks == 1) {
    all = {mine};
    return Status();
  }
  int64_t ms = getMsUntil(deadline);
  send(MessageKind::Part, mine);
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_until(lock, deadline, [&] { return gathered || failure; });
    if (gathered) {
      all = std::move(*gathered);
      gathered.reset();
      return Status();
    }
    if (failure)
      return *failure;
  }
  std::string missing;
  std::vector<Standing> standings = ask();
  if (Status status = getFailure(); !status)
    return status;
  for (size_t rank = 0; rank < standings.size(); ++rank)
    if (!standings[rank].hasMet)
      appendItem(missing, "rank " + std::to_string(rank) + " " +
                              (standings[rank].absence.empty()
                                   ? "has not come"
                                   : standings[rank].absence));
  return "timed out after " + std::to_string(ms) +
         " ms in the meeting of all ranks" +
         (missing.empty() ? "" : ": " + missing);
}

void Bootstrap::fail(const std::string &text) {
  if (address.numRanks > 1)
    send(MessageKind::Notice, text);
}

Status Bootstrap::getFailure() const {
  if (!hasFailure.load(std::memory_order_acquire))
    return Status();
  std::lock_guard<std::mutex> lock(mutex);
  return *failure;
}

std::vector<Standing> Bootstrap::ask() {
  Standing self;
  self.isThere = true;
  self.status = getStatus();
  if (address.numRanks == 1)
    return {self};
  send(MessageKind::Ask, "");
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait_for(lock, 2 * answerTime, [&] { return standings.has_value(); });
  std::vector<Standing> result;
  if (standings && static_cast<int32_t>(standings->size()) == address.numRanks)
    result = std::move(*standings);
  standings.reset();
  if (result.empty()) {
    // Rank 0 alone knows of the others.
    result.assign(address.numRanks, self);
    result[0] = Standing();
    result[0].absence = "does not answer";
  }
  return result;
}

void Bootstrap::leave(bool failed, Deadline deadline) {
  if (thread.joinable()) {
    if (!failed)
      send(MessageKind::Leave, "");
    {
      std::lock_guard<std::mutex> lock(mutex);
      stop = {true, std::min(deadline, Clock::now() + answerTime)};
    }
    pipe.wake();
    thread.join();
  }
  if (hub)
    hub->finish(failed ? std::min(deadline, Clock::now() + answerTime)
                       : deadline);
}

void Bootstrap::send(MessageKind kind, const std::string &payload) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    outbox.push_back({kind, payload});
  }
  pipe.wake();
}

void Bootstrap::setFailure(const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!failure)
    failure = text;
  hasFailure.store(true, std::memory_order_release);
  changed.notify_all();
}

void Bootstrap::run() {
  bool alive = true;
  Stop now;
  while (true) {
    Message message;
    while (alive && connection.receive(message, mostMessageBytes))
      handle(message);
    {
      std::lock_guard<std::mutex> lock(mutex);
      for (const Message &next : outbox)
        connection.send(next.kind, next.payload);
      outbox.clear();
      now = stop;
    }
    if (now.requested &&
        (!alive || !connection.hasUnsent() || Clock::now() >= now.deadline))
      break;
    pollfd entries[2] = {
        {pipe.getDescriptor(), POLLIN, 0},
        {connection.getDescriptor(), connection.getEvents(), 0}};
    // Messages that were just put into the outbox are sent before the next
    // sleep.
    int64_t ms = now.requested ? getMsUntil(now.deadline) : -1;
    ::poll(entries, alive ? 2 : 1, ms);
    pipe.clear();
    if (alive && !connection.progress()) {
      while (connection.receive(message, mostMessageBytes))
        handle(message);
      alive = false;
      setFailure("rank 0 is gone");
    }
    if (alive && !connection.isOpen()) {
      alive = false;
      setFailure("rank 0 sends what is no message of a rank");
    }
  }
  // A side that closes with unread data may lose what it has sent, so the other
  // side closes first.
  if (alive)
    connection.closeWriting();
  while (alive && Clock::now() < now.deadline) {
    pollfd entry = {connection.getDescriptor(), POLLIN, 0};
    ::poll(&entry, 1, getMsUntil(now.deadline));
    alive = connection.progress();
  }
  connection.close();
}

void Bootstrap::handle(const Message &message) {
  switch (message.kind) {
  case MessageKind::Query:
    send(MessageKind::Status,
         dumpJson(json{{"id", std::atoll(message.payload.c_str())},
                       {"status", getStatus()}}));
    return;
  case MessageKind::Notice: {
    json notice = json::parse(message.payload, nullptr, false);
    // One's own failure is known.
    if (notice.is_object() && notice.value("rank", -1) != address.rank)
      setFailure(notice.value("text", ""));
    return;
  }
  case MessageKind::Complete: {
    std::lock_guard<std::mutex> lock(mutex);
    complete = true;
    changed.notify_all();
    return;
  }
  case MessageKind::Gathered: {
    std::vector<std::string> texts;
    if (!unpackTexts(message.payload, texts) ||
        static_cast<int32_t>(texts.size()) != address.numRanks)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    gathered = std::move(texts);
    changed.notify_all();
    return;
  }
  case MessageKind::Standing: {
    try {
      std::vector<Standing> list = unpackStandings(message.payload);
      std::lock_guard<std::mutex> lock(mutex);
      standings = std::move(list);
      changed.notify_all();
    } catch (const json::exception &) {
    }
    return;
  }
  default:
    return;
  }
}
