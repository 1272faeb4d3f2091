"""flow.proto and what bin/proto generates from it."""
