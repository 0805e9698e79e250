//===- Hub.cpp - Rank 0's side of the bootstrap ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap/Hub.h"
#include "Bootstrap/Payloads.h"

#include <algorithm>
#include <poll.h>

using namespace commsched::runtime;
using nlohmann::json;

static constexpr uint64_t mostHelloBytes = 4096;

Hub::Hub(const JobAddress &address, Descriptor listener)
    : address(address), listener(std::move(listener)),
      members(address.numRanks) {
  thread = std::thread([this] { run(); });
}

Status Hub::start(const JobAddress &address, std::unique_ptr<Hub> &hub) {
  Descriptor listener;
  if (Status status = listenAt(address.address, address.port, listener);
      !status)
    return status;
  hub.reset(new Hub(address, std::move(listener)));
  return Status();
}

Hub::~Hub() { finish(Clock::now()); }

void Hub::finish(Deadline deadline) {
  if (!thread.joinable())
    return;
  finishDeadline = deadline;
  finishing = true;
  pipe.wake();
  thread.join();
}

int32_t Hub::count(State state) const {
  return std::count_if(members.begin(), members.end(),
                       [&](const Member &m) { return m.state == state; });
}

bool Hub::isFinished() const {
  return finishing &&
         (Clock::now() >= finishDeadline.load() || count(State::Here) == 0);
}

void Hub::run() {
  while (!isFinished()) {
    pollOnce();
    finishAsks();
  }
}

int Hub::getPollTime() const {
  Deadline next = Deadline::max();
  if (finishing)
    next = finishDeadline;
  for (const Ask &ask : asks)
    next = std::min(next, ask.deadline);
  if (next == Deadline::max())
    return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return std::clamp<int64_t>(left.count(), 0, 1000);
}

void Hub::pollOnce() {
  std::vector<pollfd> entries = {{listener.get(), POLLIN, 0},
                                 {pipe.getDescriptor(), POLLIN, 0}};
  for (const Connection &visitor : visitors)
    entries.push_back({visitor.getDescriptor(), visitor.getEvents(), 0});
  for (const Member &member : members)
    if (member.connection.isOpen())
      entries.push_back({member.connection.getDescriptor(),
                         member.connection.getEvents(), 0});
  ::poll(entries.data(), entries.size(), getPollTime());
  pipe.clear();

  while (Descriptor descriptor = acceptFrom(listener))
    visitors.emplace_back(std::move(descriptor));
  for (auto it = visitors.begin(); it != visitors.end();) {
    Message message;
    bool alive = it->progress();
    if (it->receive(message, mostHelloBytes))
      greet(*it, message);
    // An accepted rank has taken the connection.
    it = alive && it->isOpen() ? std::next(it) : visitors.erase(it);
  }
  for (int32_t rank = 0; rank < address.numRanks; ++rank) {
    Connection &connection = members[rank].connection;
    if (!connection.isOpen())
      continue;
    bool alive = connection.progress();
    Message message;
    while (connection.receive(message, mostMessageBytes))
      handleSafely(rank, message);
    if (alive && connection.isOpen())
      continue;
    connection.close();
    if (members[rank].state == State::Here) {
      members[rank].state = State::Gone;
      announce(rank, "rank " + std::to_string(rank) + " is gone");
    }
  }
}

void Hub::greet(Connection &visitor, const Message &message) {
  json hello = json::parse(message.payload, nullptr, false);
  Hello who;
  if (message.kind != MessageKind::Hello || !who.read(hello)) {
    visitor.close();
    return;
  }
  std::string name = "rank " + std::to_string(who.rank);
  std::string reason;
  // A rank of another job must not end this one, but can come again when it
  // has ended.
  bool ours = !complete && !finishing;
  if (who.version != backendVersion) {
    reason = name + " has version " + std::to_string(who.version) +
             " of the runtime, but rank 0 has " +
             std::to_string(backendVersion);
  } else if (who.job != address.job) {
    reason = name + " belongs to the job '" + who.job + "', but rank 0 to '" +
             address.job + "'";
    ours = false;
  } else if (who.numRanks != address.numRanks) {
    reason = name + " says that there are " + std::to_string(who.numRanks) +
             " ranks, but rank 0 says " + std::to_string(address.numRanks);
  } else if (who.rank < 0 || who.rank >= address.numRanks) {
    reason = name + " is not one of " + std::to_string(address.numRanks);
  } else if (members[who.rank].state != State::Absent) {
    reason = "two processes say that they are " + name;
  }
  if (!reason.empty()) {
    visitor.send(ours ? MessageKind::Refused : MessageKind::Busy, reason);
    visitor.flush();
    visitor.closeWriting();
    if (ours)
      announce(/*rank=*/-1, reason);
    return;
  }

  Member &member = members[who.rank];
  member.connection = std::move(visitor);
  member.state = State::Here;
  member.connection.send(MessageKind::Accepted, "");
  if (notice)
    member.connection.send(MessageKind::Notice, *notice);
  if (count(State::Absent) == 0) {
    complete = true;
    sendToAll(MessageKind::Complete, "");
  }
}

void Hub::handleSafely(int32_t rank, const Message &message) {
  try {
    handle(rank, message);
  } catch (const json::exception &) {
    members[rank].connection.close();
  }
}

void Hub::handle(int32_t rank, const Message &message) {
  switch (message.kind) {
  case MessageKind::Part:
    return takePart(rank, message.payload);
  case MessageKind::Notice:
    return announce(rank, "rank " + std::to_string(rank) +
                              " failed: " + message.payload);
  case MessageKind::Ask:
    return startAsk(rank);
  case MessageKind::Status: {
    json answer = json::parse(message.payload);
    for (Ask &ask : asks)
      if (ask.id == answer.at("id"))
        ask.answers[rank] = answer.at("status").get<std::string>();
    return;
  }
  case MessageKind::Leave: {
    members[rank].state = State::Left;
    bool awaited = std::any_of(members.begin(), members.end(),
                               [](const Member &m) { return m.part; });
    if (awaited)
      announce(rank, "rank " + std::to_string(rank) + " has left");
    return;
  }
  default:
    members[rank].connection.close();
  }
}

void Hub::takePart(int32_t rank, const std::string &text) {
  members[rank].part = text;
  for (int32_t other = 0; other < address.numRanks; ++other)
    if (members[other].state == State::Left)
      return announce(other, "rank " + std::to_string(other) + " has left");
  std::vector<std::string> texts;
  for (const Member &member : members) {
    if (!member.part)
      return;
    texts.push_back(*member.part);
  }
  for (Member &member : members)
    member.part.reset();
  sendToAll(MessageKind::Gathered, packTexts(texts));
}

void Hub::startAsk(int32_t rank) {
  Ask ask{nextAsk++, rank, Clock::now() + answerTime, {}};
  ask.answers.resize(members.size());
  sendToAll(MessageKind::Query, std::to_string(ask.id));
  asks.push_back(std::move(ask));
}

void Hub::finishAsks() {
  for (auto it = asks.begin(); it != asks.end();) {
    bool ready = Clock::now() >= it->deadline;
    bool answered = true;
    for (int32_t rank = 0; rank < address.numRanks; ++rank)
      answered &= members[rank].state != State::Here || it->answers[rank];
    if (!ready && !answered) {
      ++it;
      continue;
    }
    std::vector<Standing> standings;
    for (int32_t rank = 0; rank < address.numRanks; ++rank) {
      const Member &member = members[rank];
      Standing standing;
      standing.isThere = member.state == State::Here;
      standing.hasMet = member.part.has_value();
      standing.status = it->answers[rank];
      if (member.state == State::Absent)
        standing.absence = "has not come";
      else if (member.state == State::Left)
        standing.absence = "has left";
      else if (member.state == State::Gone)
        standing.absence = "is gone";
      else if (!it->answers[rank])
        standing.absence = "does not answer";
      standings.push_back(std::move(standing));
    }
    Connection &asker = members[it->asker].connection;
    if (asker.isOpen())
      asker.send(MessageKind::Standing, packStandings(standings));
    it = asks.erase(it);
  }
}

void Hub::announce(int32_t rank, const std::string &text) {
  if (notice)
    return;
  notice = dumpJson(json{{"rank", rank}, {"text", text}});
  sendToAll(MessageKind::Notice, *notice);
}

void Hub::sendToAll(MessageKind kind, const std::string &payload) {
  for (Member &member : members)
    if (member.state == State::Here && member.connection.isOpen())
      member.connection.send(kind, payload);
}
