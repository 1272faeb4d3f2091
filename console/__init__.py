"""The operators' admin: pages over every noun, in the frame of Django's admin."""
