"""When what runs."""
