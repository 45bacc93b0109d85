"""What a model's output says: its answer and its stated confidence, read from XML or JSON.

Everything here is a pure function of a text. A model's bad output is data: it gives a `Response` with holes, never an
exception.
"""
