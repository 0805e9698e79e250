//===- Transfers.cpp - Cases of offloads and reloads ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace commsched::conformance;

namespace {

using Bytes = std::vector<unsigned char>;

/// One launch's buffers of one tensor.
struct Moved {
  int64_t bytes = 0;
  Bytes contents;
  void *source = nullptr;
  void *host = nullptr;
  void *target = nullptr;
};

/// A pair of sites: to the host, and from it.
struct Pair {
  std::string type;
  std::vector<int64_t> counts;
  int64_t elementBytes = 0;
  int32_t offload = 0;
  int32_t reload = 0;
};

/// Moves data to the host and back, with collectives in flight.
class TransferRunner {
public:
  explicit TransferRunner(Report &report)
      : report(report), rank(commsched_rank()), random(rank) {
    for (const ElementFormat &format : getElementFormats())
      pairs.push_back({format.name, {37}, format.bytes});
    for (int64_t count : {0, 1, 263})
      pairs.push_back({"f32", {count}, 4});
    pairs.push_back({"i16", {5, 0, 1, 300}, 2});
    pairs.push_back({"bytes<16>", {int64_t(1) << 14, int64_t(1) << 13}, 16});
  }

  void run() {
    if (commsched_load_program(describe().c_str()))
      return;
    for (int round = 0; round < 4 && !*commsched_last_error(); ++round)
      runRound(round);
    if (!*commsched_last_error())
      checkOrder();
  }

private:
  /// Transfers are no communication: ranks may list them in other orders and
  /// numbers around their collectives.
  std::string describe() {
    int32_t numSites = 0;
    std::string sites;
    auto add = [&](const char *kind, const std::string &rest) {
      sites += std::string(numSites ? ", " : "") + R"({"name": "a site", )" +
               R"("kind": ")" + kind + R"(", )" + rest + "}";
      return numSites++;
    };
    auto addCollective = [&] {
      collective = add("all_reduce",
                       R"("group": 0, "reduction": "sum", "tensors":
                       [{"type": "i32", "inputs": 64, "outputs": 64}])");
    };
    if (rank % 2)
      std::reverse(pairs.begin(), pairs.end());
    if (rank % 3 == 1)
      pairs.pop_back();
    if (rank % 2)
      addCollective();
    for (Pair &pair : pairs) {
      std::string tensors = R"("tensors": [)";
      for (size_t i = 0; i < pair.counts.size(); ++i) {
        std::string count = std::to_string(pair.counts[i]);
        tensors += std::string(i ? ", " : "") + R"({"type": ")" + pair.type +
                   R"(", "inputs": )" + count + R"(, "outputs": )" + count +
                   "}";
      }
      pair.offload = add("offload", tensors + "]");
      pair.reload = add("reload", tensors + "]");
    }
    if (rank % 2 == 0)
      addCollective();
    return R"({"version": 1, "groups": [{"name": "world", "size": )" +
           std::to_string(commsched_num_ranks()) + R"(}], "sites": [)" + sites +
           "]}";
  }

  std::vector<Moved> makeBuffers(const Pair &pair) {
    std::vector<Moved> all;
    for (int64_t count : pair.counts) {
      Moved &moved = all.emplace_back();
      moved.bytes = count * pair.elementBytes;
      moved.contents.resize(moved.bytes);
      for (unsigned char &byte : moved.contents)
        byte = static_cast<unsigned char>(random());
      moved.source = commsched_allocate(moved.bytes, 0);
      moved.host = commsched_allocate_host(moved.bytes, 0);
      moved.target = commsched_allocate(moved.bytes, 0);
      commsched_upload(moved.source, moved.contents.data(), moved.bytes);
      commsched_zero(moved.target, moved.bytes);
    }
    return all;
  }

  int64_t start(int32_t site, const std::vector<Moved> &moved,
                void *Moved::*from, void *Moved::*to, commsched_kind kind) {
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
    for (const Moved &one : moved) {
      inputs.push_back(one.*from);
      outputs.push_back(one.*to);
    }
    report.addLaunch(kind);
    return commsched_start(site, inputs.data(), outputs.data());
  }
  int64_t startOffload(const Pair &pair, const std::vector<Moved> &moved) {
    return start(pair.offload, moved, &Moved::source, &Moved::host,
                 COMMSCHED_OFFLOAD);
  }
  int64_t startReload(const Pair &pair, const std::vector<Moved> &moved) {
    return start(pair.reload, moved, &Moved::host, &Moved::target,
                 COMMSCHED_RELOAD);
  }

  /// Forward, backward, shuffled, or tested first.
  void wait(std::vector<int64_t> requests, int round) {
    if (round == 1)
      std::reverse(requests.begin(), requests.end());
    if (round == 2)
      std::shuffle(requests.begin(), requests.end(), random);
    if (round == 3)
      while (!*commsched_last_error() && commsched_test(requests.back()) == 0)
        commsched_poll();
    for (int64_t request : requests)
      commsched_wait(request);
  }

  /// Everything in flight at once, beside a collective; each reload begins when
  /// its data is on the host, with offloads of other data behind it.
  void runRound(int round) {
    std::vector<std::vector<Moved>> buffers;
    for (const Pair &pair : pairs)
      buffers.push_back(makeBuffers(pair));
    std::vector<int32_t> numbers(64, rank + 1);
    auto bytes = static_cast<int64_t>(numbers.size() * sizeof(int32_t));
    void *summed = commsched_allocate(bytes, 0);
    commsched_upload(summed, numbers.data(), bytes);

    const void *inputs[] = {summed};
    void *outputs[] = {summed};
    int64_t sum = commsched_start(collective, inputs, outputs);
    std::vector<int64_t> offloads, reloads;
    for (size_t i = 0; i < pairs.size(); ++i)
      offloads.push_back(startOffload(pairs[i], buffers[i]));
    wait(offloads, round);
    // What was sent may be overwritten after the wait.
    for (std::vector<Moved> &all : buffers)
      for (Moved &moved : all)
        commsched_zero(moved.source, moved.bytes);
    std::vector<Moved> behind = makeBuffers(pairs.back());
    for (size_t i = 0; i < pairs.size(); ++i)
      reloads.push_back(startReload(pairs[i], buffers[i]));
    int64_t last = startOffload(pairs.back(), behind);
    wait(reloads, round);
    commsched_wait(last);
    commsched_wait(sum);
    commsched_wait(startReload(pairs.back(), behind));
    buffers.push_back(std::move(behind));

    commsched_download(numbers.data(), summed, bytes);
    commsched_release(summed);
    int32_t ranks = commsched_num_ranks();
    if (!*commsched_last_error() && numbers.back() != ranks * (ranks + 1) / 2)
      report.addDefect(COMMSCHED_ALL_REDUCE, "wrong beside transfers");
    for (size_t i = 0; i < buffers.size(); ++i)
      checkAndRelease(pairs[std::min(i, pairs.size() - 1)], buffers[i], round);
  }

  void checkAndRelease(const Pair &pair, const std::vector<Moved> &all,
                       int round) {
    for (const Moved &moved : all) {
      for (auto [where, buffer] :
           {std::pair("on the host", moved.host), {"reloaded", moved.target}}) {
        Bytes found(moved.bytes);
        commsched_download(found.data(), buffer, moved.bytes);
        if (!*commsched_last_error() && found != moved.contents)
          report.addDefect(COMMSCHED_OFFLOAD,
                           "transfer of " + std::to_string(moved.bytes) +
                               " bytes of " + pair.type + ", round " +
                               std::to_string(round) + ": wrong " + where);
      }
      commsched_release(moved.source);
      commsched_release(moved.host);
      commsched_release(moved.target);
    }
  }

  /// Each direction carries out its transfers one after the other, in the order
  /// of their starts.
  void checkOrder() {
    if (commsched_begin_step())
      return;
    std::vector<std::vector<Moved>> buffers;
    std::vector<int64_t> offloads, reloads;
    for (const Pair &pair : pairs)
      buffers.push_back(makeBuffers(pair));
    for (size_t i = 0; i < pairs.size(); ++i)
      offloads.push_back(startOffload(pairs[i], buffers[i]));
    wait(offloads, /*round=*/3);
    if (commsched_host_bytes() <= 0 ||
        commsched_host_peak_bytes() < commsched_host_bytes())
      report.addDefect(COMMSCHED_OFFLOAD, "host memory is not counted");
    for (size_t i = 0; i < pairs.size(); ++i)
      reloads.push_back(startReload(pairs[i], buffers[i]));
    wait(reloads, /*round=*/3);
    if (commsched_end_step() < 0)
      return;
    checkRecords(COMMSCHED_OFFLOAD, &Pair::offload);
    checkRecords(COMMSCHED_RELOAD, &Pair::reload);
    for (size_t i = 0; i < pairs.size(); ++i)
      checkAndRelease(pairs[i], buffers[i], /*round=*/4);
  }

  void checkRecords(commsched_kind kind, int32_t Pair::*site) {
    const commsched_record *records = nullptr;
    int64_t count = commsched_get_records(&records);
    // The clock of events on a GPU.
    constexpr int64_t tickNs = 1000;
    int64_t lastEndNs = -tickNs;
    for (const Pair &pair : pairs) {
      const commsched_record *found =
          std::find_if(records, records + count, [&](const auto &record) {
            return record.kind == COMMSCHED_RECORD_COLLECTIVE &&
                   record.index == pair.*site;
          });
      if (found == records + count) {
        report.addDefect(kind, "has no record");
      } else if (found->begin_ns < lastEndNs - tickNs ||
                 found->end_ns < found->begin_ns) {
        report.addDefect(kind, "begins before the one started before it ends");
      } else {
        lastEndNs = found->end_ns;
      }
    }
  }

  Report &report;
  int32_t rank;
  std::mt19937 random;
  std::vector<Pair> pairs;
  int32_t collective = 0;
};

/// A program with one transfer of `outputs` elements, and `more` keys.
std::string makeProgram(const char *kind, int outputs,
                        const std::string &more) {
  return R"({"version": 1, "groups": [{"name": "g", "size": 1}], "sites": [
    {"name": "moved", "kind": ")" +
         std::string(kind) + "\"" + more +
         R"(, "tensors": [{"type": "f32", "inputs": 4, "outputs": )" +
         std::to_string(outputs) + "}]}]}";
}

} // namespace

void commsched::conformance::checkTransfers(Report &report) {
  TransferRunner(report).run();
}

void commsched::conformance::checkTransferErrors(const RunOptions &options,
                                                 Report &report) {
  for (const char *kind : {"offload", "reload"}) {
    std::string name = kind;
    checkError(name + " of another size", options, report,
               {"'moved'", "'outputs' is 5", "'inputs' = 4"}, [&] {
                 commsched_load_program(makeProgram(kind, 5, "").c_str());
               });
    checkError(name + " on a group", options, report,
               {"'moved'", "has no 'group'", kind}, [&] {
                 commsched_load_program(
                     makeProgram(kind, 4, ", \"group\": 0").c_str());
               });
    checkError(name + " of nothing", options, report,
               {"'moved'", "input 0 is null", kind}, [&] {
                 commsched_load_program(makeProgram(kind, 4, "").c_str());
                 void *outputs[] = {commsched_allocate_host(16, 0)};
                 commsched_start(0, nullptr, outputs);
               });
    checkError(name + " twice waited for", options, report,
               {"'moved'", "already been waited for"}, [&] {
                 commsched_load_program(makeProgram(kind, 4, "").c_str());
                 const void *inputs[] = {commsched_allocate(16, 0)};
                 void *outputs[] = {commsched_allocate_host(16, 0)};
                 if (std::strcmp(kind, "reload") == 0)
                   std::swap(const_cast<void *&>(inputs[0]), outputs[0]);
                 int64_t request = commsched_start(0, inputs, outputs);
                 commsched_wait(request);
                 commsched_wait(request);
               });
  }
  checkError("too much host memory", options, report,
             {"cannot allocate", "host memory"}, [&] {
               void *buffer = commsched_allocate_host(int64_t(1) << 59, 0);
               if (buffer)
                 report.addDefect(Report::refused,
                                  "there is no end of host memory");
             });
}
