"""Who may do what: callers, their permissions and their tokens."""
