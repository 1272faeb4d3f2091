"""The form of a schedule: what was typed, what it means, what it will do, and saving it."""
