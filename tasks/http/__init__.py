"""One HTTP call as an operation: what is stored, what is sent, what the answer means."""
