curl -s -X POST http://192.0.2.254:11111/netlox/v1/config/loadbalancer \
  -H 'Content-Type: application/json' \
  -d '{
    "serviceArguments": {
      "externalIP": "192.0.2.10",
      "port": 8080,
      "protocol": "tcp",
      "mode": 4,
      "sse_mode": true,
      "fc_mode": "enforce",
      "fc_max_outstanding": 32,
      "fc_max_queue_depth": 64,
      "fc_max_queue_wait_ms": 5000,
      "fc_adaptive": "on",
      "fc_ttft_target_ms": 2000,
      "fc_telemetry_stale_ms": 30000
    },
    "endpoints": [
      {"endpointIP": "198.51.100.11", "targetPort": 8000, "weight": 1},
      {"endpointIP": "198.51.100.12", "targetPort": 8000, "weight": 1}
    ]
  }'
