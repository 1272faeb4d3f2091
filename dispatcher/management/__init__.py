"""Commands of the dispatcher."""
