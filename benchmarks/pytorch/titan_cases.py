# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of torchtitan's models, by name: settings of
`titan_graphs.configuration`."""

DEGREES = {
    "replicas": "data_parallel_replicate_degree",
    "fsdp": "data_parallel_shard_degree",
    "tp": "tensor_parallel_degree",
    "cp": "context_parallel_degree",
    "ep": "expert_parallel_degree",
}


def case(model, flavor, tokens, attention="flex", compile=None, **degrees):
    """The settings of a step of `tokens`: sequences, and tokens of each."""
    batch, length = tokens
    return {
        "model": model,
        "flavor": flavor,
        "attention": attention,
        "parallelism": {DEGREES[name]: n for name, n in degrees.items()},
        "compile": compile or {},
        "training": {"local_batch_size": batch, "seq_len": length},
    }


def debug(model, flavor="debugmodel", tokens=(2, 256), **settings):
    return case(model, flavor, tokens, **settings)


def policy(name):
    return {"memory_policy": name}


CHUNKED = {"ep_overlap": {"enabled": True, "strategy": "eager"}}
TWO_GROUPS = {"enable_fsdp_ag_rs_overlap": True}

CASES = {
    "llama3-debug-fsdp8": debug("llama3", fsdp=8),
    "llama3-debug-fsdp64": debug("llama3", fsdp=64),
    "llama3-debug-fsdp8-16k-tokens": debug("llama3", tokens=(8, 2048), fsdp=8),
    "llama3-debug-fsdp8-full": debug("llama3", compile=policy("full"), fsdp=8),
    "llama3-debug-fsdp8-eager": debug("llama3", compile=policy("eager"), fsdp=8),
    "llama3-debug-fsdp8-offload": debug(
        "llama3", compile=policy("sac_and_offload"), fsdp=8
    ),
    "llama3-debug-fsdp8-two-groups": debug("llama3", compile=TWO_GROUPS, fsdp=8),
    "llama3-debug-hsdp2x4": debug("llama3", replicas=2, fsdp=4),
    "llama3-debug-fsdp4-tp2": debug("llama3", fsdp=4, tp=2),
    "llama3-debug-hsdp2x2-tp2": debug("llama3", replicas=2, fsdp=2, tp=2),
    "llama3-debug-fsdp2-tp2-cp2": debug("llama3", fsdp=2, tp=2, cp=2),
    "llama3-debug-ddp8": debug("llama3", replicas=8, fsdp=1),
    "llama3-debug-tp8": debug("llama3", fsdp=1, tp=8),
    "qwen3-debug-fsdp8": debug("qwen3", fsdp=8),
    "qwen3-debug-fsdp4-tp2": debug("qwen3", fsdp=4, tp=2),
    "qwen3-debug-fsdp2-tp2-cp2": debug("qwen3", fsdp=2, tp=2, cp=2),
    "qwen3-moe-debug-fsdp8-ep4": debug("qwen3", "debugmodel_moe", fsdp=8, ep=4),
    "qwen3-moe-debug-fsdp4-tp2-ep4": debug(
        "qwen3", "debugmodel_moe", fsdp=4, tp=2, ep=4
    ),
    "muse-debug-fsdp8": debug("muse_glimmer", fsdp=8),
    "muse-debug-fsdp4-tp2": debug("muse_glimmer", fsdp=4, tp=2),
    "ds-debug-fsdp8-ep4": debug("deepseek_v3", fsdp=8, ep=4),
    "ds-debug-fsdp8-ep8": debug("deepseek_v3", fsdp=8, ep=8),
    "ds-debug-hsdp2x4-ep4": debug("deepseek_v3", replicas=2, fsdp=4, ep=4),
    "ds-debug-fsdp4-tp2-ep4": debug("deepseek_v3", fsdp=4, tp=2, ep=4),
    "ds-debug-fsdp8-ep4-16k-tokens": debug(
        "deepseek_v3", tokens=(8, 2048), fsdp=8, ep=4
    ),
    "ds-debug-fsdp8-ep4-chunked": debug(
        "deepseek_v3", compile=CHUNKED, fsdp=8, ep=4
    ),
    "llama3-1b-fsdp8": case("llama3", "1B", (1, 8192), fsdp=8),
    "llama3-8b-fsdp8": case("llama3", "8B", (1, 8192), fsdp=8),
    "llama3-8b-hsdp8x8": case("llama3", "8B", (1, 8192), replicas=8, fsdp=8),
    "llama3-70b-fsdp32-tp8": case("llama3", "70B", (1, 8192), fsdp=32, tp=8),
    "qwen3-0.6b-fsdp8": case("qwen3", "0.6B", (4, 4096), fsdp=8),
    "qwen3-14b-fsdp8": case("qwen3", "14B", (1, 4096), fsdp=8),
    "qwen3-32b-fsdp64": case("qwen3", "32B", (1, 4096), fsdp=64),
    "qwen3-30b-a3b-fsdp16-ep8": case(
        "qwen3", "30B-A3B", (1, 4096), fsdp=16, ep=8
    ),
    "muse-30b-fsdp16-tp2": case("muse_glimmer", "30B", (1, 4096), fsdp=16, tp=2),
    "ds-16b-fsdp8-ep8": case("deepseek_v3", "16B", (1, 4096), fsdp=8, ep=8),
}
