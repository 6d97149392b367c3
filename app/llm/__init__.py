"""The gateway to served models: OpenAI-compatible servers in the dialects of vLLM and Ray Serve."""
