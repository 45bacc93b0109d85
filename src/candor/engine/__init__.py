"""Running models: generation with vLLM, and the models that Python packages ship."""
