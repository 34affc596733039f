"""Ragstone measured beside its peers: ``make bench``, or ``python -m benches.run --help``."""
