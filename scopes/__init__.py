"""Which racks a schedule covers."""
