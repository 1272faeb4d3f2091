"""Who did what through which door."""
