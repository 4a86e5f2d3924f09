# SPDX-License-Identifier: Apache-2.0
"""The thirteen settings: their names, and values to tell them apart by."""

# Members of fc_effective and of its source that are ours (interface 6.20).
OWN = {"tenant_borrow"}

# What the first example of the specification declares.
FIRST = {"fc_mode": "enforce", "fc_max_outstanding": 16,
         "fc_ep_max_inflight": 8, "fc_max_queue_depth": 32,
         "fc_max_queue_wait_ms": 5000}

# name in fc_effective, member of a rule, variable, and three values that
# differ where there are more than two: of a rule, of the environment, of none
SETTINGS = (
    ("mode", "fc_mode", "LLB_FC_MODE", "observe", "enforce", "off"),
    ("max_outstanding", "fc_max_outstanding", "LLB_FC_MAX_OUTSTANDING",
     7, 9, 0),
    ("ep_max_inflight", "fc_ep_max_inflight", "LLB_FC_EP_MAX_INFLIGHT",
     3, 4, 0),
    ("prefill_max_inflight", "fc_prefill_max_inflight",
     "LLB_FC_PREFILL_MAX_INFLIGHT", 2, 5, 0),
    ("decode_max_inflight", "fc_decode_max_inflight",
     "LLB_FC_DECODE_MAX_INFLIGHT", 6, 8, 0),
    ("queue_depth", "fc_max_queue_depth", "LLB_FC_MAX_QUEUE_DEPTH",
     10, 20, 0),
    ("queue_wait_ms", "fc_max_queue_wait_ms", "LLB_FC_MAX_QUEUE_WAIT_MS",
     1500, 2500, 0),
    ("telemetry_stale_ms", "fc_telemetry_stale_ms",
     "LLB_FC_TELEMETRY_STALE_MS", 45000, 20000, 30000),
    ("adaptive", "fc_adaptive", "LLB_FC_ADAPTIVE", "off", "on", "off"),
    ("warmup_ms", "fc_warmup_ms", "LLB_FC_WARMUP_MS", 100, 200, 0),
    ("ttft_target_ms", "fc_ttft_target_ms", "LLB_FC_TTFT_TARGET_MS",
     300, 400, 0),
    ("tenant_max_share_pct", "fc_tenant_max_share_pct",
     "LLB_FC_TENANT_MAX_SHARE_PCT", 25, 50, 0),
    ("expose_headers", "fc_expose_headers", "LLB_FC_EXPOSE_HEADERS",
     "off", "on", "off"),
)
NAMES = {name for name, *_ in SETTINGS}
NUMBERS = tuple(row for row in SETTINGS if isinstance(row[3], int))
WORDS = tuple(row for row in SETTINGS if isinstance(row[3], str))
ALL_DECLARED = {member: value for _, member, _, value, _, _ in SETTINGS}
ALL_IN_ENVIRONMENT = {variable: str(value)
                      for _, _, variable, _, value, _ in SETTINGS}
