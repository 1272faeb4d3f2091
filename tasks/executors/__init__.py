"""What carries operations out on components."""
