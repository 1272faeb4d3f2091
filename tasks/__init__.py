"""Units of work on racks."""
