"""Fine-tuning and reinforcement learning with TRL through Unsloth, on CPU and GPU alike."""
