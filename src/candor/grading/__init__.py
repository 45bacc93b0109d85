"""Comparing an answer with its gold: text here, mathematics with math-verify."""
