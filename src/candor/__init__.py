"""candor: does a language model know what it knows?"""

__version__ = "0.1.0"
