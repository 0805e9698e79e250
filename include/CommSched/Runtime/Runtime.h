//===- Runtime.h - The C interface of the runtime ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface of the runtime: the functions that lowered programs call, and
// those for their hosts.
//
// A rank is one thread: commsched_init makes the calling thread a rank, and
// every other function acts on the rank of the calling thread. A host loads
// the program's description (commsched_load_program), which makes the
// process groups and compares the programs of all ranks; then it runs the
// program, which names its collectives by their index in that description.
//
// Errors are permanent. A function that fails returns a non-zero number or
// null and leaves a text for commsched_last_error; from then on all calls
// of that rank return at once without effect, until commsched_finalize.
// Lowered programs therefore need not check results: they run to their end,
// and the host checks once. No call waits longer than the deadline.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_RUNTIME_RUNTIME_H
#define COMMSCHED_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define COMMSCHED_RUNTIME_API __attribute__((visibility("default")))
#else
#define COMMSCHED_RUNTIME_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. The names in program descriptions are MLIR's: "i1", "ui8",
 *  "f8E4M3FN", "complex<f32>". Integers without a sign compare as signed. */
typedef enum commsched_type {
  COMMSCHED_I1 = 0,
  COMMSCHED_I8 = 1,
  COMMSCHED_I16 = 2,
  COMMSCHED_I32 = 3,
  COMMSCHED_I64 = 4,
  COMMSCHED_UI8 = 5,
  COMMSCHED_UI16 = 6,
  COMMSCHED_UI32 = 7,
  COMMSCHED_UI64 = 8,
  COMMSCHED_F8E4M3FN = 9,
  COMMSCHED_F8E5M2 = 10,
  COMMSCHED_F16 = 11,
  COMMSCHED_BF16 = 12,
  COMMSCHED_F32 = 13,
  COMMSCHED_F64 = 14,
  COMMSCHED_COMPLEX_F32 = 15,
  COMMSCHED_COMPLEX_F64 = 16
} commsched_type;

typedef enum commsched_kind {
  COMMSCHED_ALL_GATHER = 0,
  COMMSCHED_REDUCE_SCATTER = 1,
  COMMSCHED_ALL_REDUCE = 2,
  COMMSCHED_ALL_TO_ALL = 3,
  COMMSCHED_BROADCAST = 4,
  COMMSCHED_PERMUTE = 5,
  COMMSCHED_SEND = 6,
  COMMSCHED_RECV = 7,
  COMMSCHED_BARRIER = 8,
  COMMSCHED_OFFLOAD = 9,
  COMMSCHED_RELOAD = 10
} commsched_kind;

typedef enum commsched_reduction {
  COMMSCHED_SUM = 0,
  COMMSCHED_AVG = 1,
  COMMSCHED_PROD = 2,
  COMMSCHED_MIN = 3,
  COMMSCHED_MAX = 4,
  COMMSCHED_BAND = 5,
  COMMSCHED_BOR = 6,
  COMMSCHED_BXOR = 7
} commsched_reduction;

/** The name that program descriptions use, such as "bf16"; null for other
 *  numbers. */
COMMSCHED_RUNTIME_API const char *commsched_type_name(commsched_type type);

/** The bytes of one element; an i1 takes one. 0 for other numbers. */
COMMSCHED_RUNTIME_API int64_t commsched_type_bytes(commsched_type type);

/** The launcher that started this process as one of several ranks. */
typedef struct commsched_launcher {
  /** "torchrun" or "mpirun". */
  const char *name;
  /** The backend to use by default: "nccl" or "mpi". */
  const char *backend;
  int32_t rank;
  int32_t num_ranks;
  /** The rank among those of this machine; -1 if the launcher does not set
   *  it. */
  int32_t local_rank;
} commsched_launcher;

/** Finds the launcher in the environment: torchrun (RANK, WORLD_SIZE,
 *  LOCAL_RANK), Open MPI (OMPI_COMM_WORLD_RANK, ...) or another MPI (PMI_RANK,
 *  PMI_SIZE). If several have set their variables, torchrun counts, except for
 *  the backend "mpi", for which MPI's variables count. `backend` may be null.
 *  Backends take their rank from the same function. Returns 1 and fills
 *  `launcher`, or 0 if there is none, or -1 if its variables are incomplete or
 *  no numbers; commsched_last_error then names the variable. */
COMMSCHED_RUNTIME_API int32_t
commsched_find_launcher(const char *backend, commsched_launcher *launcher);

/** How a rank joins. Start with commsched_default_options. */
typedef struct commsched_options {
  /** "local", "mpi", "nccl", or the path of a shared object. */
  const char *backend;
  /** This rank and the number of all; -1: what the launcher says (mpirun,
   *  torchrun's RANK and WORLD_SIZE), else a single rank. */
  int32_t rank;
  int32_t num_ranks;
  /** For "local": ranks of one process with equal names belong together. */
  const char *job;
  /** How long any call may wait for other ranks, in milliseconds. */
  int64_t deadline_ms;
  /** For "local": a collective lasts as long as its description's
   *  "runtime_ns" says, and compute advances a clock of the rank: the step
   *  takes the time of the model, and the calls sleep until then. */
  int32_t modelled_times;
  /** What commsched_compute writes into its outputs: 0 nothing; 1 small
   *  integers that depend on the operator's name and all inputs, so that equal
   *  programs give equal results. */
  int32_t emulate_data;
  /** For "local": whether waits verify that what was sent has not been
   *  overwritten since the start, and starts spoil what is not yet received. */
  int32_t check_buffers;
  /** Where the ring of the last calls is written on an error, with "%r" for the
   *  rank; null: nowhere. */
  const char *flight_record;
} commsched_options;

COMMSCHED_RUNTIME_API void
commsched_default_options(commsched_options *options);

/** Joins as one rank; returns when all ranks have. */
COMMSCHED_RUNTIME_API int32_t commsched_init(const commsched_options *options);

/** Leaves. Returns non-zero, and keeps the text of the error, when an error has
 *  occurred since commsched_init. */
COMMSCHED_RUNTIME_API int32_t commsched_finalize(void);

/** What went wrong first, in words, for the calling thread; "" if nothing has.
 *  Valid until the thread's next commsched_init. */
COMMSCHED_RUNTIME_API const char *commsched_last_error(void);

/** Reports an error of the host on this rank, as if a call had failed: the
 *  other ranks end with an error that names this rank. */
COMMSCHED_RUNTIME_API void commsched_fail(const char *text);

COMMSCHED_RUNTIME_API int32_t commsched_rank(void);
COMMSCHED_RUNTIME_API int32_t commsched_num_ranks(void);
/** The backend's name, such as "local"; "" before commsched_init. */
COMMSCHED_RUNTIME_API const char *commsched_backend_name(void);

/**
 * Loads the description of a program: JSON,
 *
 *   {"version": 1,
 *    "groups": [{"name": "dp", "size": 4, "stride": 1},
 *               {"name": "odd", "size": 2, "ranks": [[0, 3], [1, 2]]},
 *               {"name": "dp", "size": 4, "stride": 1,
 *                "implementation": {"name": "nccl-4", "method": "nccl",
 *                                   "channels": 4}}],
 *    "sites": [{"name": "all_gather#0", "location": "step.mlir:7:8",
 *               "kind": "all_gather", "group": 0, "runtime_ns": 52000,
 *               "tensors": [{"type": "bf16", "inputs": 512,
 *                            "outputs": 2048}]}, ...],
 *    "operators": [{"name": "aten.mm", "location": "step.mlir:9:8",
 *                   "inputs": [{"type": "bf16", "elements": 2048}],
 *                   "outputs": [{"type": "bf16", "elements": 512}]}],
 *    "host_code": "linalg.matmul at step.mlir:11:8"}
 *
 * A group may have an "implementation": by which method its collectives are
 * carried out ("nccl", "copy-engine" or "symmetric"), and, for "nccl", on how
 * many channels at most ("channels"; 0, the default: as NCCL decides). Groups
 * with one name have the same ranks and different implementations. Each is a
 * group of its own, with its own stream and communicator, so that collectives
 * of the same ranks can be in flight beside each other. Those of
 * implementations with one "stream" (default: the implementation's name; "nccl"
 * for the group without an implementation) are carried out one after the other,
 * in the order of their starts. "local" and "mpi" carry out all methods alike.
 *
 * Sites are the collectives in program order. "inputs" and "outputs" of a
 * tensor are elements that one rank sends and receives; parts for the ranks lie
 * one after the other. A site may have "reduction" ("sum", ...), "peer"
 * (broadcast: root; send: to; recv: from; a rank of the group), "tag",
 * "input_splits" and "output_splits" (all_to_all: for each tensor, a list of
 * elements for each rank of the group; or "values": each launch has numbers of
 * rows, and a tensor has "row", the elements of a row, and no number of
 * elements on that side), "pairs" ([[source, target], ...]), "runtime_ns" (the
 * predicted time). A type of T bytes that has no name above is given as
 * "bytes<T>": it can be sent, but not reduced. "host_code" is there when the
 * program itself reads or writes buffers on the processor.
 *
 * Transfers between a rank and the memory of its host are sites of the kinds
 * "offload" (to the host) and "reload" (from it). They have no "group" and as
 * many "outputs" as "inputs". They are not communication: programs of ranks may
 * differ in them.
 *
 * A collective call: all ranks load, make the groups in the order given, and
 * fail when their programs differ (naming the first difference), when the
 * groups do not fit the number of ranks, or when the backend lacks a type, a
 * reduction or an implementation.
 */
COMMSCHED_RUNTIME_API int32_t commsched_load_program(const char *json);

/* -- What lowered programs call ------------------------------------------- */

/** Starts the collective `site`. `inputs` and `outputs` hold one pointer for
 *  each of its tensors (either may be null where nothing is sent or received).
 *  Inputs must not be written, and outputs not be touched, until the wait. In
 *  place: the input is the rank's own part of the output (all_gather), the
 *  output the rank's own part of the input (reduce_scatter), or both are equal
 *  (all_reduce, broadcast). Returns a request, or 0 on an error. */
COMMSCHED_RUNTIME_API int64_t commsched_start(int32_t site,
                                              const void *const *inputs,
                                              void *const *outputs);

/** As commsched_start, for an all_to_all whose splits are values: rows that are
 *  sent, and those for each rank of the group, on the host; the same for what
 * is received. The splits of a side that are no values are null. Fails if
 * splits do not add up to their rows, or one is negative. What one rank sends
 * to another, that one must expect: "local" and "mpi" fail in the wait if not.
 */
COMMSCHED_RUNTIME_API int64_t commsched_start_uneven(
    int32_t site, const void *const *inputs, void *const *outputs,
    int64_t input_rows, const int64_t *input_splits, int64_t output_rows,
    const int64_t *output_splits);

/** Copies the splits that `site` takes on one side (`output` or not) from
 *  `buffer` to the host, for commsched_start_uneven, and returns their sum: the
 *  rows to allocate. The host waits for the compute stream. None of the numbers
 *  is negative: a negative split is an error, and counts as 0. */
COMMSCHED_RUNTIME_API int64_t commsched_read_splits(int32_t site,
                                                    int32_t output,
                                                    const void *buffer,
                                                    int64_t *splits,
                                                    int32_t num_splits);

/** Ends the request: from here on compute may use the buffers. On a GPU the
 *  compute stream waits, not the host. A request of 0 is ignored. */
COMMSCHED_RUNTIME_API int32_t commsched_wait(int64_t request);

/** Keeps a request in flight beyond the end of the function that started it.
 *  The runtime owns the buffers from here on; they come from commsched_allocate
 *  or commsched_allocate_host. The buffers of `sent` are released when the
 *  request ends; there may be fewer than the collective sends, if the caller
 *  keeps the others. `received` are all that the request fills. Returns a
 *  number for commsched_resume, also after an error. */
COMMSCHED_RUNTIME_API int64_t commsched_hold(int64_t request, int32_t num_sent,
                                             void *const *sent,
                                             int32_t num_received,
                                             void *const *received);

/** Ends a request that was held, as commsched_wait does, and gives the caller
 *  its `num_received` buffers of so many `bytes`. Each number can be resumed
 *  once. On an error the buffers are new ones, for programs run to their
 *  end. */
COMMSCHED_RUNTIME_API int32_t commsched_resume(int64_t held,
                                               int32_t num_received,
                                               const int64_t *bytes,
                                               void **received);

/** 1 when a wait would not wait, 0 when it would, -1 on an error. */
COMMSCHED_RUNTIME_API int32_t commsched_test(int64_t request);

/** Blocks compute until all ranks of the group have come here. */
COMMSCHED_RUNTIME_API int32_t commsched_barrier(int32_t site);

/** Lets collectives in flight progress; cheap. */
COMMSCHED_RUNTIME_API void commsched_poll(void);

/** The index of this rank in its group of `group` (an index of the
 *  description), or -1. */
COMMSCHED_RUNTIME_API int64_t commsched_group_rank(int32_t group);

/** Stands for the operator `index` of the description: takes `ns` nanoseconds
 *  of the compute stream. Pointers as the description lists them. */
COMMSCHED_RUNTIME_API int32_t commsched_compute(int32_t index, int64_t ns,
                                                const void *const *inputs,
                                                void *const *outputs);

/** Says that the program itself does the work of the operator `index`, which is
 *  predicted to take `ns` nanoseconds. With modelled times the compute stream
 *  takes that long; otherwise the work takes the time that it takes. */
COMMSCHED_RUNTIME_API int32_t commsched_account(int32_t index, int64_t ns);

/** Copies `rows` rows of `row_elements` elements on the compute stream and
 *  converts them from `source_type` to `target_type` (commsched_type; -1 on
 *  both sides: elements are bytes). Strides are bytes from row to row. */
COMMSCHED_RUNTIME_API int32_t
commsched_copy(void *target, int32_t target_type, int64_t target_stride,
               const void *source, int32_t source_type, int64_t source_stride,
               int64_t rows, int64_t row_elements);

/** Sets `bytes` bytes to zero on the compute stream. */
COMMSCHED_RUNTIME_API int32_t commsched_zero(void *target, int64_t bytes);

/* -- Buffers -------------------------------------------------------------- */

/** Memory that all operations above can work on, aligned to at least 64 bytes
 *  and to `alignment` (a power of two, or 0). Null on an error. Zero bytes give
 *  a pointer that may be released. */
COMMSCHED_RUNTIME_API void *commsched_allocate(int64_t bytes,
                                               int64_t alignment);
COMMSCHED_RUNTIME_API void commsched_release(void *buffer);

/** Memory of the host for the results of offloads and the operands of reloads,
 *  pinned on backends with a GPU. Aligned and released like that of
 *  commsched_allocate, but counted apart. Only transfers, commsched_copy
 *  without a conversion, commsched_upload and commsched_download work on it.
 *  Null on an error. */
COMMSCHED_RUNTIME_API void *commsched_allocate_host(int64_t bytes,
                                                    int64_t alignment);

/** Copies between a buffer and host memory; waits for what is under way. */
COMMSCHED_RUNTIME_API int32_t commsched_upload(void *buffer, const void *host,
                                               int64_t bytes);
COMMSCHED_RUNTIME_API int32_t commsched_download(void *host, const void *buffer,
                                                 int64_t bytes);

/** Bytes allocated now, and the most at any time since the last reset. */
COMMSCHED_RUNTIME_API int64_t commsched_allocated_bytes(void);
COMMSCHED_RUNTIME_API int64_t commsched_peak_bytes(void);
COMMSCHED_RUNTIME_API void commsched_reset_peak(void);

/** The same for what commsched_allocate_host gives; reset by
 *  commsched_reset_peak, too. */
COMMSCHED_RUNTIME_API int64_t commsched_host_bytes(void);
COMMSCHED_RUNTIME_API int64_t commsched_host_peak_bytes(void);

/** Counts of what has been done since commsched_init: "copies" (calls of
 *  commsched_copy), "copied_bytes" (what they wrote), "staged_bytes" (what a
 *  backend copied for itself), "starts", "allocations". 0 for other names. */
COMMSCHED_RUNTIME_API int64_t commsched_counter(const char *name);

/* -- Time ----------------------------------------------------------------- */

/** What a record is about. */
typedef enum commsched_record_kind {
  COMMSCHED_RECORD_COLLECTIVE = 0, /**< from start to end, on its stream */
  COMMSCHED_RECORD_WAIT = 1,       /**< compute standing still in a wait */
  COMMSCHED_RECORD_COMPUTE = 2     /**< one commsched_compute */
} commsched_record_kind;

/** One measured interval, in nanoseconds since commsched_begin_step. */
typedef struct commsched_record {
  int32_t kind;
  /** The site of a collective or wait, the operator of a compute. */
  int32_t index;
  int64_t begin_ns;
  int64_t end_ns;
} commsched_record;

/** Meets all ranks, forgets the records, and starts the step's clock. */
COMMSCHED_RUNTIME_API int32_t commsched_begin_step(void);

/** Waits until all streams are idle and stops the clock. Returns the step's
 *  nanoseconds on this rank, or -1 on an error. */
COMMSCHED_RUNTIME_API int64_t commsched_end_step(void);

/** The records of the last step, in the order of their beginnings; valid until
 *  the next begin_step. Returns their number. */
COMMSCHED_RUNTIME_API int64_t
commsched_get_records(const commsched_record **records);

/** Waits until this rank's streams are idle. */
COMMSCHED_RUNTIME_API int32_t commsched_synchronize(void);

/** Gathers `bytes` bytes of every rank into `all` (num_ranks times as many), in
 *  the order of the ranks: for hosts that compare or combine results. */
COMMSCHED_RUNTIME_API int32_t commsched_exchange(const void *mine, void *all,
                                                 int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* COMMSCHED_RUNTIME_RUNTIME_H */
