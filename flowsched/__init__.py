"""flowsched: a scheduler of data-centre operations."""

__version__ = "0.1.0"
