"""Commands of the tasks app."""
