"""Time passing: due schedules are claimed and fired."""
